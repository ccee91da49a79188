#include "dsl/interchange.hpp"

#include "dsl/foreign_internal.hpp"
#include "dsl/host_view.hpp"
#include "dsl/record_internal.hpp"
#include "jit/engine.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string>

namespace sinter {

using runtime::buffer;
using runtime::reference;

array taken_in(const foreign_elements& x, bool copy, std::string_view function, const place& at) {
  if (!copy) return imported(x, function, at);
  foreign_elements borrowed = x;
  borrowed.release = nullptr;
  borrowed.in_place = false;
  borrowed.any_alignment = x.strides == nullptr || is_c_order(x.extents, x.strides);
  array a = imported(borrowed, function, at);
  if (buffer* from = a.node()->values()) {
    reference<buffer> own(runtime::make_buffer(*x.where, from->bytes));
    runtime::copy_on_device(*own, *from, from->bytes);
    a = wrap(jit::make_buffer_node(std::move(own), x.type, x.extents, at));  // lets the memory go, which waits
  } else {
    jit::node* n = a.node();
    jit::evaluate({&n, 1}, at);
  }
  if (x.release != nullptr) x.release(x.context);
  return a;
}

array from_pointer(void* data, dtype type, const shape& extents, const import_options& how, place at) {
  if (!how.strides.empty() && static_cast<int>(how.strides.size()) != extents.rank())
    throw_shape_error(fmt::format("from_pointer: {} strides for shape {}", how.strides.size(), to_string(extents)), at,
                      "strides count elements, one for each axis");
  runtime::device& where = how.where.impl();
  runtime::follow_stream(where, how.stream);
  const foreign_elements x{.data = data,
                           .type = type,
                           .extents = extents,
                           .strides = how.strides.empty() ? nullptr : how.strides.data(),
                           .where = &where,
                           .in_place = how.in_place,
                           .release = how.release,
                           .context = how.context};
  return taken_in(x, how.copy, "from_pointer", at);
}

array from_pointer(const void* data, dtype type, const shape& extents, const import_options& how, place at) {
  if (how.in_place) throw_type_error("from_pointer: constants can't be written in place", at);
  return from_pointer(const_cast<void*>(data), type, extents, how, at);
}

void check_span(std::size_t count, const shape& extents, const place& at) {
  if (count < static_cast<std::uint64_t>(checked_bytes(extents, boolean, at)))
    throw_shape_error(
        fmt::format("from_span: {} values for shape {} ({} elements)", count, to_string(extents), extents.size()), at);
}

// ---- Out ----

const void* data_pointer(const array& a, std::int64_t stream, place at) {
  const located_elements x = located(a, false, at);
  runtime::lead_stream(*x.memory->owner, stream);
  return x.data(a.type());
}

const void* data_pointer(const array& a, place at) {
  const located_elements x = located(a, false, at);
  jit::synchronize(*x.memory->owner);
  return x.data(a.type());
}

void* writable_pointer(array& a, place at) {
  reference<buffer> memory = located(a, false, at).memory;
  runtime::device& where = *memory->owner;
  const bool alone = a.node()->references.load(std::memory_order_acquire) == 1;
  buffer* shared = memory.get();
  memory = {};  // a's node holds it
  if (!alone || !runtime::is_exclusive(*shared)) {
    reference<buffer> own(runtime::make_buffer(where, shared->bytes));
    runtime::copy_on_device(*own, *shared, shared->bytes);
    a = wrap(jit::make_buffer_node(std::move(own), a.type(), a.extents(), at));
  }
  jit::synchronize(where);
  return a.node()->values()->data;
}

void store_at(void* to, const array& a, place at) {
  const located_elements x = located(a, false, at);
  runtime::device& where = *x.memory->owner;
  if (a.size() > 0 && to != x.memory->data) {
    if (to == nullptr) throw_type_error("store_at: the address is null", at);
    const std::string reason =
        where.kind() == runtime::device_kind::cuda ? runtime::unreachable_reason(where, to) : std::string();
    if (!reason.empty()) throw device_error(error_text(fmt::format("store_at: the address {} {}", to, reason), at));
    runtime::memory_use use(where);
    use.reads(*x.memory);
    where.copy_on_device(to, x.memory->data, static_cast<std::size_t>(a.size() * size_of(a.type())));
    use.finished();
  }
  jit::synchronize(where);
}

namespace {

located_elements on_host(const array& a, dtype type, bool may_stride, std::string_view function, const place& at) {
  if (type != a.type() && !(a.type() == boolean && type == u8))
    throw_type_error(fmt::format("{}: {} elements as {}", function, to_string(a.type()), to_string(type)), at,
                     fmt::format("x.astype({}) converts", to_string(type)));
  located_elements x = located(a, may_stride, at);
  if (x.memory->owner->kind() != runtime::device_kind::cpu)
    throw device_error(error_text(fmt::format("{}: the array is on {}", function, x.memory->owner->name()), at,
                                  "x.to(cpu()) copies it to the host"));
  jit::synchronize(*x.memory->owner);
  return x;
}

}  // namespace

const void* host_pointer(const array& a, dtype type, const char* function, const place& at) {
  return on_host(a, type, false, function, at).data(a.type());
}

host_elements locate_on_host(const array& a, dtype type, int rank, const place& at) {
  if (a.rank() != rank)
    throw_shape_error(fmt::format("host_view: shape {} has {} axes, not {}", to_string(a.extents()), a.rank(), rank),
                      at);
  const located_elements x = on_host(a, type, true, "host_view", at);
  host_elements found;
  found.held = wrap(jit::make_buffer_node(x.memory, u8, shape{static_cast<std::int64_t>(x.memory->bytes)}, at));
  found.data = x.data(a.type());
  for (int k = 0; k < rank; ++k) found.strides[k] = x.strides[k];
  return found;
}

std::int64_t stream_number(const device& d) { return runtime::stream_number(d.impl()); }

// ---- __cuda_array_interface__ ----

namespace {

std::string typestr_of(dtype t) {
  const char letter = t == boolean                         ? 'b'
                      : is_complex(t)                      ? 'c'
                      : is_real(t)                         ? 'f'
                      : kind_of(t) == kind::signed_integer ? 'i'
                                                           : 'u';
  const char order = size_of(t) == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  return fmt::format("{}{}{}", order, letter, size_of(t));
}

dtype dtype_of_typestr(const char* text, const place& at) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto t = static_cast<dtype>(k);
    if (t != bf16 && typestr_of(t) == text) return t;
  }
  throw_type_error(fmt::format("from_cuda_array_interface: the typestr '{}' is none of sinter's dtypes", text), at);
}

}  // namespace

