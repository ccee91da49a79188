#include "dsl/dlpack.hpp"

#include "dsl/foreign_internal.hpp"
#include "dsl/record_internal.hpp"
#include "jit/engine.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace sinter {

using dlpack::managed_tensor;
using dlpack::managed_tensor_versioned;
using runtime::buffer;
using runtime::reference;

// The layouts that all libraries agree on.
static_assert(sizeof(dlpack::tensor) == 48 && offsetof(dlpack::tensor, byte_offset) == 40);
static_assert(sizeof(managed_tensor) == 64 && offsetof(managed_tensor, deleter) == 56);
static_assert(sizeof(managed_tensor_versioned) == 80 && offsetof(managed_tensor_versioned, dl_tensor) == 32);

namespace {

dlpack::data_type data_type_of(dtype t) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(t));
  if (t == boolean) return {dlpack::code_bool, bits, 1};
  if (t == bf16) return {dlpack::code_bfloat, bits, 1};
  switch (kind_of(t)) {
    case kind::signed_integer:
      return {dlpack::code_int, bits, 1};
    case kind::unsigned_integer:
      return {dlpack::code_uint, bits, 1};
    case kind::complex:
      return {dlpack::code_complex, bits, 1};
    default:
      return {dlpack::code_float, bits, 1};
  }
}

dtype dtype_of_data(const dlpack::data_type& t, const place& at) {
  if (t.lanes != 1)
    throw_type_error(fmt::format("from_dlpack: elements of {} lanes", t.lanes), at,
                     "arrays have one more axis instead");
  for (int k = 0; k < dtype_count; ++k) {
    const dlpack::data_type known = data_type_of(static_cast<dtype>(k));
    if (known.code == t.code && known.bits == t.bits) return static_cast<dtype>(k);
  }
  constexpr const char* names[] = {"int", "uint", "float", "opaque handle", "bfloat", "complex", "bool"};
  const std::string name = t.code < std::size(names) ? names[t.code] : fmt::format("type code {}", t.code);
  throw_type_error(fmt::format("from_dlpack: {} of {} bits is none of sinter's dtypes", name, t.bits), at);
}

runtime::device& device_of(const dlpack::device& d, const place& at) {
  switch (d.device_type) {
    case dlpack::on_cpu:
    case dlpack::on_cuda_host:
      return runtime::cpu();
    case dlpack::on_cuda:
    case dlpack::on_cuda_managed:
      return cuda(d.device_id).impl();
    default:
      break;
  }
  struct named {
    std::int32_t number;
    const char* name;
  };
  constexpr named others[] = {{4, "OpenCL"},     {7, "Vulkan"},  {8, "Metal"},   {9, "VPI"},     {10, "ROCm"},
                              {11, "ROCm host"}, {14, "oneAPI"}, {15, "WebGPU"}, {16, "Hexagon"}};
  std::string name = fmt::format("device type {}", d.device_type);
  for (const named& o : others)
    if (o.number == d.device_type) name = o.name;
  throw device_error(error_text(fmt::format("from_dlpack: the tensor is on {}:{}", name, d.device_id), at,
                                "arrays live on cpu and cuda devices"));
}

shape extents_of(const dlpack::tensor& t, const place& at) {
  if (t.ndim < 0 || t.ndim > max_rank)
    throw_shape_error(fmt::format("from_dlpack: a tensor of {} axes; arrays have up to {}", t.ndim, max_rank), at);
  shape s;
  for (int k = 0; k < t.ndim; ++k) {
    if (t.shape[k] < 0) throw_shape_error(fmt::format("from_dlpack: the extent of axis {} is {}", k, t.shape[k]), at);
    s.append(t.shape[k]);
  }
  return s;
}

template <class T>
array taken(T* t, const import_options& how, const place& at) {
  const dlpack::tensor& x = t->dl_tensor;
  foreign_elements e{.data = x.data,
                     .type = dtype_of_data(x.dtype, at),
                     .extents = extents_of(x, at),
                     .strides = x.strides,
                     .where = &device_of(x.device, at),
                     .in_place = how.in_place,
                     .release =
                         [](void* context) {
                           T* const tensor = static_cast<T*>(context);
                           if (tensor->deleter != nullptr) tensor->deleter(tensor);
                         },
                     .context = t};
  if (x.data != nullptr) e.data = static_cast<std::byte*>(x.data) + x.byte_offset;
  runtime::follow_stream(*e.where, how.stream);
  return taken_in(e, how.copy, "from_dlpack", at);
}

