// What torch_interop.py calls: arrays behind handles, DLPack tensors in and out, errors as text.
#include <sinter/dlpack.hpp>
#include <sinter/sinter.hpp>

#include <cstdint>
#include <exception>
#include <string>

using namespace sinter;

namespace {

thread_local std::string last_error;

/// What `call` returns, or null and its error.
template <class Call>
auto guarded(Call call) -> decltype(call()) {
  try {
    last_error.clear();
    return call();
  } catch (const std::exception& e) {
    last_error = e.what();
    return {};
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

const char* interop_error() { return last_error.c_str(); }

/// The stream that a producer should make its tensor ready for; 1 where there are none.
std::int64_t interop_stream(std::int32_t device_type, std::int32_t device_id) {
  return guarded([&] { return device_type == dlpack::on_cuda ? stream_number(cuda(device_id)) : std::int64_t{-1}; });
}

array* interop_import(void* tensor, bool versioned, bool in_place) {
  return guarded([&] {
    const import_options how{.in_place = in_place};
    return versioned ? new array(from_dlpack(static_cast<dlpack::managed_tensor_versioned*>(tensor), how))
                     : new array(from_dlpack(static_cast<dlpack::managed_tensor*>(tensor), how));
  });
}

void* interop_export(const array* a, bool versioned, std::int64_t stream) {
  return guarded([&]() -> void* {
    if (versioned) return to_dlpack(*a, {.stream = stream});
    return to_dlpack_unversioned(*a, {.stream = stream});
  });
}

/// Gives back a tensor that nobody took.
void interop_delete(void* tensor, bool versioned) {
  if (versioned) {
    auto* t = static_cast<dlpack::managed_tensor_versioned*>(tensor);
    t->deleter(t);
  } else {
    auto* t = static_cast<dlpack::managed_tensor*>(tensor);
    t->deleter(t);
  }
}

void interop_device(const array* a, std::int32_t* type, std::int32_t* id) {
  const dlpack::device d = dlpack_device(*a);
  *type = d.device_type;
  *id = d.device_id;
}

const void* interop_pointer(const array* a) {
  return guarded([&] { return data_pointer(*a); });
}

/// a + a, as any dtype but bool has it.
array* interop_double(const array* a) {
  return guarded([&] { return new array(*a + *a); });
}

/// Adds one to all elements, and waits: true when that worked.
bool interop_increment(array* a) {
  return guarded([&] {
    *a += 1;
    return data_pointer(*a) != nullptr;
  });
}

void interop_free(array* a) { delete a; }

}  // extern "C"
#pragma GCC visibility pop
