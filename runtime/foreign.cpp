#include "runtime/foreign.hpp"

#include "runtime/error.hpp"
#include "runtime/stream.hpp"

namespace sinter::runtime {
namespace {

struct foreign_buffer : buffer {
  bool writable = false;
  void (*give_back)(void*) = nullptr;
  void* context = nullptr;

  // The pool of buffers has room for those alone.
  static void* operator new(std::size_t bytes) { return ::operator new(bytes); }
  static void operator delete(void* memory) noexcept { ::operator delete(memory); }
};

}  // namespace

buffer* make_foreign(device& owner, const foreign_memory& m) {
  auto* b = new foreign_buffer{};
  b->owner = &owner;
  b->data = m.data;
  b->bytes = m.bytes;
  b->whole = b;
  b->writable = m.writable;
  return b;
}

void give_back_with(buffer& b, void (*release)(void*), void* context) noexcept {
  auto& whole = static_cast<foreign_buffer&>(b);
  whole.give_back = release;
  whole.context = context;
}

void release_foreign(buffer* b) noexcept {
  auto* whole = static_cast<foreign_buffer*>(b);
  const auto give_back = whole->give_back;
  void* const context = whole->context;
  try {
    if (whole->data != nullptr) whole->owner->synchronize();
  } catch (const error&) {
    // A device that failed does nothing any more.
  }
  delete whole->users;
  delete whole;
  if (give_back != nullptr) give_back(context);
}

bool is_exclusive(const buffer& b) noexcept {
  if (b.references.load(std::memory_order_acquire) != 1) return false;
  const buffer* source = &b;
  while (source->whole != nullptr && source->whole != source) source = source->whole;
  return !is_foreign(*source) || static_cast<const foreign_buffer*>(source)->writable;
}

}  // namespace sinter::runtime