void check_not_null(const void* t, const place& at) {
  if (t == nullptr)
    throw_type_error("from_dlpack: the tensor is null", at,
                     "a tensor can be taken once; ask whoever made it for another one");
}

}  // namespace

array dlpack::take(managed_tensor* t, const import_options& how, const place& at) {
  check_not_null(t, at);
  return taken(t, how, at);
}

array dlpack::take(managed_tensor_versioned* t, const import_options& how, const place& at) {
  check_not_null(t, at);
  if (t->version.major != current_version.major)
    throw_type_error(fmt::format("from_dlpack: the tensor is of DLPack version {}.{}, not {}.x", t->version.major,
                                 t->version.minor, current_version.major),
                     at);
  if (how.in_place && (t->flags & read_only_flag) != 0)
    throw_type_error("from_dlpack: the tensor is read-only", at, "without in_place, writes copy first");
  return taken(t, how, at);
}

// ---- Out ----

namespace {

/// A tensor and what it needs.
template <class T>
struct exported {
  T tensor{};
  reference<buffer> memory;
  std::int64_t extents[max_rank], strides[max_rank];
  bool ordered = true;  ///< the taker's work is waited for at the end

  static void give_back(T* t) {
    const std::unique_ptr<exported> whole(static_cast<exported*>(t->manager_ctx));
    if (whole->ordered) runtime::finish(*whole->memory->owner);
  }
};

reference<buffer> copy_of(const array& a, const place& at) {
  jit::node* n = a.node();
  jit::evaluate({&n, 1}, at);
  buffer* from = n->values();
  reference<buffer> own(runtime::make_buffer(*from->owner, from->bytes));
  runtime::copy_on_device(*own, *from, from->bytes);
  return own;
}

dlpack::device device_number(const runtime::device& d) {
  const bool gpu = d.kind() == runtime::device_kind::cuda;
  return {gpu ? dlpack::on_cuda : dlpack::on_cpu, gpu ? d.ordinal() : 0};
}

template <class T>
std::unique_ptr<exported<T>> made(const array& a, const export_options& how, const place& at) {
  auto e = std::make_unique<exported<T>>();
  located_elements x;
  if (how.copy) {
    x.memory = copy_of(a, at);
    contiguous_strides(a.extents(), x.strides);
  } else {
    x = located(a, true, at);
  }
  e->memory = x.memory;
  e->ordered = how.stream != runtime::no_stream;
  for (int k = 0; k < a.rank(); ++k) {
    e->extents[k] = a.extents()[k];
    e->strides[k] = x.strides[k];
  }
  e->tensor.manager_ctx = e.get();
  e->tensor.deleter = &exported<T>::give_back;
  e->tensor.dl_tensor = {.data = x.memory->data,
                         .device = device_number(*x.memory->owner),
                         .ndim = a.rank(),
                         .dtype = data_type_of(a.type()),
                         .shape = e->extents,
                         .strides = e->strides,
                         .byte_offset = static_cast<std::uint64_t>(x.offset * size_of(a.type()))};
  if (e->ordered) {
    jit::synchronize(*x.memory->owner);
    runtime::lead_stream(*x.memory->owner, how.stream);
  }
  return e;
}

managed_tensor_versioned* versioned(std::unique_ptr<exported<managed_tensor_versioned>> e, std::uint64_t flags) {
  e->tensor.version = dlpack::current_version;
  e->tensor.flags = flags;
  return &e.release()->tensor;
}

}  // namespace

managed_tensor_versioned* to_dlpack(const array& a, const export_options& how, place at) {
  return versioned(made<managed_tensor_versioned>(a, how, at), how.copy ? dlpack::copied_flag : dlpack::read_only_flag);
}

managed_tensor_versioned* to_dlpack(array&& a, const export_options& how, place at) {
  auto e = made<managed_tensor_versioned>(a, how, at);
  a = array();
  const bool own = runtime::is_exclusive(*e->memory);
  return versioned(std::move(e), how.copy ? dlpack::copied_flag : own ? 0 : dlpack::read_only_flag);
}

managed_tensor* to_dlpack_unversioned(const array& a, const export_options& how, place at) {
  return &made<managed_tensor>(a, how, at).release()->tensor;
}

dlpack::device dlpack_device(const array& a) { return device_number(a.device().impl()); }

}  // namespace sinter
