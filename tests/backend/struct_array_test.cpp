// Arrays of structs as structs of arrays and back: equal and mixed members, padding, views without copies.
#include "dsl/struct_array.hpp"
#include "dsl/complex.hpp"
#include "tests/backend/expect.hpp"

#include <cstring>
#include <functional>

struct particle {
  float x, y, vx, vy;
};
struct particles {
  sinter::array x, y, vx, vy;
};
struct mixed {
  std::int8_t kind;
  double mass;
  sinter::float16 charge;
  std::complex<float> phase;
  bool alive;
};
struct mixed_arrays {
  sinter::array mass, kind, charge, phase, alive;  // by name, in any order
};
struct spectrum {
  double weight;
  std::complex<double> line;  // 8 bytes into structs of 24
};
struct spectra {
  sinter::array line;
};
struct spaced {
  alignas(16) float value;
};
struct values_only {
  sinter::array value;
};
BOOST_HANA_ADAPT_STRUCT(particle, x, y, vx, vy);
BOOST_HANA_ADAPT_STRUCT(particles, x, y, vx, vy);
BOOST_HANA_ADAPT_STRUCT(mixed, kind, mass, charge, phase, alive);
BOOST_HANA_ADAPT_STRUCT(mixed_arrays, mass, kind, charge, phase, alive);
BOOST_HANA_ADAPT_STRUCT(spectrum, weight, line);
BOOST_HANA_ADAPT_STRUCT(spectra, line);
BOOST_HANA_ADAPT_STRUCT(spaced, value);
BOOST_HANA_ADAPT_STRUCT(values_only, value);

using namespace sinter;
using namespace sinter_test;

namespace {

std::vector<particle> some_particles(int count) {
  std::vector<particle> list;
  for (int k = 0; k < count; ++k) {
    const auto f = static_cast<float>(k);
    list.push_back({f, 2 * f, f / 4, 1 - f});
  }
  return list;
}

TEST(struct_array, structs_of_one_dtype_go_in_by_a_transfer_and_out_by_a_launch) {
  const std::vector<particle> before = some_particles(1000);
  const std::uint64_t copied = stats().bytes_to_device;
  auto p = from_structs<particles>(std::span<const particle>(before));
  EXPECT_EQ(stats().bytes_to_device - copied, 1000 * sizeof(particle));
  p.x += p.vx;
  p.y += p.vy * 2;
  const std::uint64_t launches = stats().launches;
  const std::vector<particle> after = to_structs<particle>(p);
  EXPECT_EQ(stats().launches - launches, 1u);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t k = 0; k < before.size(); ++k) {
    EXPECT_EQ(after[k].x, before[k].x + before[k].vx);
    EXPECT_EQ(after[k].y, before[k].y + before[k].vy * 2);
    EXPECT_EQ(after[k].vx, before[k].vx);
    EXPECT_EQ(after[k].vy, before[k].vy);
  }
}

TEST(struct_array, members_of_several_dtypes_keep_their_values) {
  std::vector<mixed> before(300);
  for (std::size_t k = 0; k < before.size(); ++k) {
    const auto f = static_cast<float>(k);
    before[k] = {static_cast<std::int8_t>(k % 100), f / 3, float16(f), {f, -f}, k % 3 == 0};
  }
  auto p = from_structs<mixed_arrays>(std::span<const mixed>(before));
  EXPECT_EQ(p.kind.type(), i8);
  EXPECT_EQ(p.phase.type(), c64);
  EXPECT_EQ(p.alive.type(), boolean);
  p.mass *= 2;
  const std::uint64_t launches = stats().launches;
  const std::vector<mixed> after = to_structs<mixed>(p);
  EXPECT_EQ(stats().launches - launches, 1u);
  for (std::size_t k = 0; k < before.size(); ++k) {
    EXPECT_EQ(after[k].kind, before[k].kind);
    EXPECT_EQ(after[k].mass, before[k].mass * 2);
    EXPECT_EQ(after[k].charge, before[k].charge);
    EXPECT_EQ(after[k].phase, before[k].phase);
    EXPECT_EQ(after[k].alive, before[k].alive);
  }
}

