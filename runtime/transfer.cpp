#include "runtime/transfer.hpp"

#include "runtime/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace sinter::runtime {

std::int64_t host_region::size() const {
  std::int64_t n = 1;
  for (int k = 0; k < rank; ++k) n *= extents[k];
  return n;
}

host_region contiguous_region(const void* data, std::size_t bytes) {
  host_region r;
  r.data = static_cast<std::byte*>(const_cast<void*>(data));
  r.rank = 1;
  r.extents[0] = static_cast<std::int64_t>(bytes);
  r.strides[0] = 1;
  return r;
}

host_region strided_region(const void* data, dtype type, const shape& extents, std::span<const std::int64_t> strides) {
  SINTER_CHECK(static_cast<int>(strides.size()) == extents.rank());
  host_region r;
  r.data = static_cast<std::byte*>(const_cast<void*>(data));
  r.item = size_of(type);
  for (int k = 0; k < extents.rank(); ++k) {
    const std::int64_t n = extents[k], stride = strides[static_cast<std::size_t>(k)];
    if (n == 1) continue;
    // An axis that goes on where a step of the one before it ends.
    if (r.rank > 0 && r.strides[r.rank - 1] == n * stride) {
      r.extents[r.rank - 1] *= n;
      r.strides[r.rank - 1] = stride;
      continue;
    }
    r.extents[r.rank] = n;
    r.strides[r.rank++] = stride;
  }
  return r;
}

// ---- Packing ----

namespace {

template <std::size_t Item>
void copy_items(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
                std::int64_t count) {
  for (; count > 0; --count, to += to_step, from += from_step) std::memcpy(to, from, Item);
}

/// `count` elements at any steps, in bytes.
void copy_run(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step, std::int64_t item,
              std::int64_t count) {
  if (to_step == item && from_step == item) {
    std::memcpy(to, from, static_cast<std::size_t>(count * item));
    return;
  }
  switch (item) {
    case 1: return copy_items<1>(to, to_step, from, from_step, count);
    case 2: return copy_items<2>(to, to_step, from, from_step, count);
    case 4: return copy_items<4>(to, to_step, from, from_step, count);
    case 8: return copy_items<8>(to, to_step, from, from_step, count);
    default: return copy_items<16>(to, to_step, from, from_step, count);
  }
}

/// Calls run(memory, step, count, position) for the elements [begin, end) of `r`, innermost rows one by one.
template <class Run>
void each_row(const host_region& r, std::int64_t begin, std::int64_t end, Run run) {
  if (begin >= end) return;
  if (r.rank == 0) return run(r.data, r.item, std::int64_t{1}, std::int64_t{0});
  const int inner = r.rank - 1;
  std::int64_t at[max_rank], rest = begin, offset = 0;
  for (int k = inner; k >= 0; --k) {
    at[k] = rest % r.extents[k];
    rest /= r.extents[k];
    offset += at[k] * r.strides[k];
  }
  for (std::int64_t position = begin; position < end;) {
    const std::int64_t count = std::min(r.extents[inner] - at[inner], end - position);
    run(r.data + offset, r.strides[inner], count, position);
    position += count;
    offset -= at[inner] * r.strides[inner];
    at[inner] = 0;
    for (int k = inner - 1; k >= 0; --k) {
      offset += r.strides[k];
      if (++at[k] < r.extents[k]) break;
      offset -= at[k] * r.strides[k];
      at[k] = 0;
    }
  }
}

/// body(first, last) for parts of [begin, end), on several threads when it is a lot of memory.
template <class Body>
void in_parts(std::int64_t begin, std::int64_t end, std::int64_t item, Body body) {
  constexpr std::int64_t large = std::int64_t{1} << 20;
  if ((end - begin) * item < large) return body(begin, end);
  launch_shape shape;
  shape.inner = end - begin;
  shape.cost = static_cast<int>(item);
  parallel_for(shape, [&](std::int64_t, std::int64_t, std::int64_t first, std::int64_t last) {
    body(begin + first, begin + last);
  });
}

}  // namespace

void pack(void* to, const host_region& from, std::int64_t begin, std::int64_t end) {
  in_parts(begin, end, from.item, [&](std::int64_t first, std::int64_t last) {
    each_row(from, first, last, [&](const std::byte* row, std::int64_t step, std::int64_t count, std::int64_t at) {
      copy_run(static_cast<std::byte*>(to) + (at - begin) * from.item, from.item, row, step, from.item, count);
    });
  });
}

void unpack(const host_region& to, const void* from, std::int64_t begin, std::int64_t end) {
  in_parts(begin, end, to.item, [&](std::int64_t first, std::int64_t last) {
    each_row(to, first, last, [&](std::byte* row, std::int64_t step, std::int64_t count, std::int64_t position) {
      copy_run(row, step, static_cast<const std::byte*>(from) + (position - begin) * to.item, to.item, to.item, count);
    });
  });
}

staging_size& staging() {
  static constinit staging_size size;
  return size;
}

// ---- Devices whose memory the host reaches ----

std::unique_ptr<transfer> device::start_copy_in(void* to, const host_region& from) {
  pack(to, from, 0, from.size());
  return nullptr;
}

std::unique_ptr<transfer> device::start_copy_out(const host_region& to, const void* from) {
  unpack(to, from, 0, to.size());
  return nullptr;
}

void* device::allocate_host(std::size_t bytes) {
  constexpr std::size_t line = 64;
  void* memory = std::aligned_alloc(line, (bytes + line - 1) / line * line);
  if (memory == nullptr) throw out_of_memory(fmt::format("{}: no room for {} bytes of host memory", name(), bytes));
  return memory;
}

void device::release_host(void* memory, std::size_t) noexcept { std::free(memory); }

}  // namespace sinter::runtime
