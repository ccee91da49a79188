// DLPack in and out: every dtype and layout without copies, tensors given back exactly once, what is refused and why.
#include "dsl/compile.hpp"
#include "dsl/dlpack.hpp"
#include "tests/backend/expect.hpp"
#include "tests/backend/foreign.hpp"

#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

/// A tensor as another library would make it; counts how often it was given back.
template <class T>
struct foreign_tensor {
  T tensor{};
  std::vector<std::int64_t> extents, strides;
  int given_back = 0;

  foreign_tensor(void* data, dlpack::data_type type, std::vector<std::int64_t> extents_,
                 std::vector<std::int64_t> strides_ = {})
      : extents(std::move(extents_)), strides(std::move(strides_)) {
    const bool gpu = default_device().is_cuda();
    tensor.dl_tensor = {data,
                        {gpu ? dlpack::on_cuda : dlpack::on_cpu, 0},
                        static_cast<std::int32_t>(extents.size()),
                        type,
                        extents.data(),
                        strides.empty() ? nullptr : strides.data(),
                        0};
    tensor.manager_ctx = this;
    tensor.deleter = [](T* t) { ++static_cast<foreign_tensor*>(t->manager_ctx)->given_back; };
    if constexpr (requires { tensor.version; }) tensor.version = dlpack::current_version;
  }
  foreign_tensor(const foreign_tensor&) = delete;
  foreign_tensor& operator=(const foreign_tensor&) = delete;
};
using plain_tensor = foreign_tensor<dlpack::managed_tensor>;
using versioned_tensor = foreign_tensor<dlpack::managed_tensor_versioned>;

constexpr dlpack::data_type f32_type{dlpack::code_float, 32, 1};

/// The numbers of DLPack's dtypes, written down once more.
dlpack::data_type type_of(dtype t) {
  constexpr dlpack::data_type all[] = {{6, 8, 1},  {0, 8, 1},  {0, 16, 1}, {0, 32, 1}, {0, 64, 1},
                                       {1, 8, 1},  {1, 16, 1}, {1, 32, 1}, {1, 64, 1}, {2, 16, 1},
                                       {4, 16, 1}, {2, 32, 1}, {2, 64, 1}, {5, 64, 1}, {5, 128, 1}};
  return all[static_cast<int>(t)];
}

host_array ramp(dtype type, const shape& extents) {
  host_array x(type, extents);
  for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, {static_cast<long double>(type == boolean ? k % 2 : k), 0});
  return x;
}

std::string thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& e) { return e.what(); }
  return "nothing was thrown";
}

#define EXPECT_SAYS(part, ...)                                            \
  do {                                                                    \
    const std::string said = thrown([&] { __VA_ARGS__; });                \
    EXPECT_NE(said.find(part), std::string::npos) << "it said: " << said; \
  } while (0)

TEST(dlpack, every_dtype_goes_out_and_comes_back_as_the_same_memory) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto type = static_cast<dtype>(k);
    const host_array x = ramp(type, {3, 4});
    const array a = x.to_device();
    dlpack::managed_tensor_versioned* t = to_dlpack(a);
    const dlpack::data_type want = type_of(type);
    EXPECT_EQ(t->dl_tensor.dtype.code, want.code) << to_string(type);
    EXPECT_EQ(t->dl_tensor.dtype.bits, want.bits);
    EXPECT_EQ(t->dl_tensor.dtype.lanes, 1);
    EXPECT_EQ(t->dl_tensor.device.device_type, default_device().is_cuda() ? 2 : 1);
    EXPECT_EQ(t->version.major, 1u);
    EXPECT_EQ(t->flags, dlpack::read_only_flag);
    const void* data = t->dl_tensor.data;
    const array b = from_dlpack(t);
    EXPECT_EQ(t, nullptr);
    EXPECT_EQ(b.type(), type);
    EXPECT_EQ(data_pointer(b), data);
    EXPECT_EQ(data_pointer(a), data);
    EXPECT_TRUE(equals(b, x));
    dlpack::managed_tensor* old = to_dlpack_unversioned(b);
    EXPECT_TRUE(equals(from_dlpack(old), x));
    EXPECT_EQ(old, nullptr);
  }
}

TEST(dlpack, views_go_out_by_strides) {
  const array a = ramp(i32, {4, 6}).to_device();
  struct expected {
    array view;
    std::vector<std::int64_t> strides;
    std::uint64_t offset;
  };
  const expected all_of[] = {{a(1, range(2, 6, 3)), {3}, 8 * 4},
                             {transpose(a), {1, 6}, 0},
                             {a(range(1, 4, 2), newaxis, 5), {12, 0}, 11 * 4},
                             {broadcast_to(a(2, all), {3, 6}), {0, 1}, 12 * 4},
                             {a(3, 3), {}, 21 * 4}};
  for (const expected& e : all_of) {
    const std::uint64_t before = stats().launches;
    dlpack::managed_tensor_versioned* t = to_dlpack(e.view);
    EXPECT_EQ(stats().launches, before);
    EXPECT_EQ(t->dl_tensor.data, data_pointer(a));
    EXPECT_EQ(t->dl_tensor.byte_offset, e.offset);
    ASSERT_EQ(t->dl_tensor.ndim, e.view.rank());
    for (int k = 0; k < e.view.rank(); ++k) {
      EXPECT_EQ(t->dl_tensor.shape[k], e.view.extents()[k]);
      if (e.view.extents()[k] > 1) { EXPECT_EQ(t->dl_tensor.strides[k], e.strides[static_cast<std::size_t>(k)]); }
    }
    EXPECT_TRUE(equals(from_dlpack(t), from_device(e.view)));
  }
}

