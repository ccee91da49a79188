// Everything but the opt-in headers (complex.hpp).
#pragma once

#include "array.hpp"
#include "axes.hpp"
#include "create.hpp"
#include "device.hpp"
#include "elementwise.hpp"
#include "explain.hpp"
#include "index.hpp"
#include "join.hpp"
#include "masks.hpp"
#include "math.hpp"
#include "npy.hpp"
#include "ops.hpp"
#include "options.hpp"
#include "reduce.hpp"
#include "scatter.hpp"
#include "shape_ops.hpp"
