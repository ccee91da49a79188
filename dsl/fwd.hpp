// Forward declarations, for headers that only pass arrays along.
#pragma once

namespace sinter {
class array;
class operand;
class device;
class elementwise;
class selection;
}  // namespace sinter
