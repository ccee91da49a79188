// Reductions that need no loop. A one-hot matrix compares index arrays with the positions along an axis; a sum of its
// products along that axis picks one element, and is recorded as a gather of it: the matrix is never made.
#pragma once

#include "jit/graph.hpp"

namespace sinter::jit {

/// An equal expression for the reduction `code` of `source` (already of the dtype that is reduced) over the bits of
/// `axes`, of the same dtype and shape; or null: the reduction is recorded as it stands. Launches nothing.
///
/// One-hot along axis v is `J == a + s * arange(n)`, either way round, with integers J that don't change along v;
/// through views, reshapes that keep v, and conversions. Then, with k the position where J meets the ramp, if any:
///   * argmax gives k or 0; max, any and sum give whether there is a k, in the dtype of the source;
///   * the sum of (one-hot * E) or where(one-hot, E, 0), and `any` of (one-hot && E), give E at k, or 0.
/// Matrix products with a one-hot matrix on either side are such sums. More axes are reduced afterwards.
///
/// E is computed at k alone: infinities, NaN and bad indices elsewhere, which a product with 0 would have made NaN or
/// reported, leave no trace, and a -0 at k stays -0.
node_ref simplify_reduction(op code, node* source, std::uint32_t axes, bool keep_dims, const place& at);

}  // namespace sinter::jit
