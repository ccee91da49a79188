// What is done to a trace when it ends: items that agree in structure but not in progression become tables.
#pragma once

#include "jit/fold/nest_shape.hpp"

namespace sinter::jit {

/// Runs of nests that repeat in structure become rows of table loops: of statements that were too few for a table while
/// they were recorded, and of loops whose first numbers or trip counts are irregular, such as the rows of a sparse
/// matrix. A number gets at most one column.
nest_list group_nests(const nest_list& nests, nest_shapes& shapes, table_store& tables);

}  // namespace sinter::jit