TEST(dlpack, what_has_no_memory_yet_is_computed) {
  const array a = ramp(f32, {4, 6}).to_device();
  const array values[] = {a * 2, flip(a, 1), a(array{1, 1, 3}, all), ones({2, 2}, i8), array(5), transpose(a + 1)};
  for (const array& x : values) {
    dlpack::managed_tensor_versioned* t = to_dlpack(x);
    EXPECT_TRUE(equals(from_dlpack(t), from_device(x)));
  }
}

TEST(dlpack, nothing_at_all_goes_both_ways) {
  for (const shape& s : {shape{0}, shape{3, 0, 2}}) {
    dlpack::managed_tensor_versioned* t = to_dlpack(zeros(s, i16));
    EXPECT_EQ(t->dl_tensor.data, nullptr);
    const array a = from_dlpack(t);
    EXPECT_EQ(a.extents(), s);
    EXPECT_TRUE(a.to_vector<std::int16_t>().empty());
  }
  plain_tensor empty(nullptr, f32_type, {2, 0}, {7, 7});
  { const array a = from_dlpack(&empty.tensor); }
  EXPECT_EQ(empty.given_back, 1);
}

TEST(dlpack, an_exported_tensor_keeps_its_values_whatever_happens_to_the_array) {
  array a = ramp(f32, {8}).to_device();
  dlpack::managed_tensor_versioned* t = to_dlpack(a);
  a(0) = 100;
  a += 1;
  eval(a);
  a = array();
  EXPECT_TRUE(equals(from_dlpack(t), ramp(f32, {8})));
}

TEST(dlpack, memory_of_exported_tensors_is_freed_by_their_deleter) {
  const std::uint64_t before = stats().bytes_in_use;
  array a = ramp(f64, {1000}).to_device();
  dlpack::managed_tensor_versioned* t = to_dlpack(a(range(10, 20)));
  dlpack::managed_tensor* old = to_dlpack_unversioned(a);
  a = array();
  EXPECT_EQ(stats().bytes_in_use, before + 8000);
  t->deleter(t);
  EXPECT_EQ(stats().bytes_in_use, before + 8000);
  old->deleter(old);
  EXPECT_EQ(stats().bytes_in_use, before);
}

TEST(dlpack, temporaries_and_copies_may_be_written_by_the_taker) {
  array a = ramp(f32, {4}).to_device();
  const auto flags_of = [](dlpack::managed_tensor_versioned* t) {
    const std::uint64_t flags = t->flags;
    t->deleter(t);
    return flags;
  };
  EXPECT_EQ(flags_of(to_dlpack(a * 2)), 0u);
  EXPECT_EQ(flags_of(to_dlpack(a(range(0, 2)))), dlpack::read_only_flag);
  EXPECT_EQ(flags_of(to_dlpack(a)), dlpack::read_only_flag);
  EXPECT_EQ(flags_of(to_dlpack(array(a))), dlpack::read_only_flag);
  dlpack::managed_tensor_versioned* copy = to_dlpack(a, {.copy = true});
  EXPECT_NE(copy->dl_tensor.data, data_pointer(a));
  EXPECT_EQ(flags_of(copy), dlpack::copied_flag);
  EXPECT_EQ(flags_of(to_dlpack(std::move(a))), 0u);
}

TEST(dlpack, a_tensor_is_given_back_once_when_nothing_needs_it_any_more) {
  const lent memory(ramp(f32, {3, 4}).bytes);
  versioned_tensor t(memory.at(0), f32_type, {3, 4});
  array pending;
  {
    dlpack::managed_tensor_versioned* handle = &t.tensor;
    const array a = from_dlpack(handle);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(data_pointer(a), memory.at(0));
    pending = a(1, all) * 2;
    EXPECT_SAYS("taken once", from_dlpack(handle));
  }
  EXPECT_EQ(t.given_back, 0);
  EXPECT_EQ(pending.to_vector<float>(), (std::vector<float>{8, 10, 12, 14}));
  EXPECT_EQ(t.given_back, 1);
  plain_tensor copied(memory.at(0), f32_type, {4, 3}, {1, 4});
  const array b = from_dlpack(&copied.tensor, {.copy = true});
  EXPECT_EQ(copied.given_back, 1);
  EXPECT_EQ(array(b(0, 1)).item<float>(), 4);
  plain_tensor unmanaged(memory.at(0), f32_type, {4});
  unmanaged.tensor.deleter = nullptr;
  EXPECT_EQ(sum(from_dlpack(&unmanaged.tensor)).item<float>(), 6);
}