TEST(struct_array, complex_members_aligned_as_their_parts_are_read) {
  const std::vector<spectrum> list{{1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}}};
  const auto s = from_structs<spectra>(std::span<const spectrum>(list));
  const auto lines = s.line.to_vector<std::complex<double>>();
  for (std::size_t k = 0; k < list.size(); ++k) EXPECT_EQ(lines[k], list[k].line);
}

TEST(struct_array, padding_is_skipped_and_written_as_zeros) {
  const std::vector<spaced> list{{1}, {2}, {3}};
  const auto s = from_structs<values_only>(std::span<const spaced>(list));
  EXPECT_EQ(s.value.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(
      equals(to_columns<spaced>(s), host_array(std::vector<float>{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, {3, 4})));
  EXPECT_EQ(to_structs<spaced>(s)[2].value, 3);
}

TEST(struct_array, views_of_structs_copy_nothing_and_never_write_to_them) {
  std::vector<particle> list = some_particles(10);
  auto p = struct_view<particles>(std::span<particle>(list));
  list[3].y = 100;  // nothing has been read yet
  EXPECT_EQ(sum(p.y).item<float>(), 90 - 6 + 100);
  p.x += 1;
  p.vx(0) = 5;
  eval(p.x, p.vx);
  EXPECT_EQ(list[3].x, 3);
  EXPECT_EQ(list[0].vx, 0);
  EXPECT_EQ(array(p.x(3)).item<float>(), 4);
  const auto constant = struct_view<particles>(std::span<const particle>(list));
  EXPECT_EQ(array(constant.vy(2)).item<float>(), -1);
}

TEST(struct_array, columns_are_the_memory_of_float4) {
  const array b = reshape(arange(12), {3, 4}).astype(f32);
  const auto p = from_columns<particles>(b);
  EXPECT_EQ(p.vx.to_vector<float>(), (std::vector<float>{2, 6, 10}));
  EXPECT_TRUE(equals(to_columns<particle>(p), from_device(b)));
  const std::vector<particle> list = to_structs<particle>(p);
  EXPECT_EQ(list[1].vy, 7);
}

TEST(struct_array, no_structs_at_all) {
  const std::vector<particle> none;
  const auto p = from_structs<particles>(std::span<const particle>(none));
  EXPECT_EQ(p.vy.extents(), shape{0});
  EXPECT_TRUE(to_structs<particle>(p).empty());
  EXPECT_EQ(struct_view<particles>(std::span<const particle>(none)).x.size(), 0);
}

void expect_says(const std::string& part, const std::function<void()>& call, place at = place::here()) {
  std::string said = "nothing was thrown";
  try {
    call();
  } catch (const error& e) { said = e.what(); }
  if (said.find(part) == std::string::npos) ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << "it said: " << said;
}

TEST(struct_array, what_does_not_fit_is_refused_by_name) {
  particles p{ones({3}, f32), ones({3}, f32), ones({3}, f32), ones({4}, f32)};
  expect_says("member vy has shape [4], member x [3]", [&] { to_structs<particle>(p); });
  p.vy = ones({3}, f64);
  expect_says("member vy is f32, its array f64", [&] { to_structs<particle>(p); });
  expect_says("shape [3, 3] for a struct of 4 members", [] { from_columns<particles>(ones({3, 3})); });
  const auto m = from_structs<mixed_arrays>(std::span<const mixed>());
  expect_says("several dtypes", [&] { to_columns<mixed>(m); });
  const struct_field apart[] = {{"late", f32, 2}};
  const std::byte memory[12] = {};
  expect_says("member late of f32 is 2 bytes into structs of 6", [&] {
    structs::copied(memory, 2, {apart, 6}, place::here());
  });
}

}  // namespace