cuda_array_interface to_cuda_array_interface(const array& a, place at) {
  if (!a.device().is_cuda())
    throw device_error(error_text(fmt::format("to_cuda_array_interface: the array is on {}", a.device().name()), at,
                                  "x.to(cuda()) copies it to a GPU"));
  if (a.type() == bf16) throw_type_error("to_cuda_array_interface: there is no typestr for bf16", at, "x.astype(f32)");
  const located_elements x = located(a, true, at);
  jit::synchronize(*x.memory->owner);
  cuda_array_interface out;
  out.extents = a.extents();
  const std::string type = typestr_of(a.type());
  std::memcpy(out.typestr, type.c_str(), type.size() + 1);
  out.data = reinterpret_cast<std::uintptr_t>(x.data(a.type()));
  out.has_strides = a.size() > 0 && !is_c_order(a.extents(), x.strides);
  for (int k = 0; k < a.rank(); ++k) out.strides[k] = x.strides[k] * size_of(a.type());
  return out;
}

array from_cuda_array_interface(const cuda_array_interface& x, const import_options& how, place at) {
  const dtype type = dtype_of_typestr(x.typestr, at);
  if (x.version < 2 || x.version > 3)
    throw_type_error(fmt::format("from_cuda_array_interface: version {} is none of 2 and 3", x.version), at);
  if (how.in_place && x.read_only)
    throw_type_error("from_cuda_array_interface: the memory is read-only", at, "without in_place, writes copy first");
  std::int64_t strides[max_rank];
  for (int k = 0; k < x.extents.rank() && x.has_strides; ++k) {
    if (x.strides[k] % size_of(type) != 0)
      throw_shape_error(fmt::format("from_cuda_array_interface: the stride of {} bytes is no multiple of the {} of {}",
                                    x.strides[k], size_of(type), to_string(type)),
                        at);
    strides[k] = x.strides[k] / size_of(type);
  }
  import_options options = how;
  options.strides = {};
  if (x.has_strides) options.strides = {strides, static_cast<std::size_t>(x.extents.rank())};
  options.stream = x.version < 3 ? how.stream : x.stream;
  return from_pointer(reinterpret_cast<void*>(x.data), type, x.extents, options, at);
}

}  // namespace sinter
