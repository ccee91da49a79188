// Splitting a domain where its values change pieces: inside a part nothing has to ask which piece an element is of, and
// whole vectors move again.
#pragma once

#include "jit/fuse.hpp"

namespace sinter::jit {

/// Replaces large groups that read updates, joins and pads by groups of parts of their domain, to be launched together:
/// the largest part, where one piece of each is all there is, and what lies around it.
void split_at_pieces(plan& p);

}  // namespace sinter::jit