TEST(dlpack, byte_offsets_and_strides_of_any_sign_are_followed) {
  const lent memory(ramp(f32, {24}).bytes);
  plain_tensor t(memory.at(0), f32_type, {2, 3}, {-12, 2});
  t.tensor.dl_tensor.byte_offset = 13 * 4;
  const array a = from_dlpack(&t.tensor);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{13, 15, 17, 1, 3, 5}));
  EXPECT_EQ((a + a).to_vector<float>(), (std::vector<float>{26, 30, 34, 2, 6, 10}));
}

TEST(dlpack, writes_reach_the_tensor_only_when_asked) {
  const host_array x = ramp(f32, {4});
  const lent memory(x.bytes);
  versioned_tensor first(memory.at(0), f32_type, {4}), second(memory.at(0), f32_type, {4});
  {
    array a = from_dlpack(&first.tensor);
    a(0) = 50;
    eval(a);
    EXPECT_EQ(memory.read(), x.bytes);
    array b = from_dlpack(&second.tensor, {.in_place = true});
    b(0) = 50;
    eval(b);
  }
  host_array want = x;
  want.set(0, {50, 0});
  EXPECT_EQ(memory.read(), want.bytes);
  EXPECT_EQ(first.given_back, 1);
  EXPECT_EQ(second.given_back, 1);
}

TEST(dlpack, what_cannot_be_an_array_is_refused_and_stays_the_callers) {
  const lent memory(ramp(f32, {24}).bytes);
  void* const data = memory.at(0);
  int given_back = 0;
  const auto refuse = [&](versioned_tensor& t, const std::string& reason, const import_options& how = {}) {
    dlpack::managed_tensor_versioned* handle = &t.tensor;
    EXPECT_SAYS(reason, from_dlpack(handle, how));
    EXPECT_EQ(handle, &t.tensor) << reason;
    given_back += t.given_back;
  };
  versioned_tensor lanes(data, {2, 32, 4}, {2}), quarter(data, {2, 8, 1}, {2}), opaque(data, {3, 64, 1}, {2}),
      eight(data, {10, 8, 1}, {2}), deep(data, f32_type, std::vector<std::int64_t>(17, 1)),
      negative(data, f32_type, {-1}), null(nullptr, f32_type, {2}), crooked(memory.at(2), f32_type, {2}),
      other(data, f32_type, {2}), nowhere(data, f32_type, {2}), next(data, f32_type, {2}), fixed(data, f32_type, {2});
  refuse(lanes, "elements of 4 lanes");
  refuse(quarter, "float of 8 bits");
  refuse(opaque, "opaque handle of 64 bits");
  refuse(eight, "type code 10 of 8 bits");
  refuse(deep, "a tensor of 17 axes");
  refuse(negative, "the extent of axis 0 is -1");
  refuse(null, "address is null");
  refuse(crooked, "not aligned to the 4 bytes that f32 needs");
  other.tensor.dl_tensor.device = {static_cast<dlpack::device_type>(10), 3};
  refuse(other, "the tensor is on ROCm:3");
  nowhere.tensor.dl_tensor.device = {dlpack::on_cuda, 99};
  refuse(nowhere, "there is no CUDA device");
  next.tensor.version = {2, 0};
  refuse(next, "DLPack version 2.0, not 1.x");
  fixed.tensor.flags = dlpack::read_only_flag;
  refuse(fixed, "the tensor is read-only", {.in_place = true});
  EXPECT_EQ(given_back, 0);
}

TEST(dlpack, compiled_functions_leave_foreign_memory_alone_and_give_out_none_while_recorded) {
  const host_array x = ramp(f32, {64});
  const lent memory(x.bytes);
  auto step = compile([](array u) {
    u(range(0, 8)) += 1;
    return u;
  });
  for (int k = 0; k < 3; ++k) {
    versioned_tensor t(memory.at(0), f32_type, {64});
    const array stepped = step(from_dlpack(&t.tensor));
    EXPECT_EQ(array(stepped(3)).item<float>(), 4);
    EXPECT_EQ(memory.read(), x.bytes) << k;
  }
  auto leaks = compile([](const array& u) {
    dlpack::managed_tensor_versioned* t = to_dlpack(u(range(0, 4)));
    t->deleter(t);
    return u + 1;
  });
  EXPECT_SAYS("in a function that is being recorded", leaks(x.to_device()));
}

/// As another header declares them.
struct their_tensor {
  dlpack::tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(their_tensor*);
};

TEST(dlpack, structs_of_other_headers_will_do) {
  const lent memory(ramp(f32, {4}).bytes);
  plain_tensor t(memory.at(0), f32_type, {4});
  auto* theirs = reinterpret_cast<their_tensor*>(&t.tensor);
  { EXPECT_EQ(sum(from_dlpack(theirs)).item<float>(), 6); }
  EXPECT_EQ(theirs, nullptr);
  EXPECT_EQ(t.given_back, 1);
}

}  // namespace
