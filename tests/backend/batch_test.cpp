// Operands of joins that differ in numbers alone, computed as one expression: against loops that put them together.
#include "tests/backend/plain_join.hpp"
#include "tests/backend/plain_loop.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace sinter;
using namespace sinter_test;

namespace {

using batch = fold;
const range backwards(end, begin, -1);

/// Rows of [n, m] values one below the other.
template <class T, class F>
plain<T> rows_of(std::int64_t n, std::int64_t m, F&& element) {
  plain<T> out({n, m});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < m; ++k) out(i, k) = element(i, k);
  return out;
}

// ---- growing arrays ----

TEST_F(batch, rows_that_a_loop_appends_are_one_gather) {
  constexpr int words = 50, width = 7, columns = 90;
  plain<float> one_hot({words, columns});
  const plain<float> table = scattered_values<float>({words, width});
  std::vector<int> ids;
  for (int k = 0; k < columns; ++k) {
    ids.push_back((k * 31 + 5) % words);
    one_hot(ids.back(), k) = 1;
  }
  const array x = one_hot.made(), w = table.made();
  const auto row = [&](int k) { return w(argmax(x(all, k)), all)(newaxis, all); };
  const auto want = rows_of<float>(columns, width, [&](auto i, auto k) {
    return plain<float>(table)(ids[static_cast<std::size_t>(i)], k);
  });
  array h, grown;
  EXPECT_EQ(launches_of([&] {
              h = row(0);
              for (int k = 1; k < columns; ++k) h = concat({h, row(k)}, 0);
            }, h), 1u);
  EXPECT_TRUE(equals(h, want));
  const auto grow = [&] {
    grown = row(0);
    for (int k = 1; k < columns; ++k) grown = vstack({grown, w(argmax(x(all, k)), all)});
    eval(grown);
  };
  EXPECT_EQ(counted(grow).launches, 1u);
  EXPECT_TRUE(equals(grown, want));
  std::vector<array> rows;
  for (int k = 0; k < columns; ++k) rows.push_back(w(argmax(x(all, k)), all));
  const array stacked = stack(rows), turned = stack(rows, 1), flat = hstack(rows);
  EXPECT_EQ(launches_of(stacked), 1u);
  EXPECT_TRUE(equals(stacked, want));
  EXPECT_EQ(launches_of(turned), 1u);
  EXPECT_TRUE(equals(transpose(turned), want));
  EXPECT_EQ(launches_of(flat), 1u);
  EXPECT_TRUE(equals(reshape(flat, {columns, width}), want));
}

TEST_F(batch, thousands_of_rows_are_one_launch) {
  constexpr int rows = 5000, width = 3;
  const plain<float> table = scattered_values<float>({97, width});
  const array w = table.made();
  array h = w(0, all)(newaxis, all);
  for (int k = 1; k < rows; ++k) h = concat({h, w(k * k % 97, all)(newaxis, all) * 2.0f}, 0);
  EXPECT_EQ(launches_of(std::as_const(h)), 1u);
  EXPECT_TRUE(equals(h, rows_of<float>(rows, width, [&](auto i, auto k) {
    return plain<float>(table)(i * i % 97, k) * (i == 0 ? 1 : 2);
  })));
}

TEST_F(batch, rows_put_in_front) {
  const plain<int> x = scattered_values<int>({40, 3});
  const array a = x.made();
  array h = a(0, all)(newaxis, all);
  for (int k = 1; k < 40; ++k) h = concat({a(k, all)(newaxis, all), h}, 0);
  EXPECT_EQ(launches_of(std::as_const(h)), 1u);
  EXPECT_TRUE(equals(h, rows_of<int>(40, 3, [&](auto i, auto k) { return plain<int>(x)(39 - i, k); })));
}

// ---- parts of an array ----

/// Operands are parts of x along `axis`: `extent` elements, `step` apart, from starts[k] on.
void check_parts(const shape& extents, int axis, int extent, int step, const std::vector<std::int64_t>& starts) {
  const host_array x = numbered(extents);
  const array a = x.to_device();
  std::vector<array> parts;
  std::vector<host_array> want;
  for (const std::int64_t s : starts) {
    std::vector<std::int64_t> taken;
    for (int k = 0; k < extent; ++k) taken.push_back(s + k * step);
    const std::int64_t past = s + extent * step;
    const range r = past < 0 ? range(s, begin, step) : range(s, past, step);
    parts.push_back((axis == 0 ? a(r) : axis == 1 ? a(all, r) : a(all, all, r)) + 1);
    want.push_back(picked(x, axis, taken));
    for (std::int64_t k = 0; k < want.back().size(); ++k) want.back().set(k, {want.back().get(k).re + 1, 0});
  }
  for (int along = 0; along < extents.rank(); ++along) {
    const array joined = concat(parts, along);
    EXPECT_EQ(launches_of(joined), 1u) << along;
    EXPECT_TRUE(equals(joined, joined_plainly(want, along, i32)))
        << "part of axis " << axis << " joined along " << along << ": " << extent << " by " << step;
    if (along != axis) continue;
    const array twice = joined * 2 - concat(parts, along);
    EXPECT_TRUE(equals(twice, joined_plainly(want, along, i32)));
  }
}

TEST_F(batch, parts_of_every_axis_joined_along_every_axis) {
  const std::vector<std::int64_t> same(17, 5), irregular{3, 0, 7, 7, 1, 15, 2, 9, 12, 4, 0, 11, 16, 5, 5, 1, 17};
  std::vector<std::int64_t> regular, nested, down;
  for (int k = 0; k < 18; ++k) {
    regular.push_back(k);
    nested.push_back(k / 3 * 2 + k % 3 * 3);  // two loops
    down.push_back(22 - k);
  }
  for (const int rank : {1, 3})
    for (int axis = 0; axis < rank; ++axis) {
      shape extents;
      for (int k = 0; k < rank; ++k) extents.append(k == axis ? 23 : k + 2);
      for (const int extent : {1, 3}) {
        for (const auto& starts : {regular, same, irregular, nested}) check_parts(extents, axis, extent, 1, starts);
        check_parts(extents, axis, extent, 2, nested);
        check_parts(extents, axis, extent, -2, down);
      }
    }
}

TEST_F(batch, all_rows_of_an_array_are_the_array) {
  const plain<float> x = scattered_values<float>({30, 4});
  const array a = x.made();
  std::vector<array> rows;
  for (int k = 0; k < 30; ++k) rows.push_back(a(k, all));
  array h = stack(rows);
  EXPECT_TRUE(equals(h, x));
  h(3, all) = 0;  // h is a value of its own
  eval(h);
  EXPECT_TRUE(equals(a, x));
}

TEST_F(batch, runs_of_different_shapes_and_operations) {
  const plain<int> x = scattered_values<int>({60});
  const array a = x.made();
  std::vector<array> parts;
  std::vector<int> want;
  const auto add = [&](const array& part, int first, int count, std::function<int(int)> f) {
    parts.push_back(part);
    for (int k = 0; k < count; ++k) want.push_back(f(plain<int>(x)(first + k)));
  };
  for (int k = 0; k < 20; ++k) add(a(range(k, k + 2)) * 3, k, 2, [](int v) { return v * 3; });
  add(a(range(0, 5)), 0, 5, [](int v) { return v; });
  for (int k = 0; k < 17; ++k) add(a(range(3 * k, 3 * k + 3)) + k, 3 * k, 3, [k](int v) { return v + k; });
  for (int k = 0; k < 7; ++k) add(a(range(k, k + 1 + k % 3)) * 2, k, 1 + k % 3, [](int v) { return v * 2; });
  for (int k = 0; k < 40; ++k) add(a(range(k, k + 1 + k % 3)) - k, k, 1 + k % 3, [k](int v) { return v - k; });
  const array joined = concat(parts);
  EXPECT_EQ(launches_of(joined), 1u);
  EXPECT_TRUE(equals(joined, want));
}

TEST_F(batch, operands_of_different_dtypes_by_turns) {
  const plain<int> x = scattered_values<int>({30, 2});
  const plain<float> y = scattered_values<float>({30, 2});
  const array a = x.made(), b = y.made();
  std::vector<array> parts;
  for (int k = 0; k < 30; ++k) {
    parts.push_back(a(k, all) + 1);
    parts.push_back(b(k, all));
    parts.push_back(b(29 - k, all) > 3);
  }
  const array joined = stack(parts);
  EXPECT_EQ(joined.type(), f32);
  EXPECT_EQ(launches_of(joined), 1u);
  EXPECT_TRUE(equals(joined, rows_of<float>(90, 2, [&](auto i, auto k) {
    const auto row = i / 3;
    if (i % 3 == 0) return static_cast<float>(plain<int>(x)(row, k) + 1);
    return i % 3 == 1 ? plain<float>(y)(row, k) : plain<float>(y)(29 - row, k) > 3 ? 1.0f : 0.0f;
  })));
}

TEST_F(batch, one_array_again_and_again) {
  const plain<float> x = scattered_values<float>({5});
  const array a = x.made(), pending = a * 2;
  const array evaluated = stack(std::vector<array>(20, a)), twice = concat(std::vector<array>(20, pending));
  const auto times = [&](float f) {
    return rows_of<float>(20, 5, [&x, f](auto, auto k) { return plain<float>(x)(k) * f; });
  };
  EXPECT_TRUE(equals(evaluated, times(1)));
  EXPECT_TRUE(equals(reshape(twice, {20, 5}), times(2)));
  const array h = concat({twice, twice, pending});
  EXPECT_EQ(h.extents()[0], 205);
  for (const int k : {0, 99, 100, 204}) EXPECT_EQ(h(k).item<float>(), plain<float>(x)(k % 5) * 2);
}

TEST_F(batch, joins_in_joins) {
  const plain<int> x = scattered_values<int>({24, 10});
  const array a = x.made();
  const auto at = [&](auto i, auto k) { return plain<int>(x)(i, k); };
  std::vector<array> quarters, lines;
  for (int k = 0; k < 3; ++k) {
    std::vector<array> rows;
    for (int j = 0; j < 8; ++j) rows.push_back(a(range(8 * k + j, 8 * k + j + 1), all));
    quarters.push_back(concat(rows));
  }
  const array same_axis = concat(quarters);
  EXPECT_EQ(launches_of(same_axis), 0u);  // it is the array that its rows are of
  EXPECT_TRUE(equals(same_axis, x));
  for (int k = 0; k < 24; ++k) lines.push_back(concat({a(k, backwards), a(k, all), a(k, range(0, 2))}));
  const array across = stack(lines);
  EXPECT_EQ(launches_of(across), 1u);
  EXPECT_TRUE(equals(across, rows_of<int>(24, 22, [&](auto i, auto k) {
    return k < 10 ? at(i, 9 - k) : k < 20 ? at(i, k - 10) : at(i, k - 20);
  })));
  std::vector<array> blocks;
  for (int k = 0; k < 24; ++k) {
    std::vector<array> elements;
    for (int j = 0; j < 10; ++j) elements.push_back(a(k, j) * j);
    blocks.push_back(stack(elements));
  }
  const array two = stack(blocks);
  EXPECT_EQ(launches_of(two), 1u);
  EXPECT_TRUE(equals(two, rows_of<int>(24, 10, [&](auto i, auto k) { return at(i, k) * static_cast<int>(k); })));
}

// ---- numbers ----

template <class T, class F>
void check_numbers(F number) {
  constexpr int n = 40;
  SCOPED_TRACE(to_string(dtype_of<T>));
  std::vector<array> list, rows;
  plain<T> want({n}), want_rows({n, 3});
  const array base = zeros({3}, dtype_of<T>);
  for (int i = 0; i < n; ++i) {
    list.push_back(array(scalar(number(i))).astype(dtype_of<T>));
    rows.push_back(base + number(n - 1 - i));
    want(i) = static_cast<T>(number(i));
    for (int k = 0; k < 3; ++k) want_rows(i, k) = static_cast<T>(number(n - 1 - i));
  }
  const array a = stack(list), r = stack(rows);
  EXPECT_EQ(launches_of(a), 1u);
  EXPECT_EQ(launches_of(r), 1u);
  EXPECT_TRUE(equals(a, want));
  EXPECT_TRUE(equals(r, want_rows));
}

TEST_F(batch, numbers_of_all_kinds) {
  check_numbers<double>([](int i) { return i * 3 - 7.0; });
  check_numbers<double>([](int i) { return i * 0.1; });
  check_numbers<double>([](int i) { return i % 3 == 0 ? 5e-324 * i : i * 1e-310; });
  check_numbers<double>([](int i) { return i == 7 ? static_cast<double>(infinity) : i * 1e15; });
  check_numbers<float>([](int i) { return static_cast<float>(i) * 0.1f; });
  check_numbers<float>([](int i) { return i / 5 + 10 * (i % 5); });
  check_numbers<std::int8_t>([](int i) { return i * 3 - 60; });
  check_numbers<std::int64_t>([](int i) { return std::numeric_limits<std::int64_t>::max() - i * i; });
  check_numbers<std::uint64_t>(
      [](int i) { return std::numeric_limits<std::uint64_t>::max() - static_cast<unsigned>(3 * i); });
  check_numbers<std::uint8_t>([](int i) { return 255 - i; });
}

TEST_F(batch, complex_and_boolean_numbers) {
  constexpr int n = 24;
  std::vector<array> z, t;
  const array base = zeros({2}, c128), flags = zeros({2}, boolean);
  for (int i = 0; i < n; ++i) {
    z.push_back(base + complex128{i * 0.5, 7.0 - i});
    t.push_back(flags | (i % 3 == 0));
  }
  const std::vector<complex128> got = stack(z).to_vector<complex128>();
  const std::vector<std::uint8_t> truth = stack(t).astype(u8).to_vector<std::uint8_t>();
  for (int i = 0; i < 2 * n; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)].re, i / 2 * 0.5);
    EXPECT_EQ(got[static_cast<std::size_t>(i)].im, 7.0 - i / 2);
    EXPECT_EQ(truth[static_cast<std::size_t>(i)], i / 2 % 3 == 0);
  }
}

// ---- what operands are made of ----

TEST_F(batch, reductions_in_operands_are_one_launch) {
  const plain<int> x = scattered_values<int>({40, 6});
  const array a = x.made();
  std::vector<array> totals, places, largest, parts, running;
  plain<std::int64_t> sums({40}), where({40}), windows({20}), scans({40, 6});
  plain<int> most({40});
  for (int k = 0; k < 40; ++k) {
    totals.push_back(sum(a(k, all)));
    places.push_back(argmax(a(k, all) * (k % 2 == 0 ? 1 : -1)));
    largest.push_back(max(a(range(k, k + 1), all), {0, 1}));
    running.push_back(cumsum(a(39 - k, all), 0));
    const auto value = [&](int j) { return plain<int>(x)(k, j); };
    std::int64_t best = 0, total = 0;
    for (int j = 0; j < 6; ++j) {
      sums(k) += value(j);
      if ((k % 2 == 0 ? 1 : -1) * value(j) > (k % 2 == 0 ? 1 : -1) * value(static_cast<int>(best))) best = j;
      most(k) = j == 0 ? value(0) : std::max(most(k), value(j));
      scans(k, j) = total += plain<int>(x)(39 - k, j);
    }
    where(k) = best;
  }
  const array flat = reshape(a, {240});
  for (int k = 0; k < 20; ++k) {
    parts.push_back(sum(flat(range(7 * k, 7 * k + 9)) * 2));
    for (int j = 0; j < 9; ++j) windows(k) += 2 * x.values[static_cast<std::size_t>(7 * k + j)];
  }
  const auto check = [&](const std::vector<array>& list, const auto& want) {
    const array h = stack(list);
    EXPECT_EQ(launches_of(std::as_const(h)), 1u);
    EXPECT_TRUE(equals(h, want));
  };
  check(totals, sums);
  check(places, where);
  check(largest, most);
  check(parts, windows);
  check(running, scans);
}

TEST_F(batch, string_kernels_element_by_element) {
  const plain<float> x = scattered_values<float>({12}, 3), y = scattered_values<float>({15}, 4);
  const array a = x.made(), b = y.made();
  const elementwise squared_diff{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"};
  const elementwise both{"both", "T x, i64 k", "T lower, T upper", "lower = x - k; upper = x + k;"};
  array h = squared_diff(a(0), b(0))(newaxis);
  std::vector<array> bounds;
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 15; ++j)
      if (i + j > 0) h = concat({h, squared_diff(a(i), b(j))(newaxis)});
  EXPECT_EQ(launches_of(std::as_const(h)), 1u);
  EXPECT_TRUE(equals(reshape(h, {12, 15}), rows_of<float>(12, 15, [&](auto i, auto j) {
    const float d = plain<float>(x)(i) - plain<float>(y)(j);
    return d * d;
  })));
  for (int i = 0; i < 12; ++i) {
    const auto [lower, upper] = both.results<2>(a(i), i * i);
    bounds.push_back(lower);
    bounds.push_back(upper);
  }
  const array listed = stack(bounds);
  EXPECT_EQ(launches_of(listed), 1u);
  EXPECT_TRUE(equals(reshape(listed, {12, 2}), rows_of<float>(12, 2, [&](auto i, auto k) {
    return plain<float>(x)(i) + static_cast<float>((k == 0 ? -1 : 1) * i * i);
  })));
}

TEST_F(batch, updates_and_snapshots_in_operands) {
  const plain<int> x = scattered_values<int>({20, 4});
  array b = x.made();
  std::vector<array> written, seen;
  for (int k = 0; k < 20; ++k) {
    array row = b(k, all);
    row(1) = k;
    written.push_back(row);
  }
  plain<int> now(x), want({20, 4}), states({20, 4});
  for (int k = 0; k < 20; ++k) {
    for (int j = 0; j < 4; ++j) want(k, j) = j == 1 ? k : now(k, j);
  }
  for (int k = 0; k < 20; ++k) {
    seen.push_back(b(k % 3, all));
    b(k % 3, 2) += k;
    for (int j = 0; j < 4; ++j) states(k, j) = now(k % 3, j);
    now(k % 3, 2) += k;
  }
  EXPECT_TRUE(equals(stack(written), want));
  EXPECT_TRUE(equals(stack(seen), states));
  EXPECT_TRUE(equals(b, now));
}

TEST_F(batch, indices_known_late_or_from_the_host) {
  const plain<float> table = scattered_values<float>({30, 5});
  const std::vector<int> ids{4, -1, 29, 0, 0, 17, 3, -30, 8, 21, 2, 5, 9, 28, -7, 1, 13, 13};
  const array w = table.made(), j(ids);
  std::vector<array> lazy, known, two;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    lazy.push_back(w(j(at), all));
    known.push_back(w(ids[k], all));
    two.push_back(w(j(at) + 0, j(at) % 3 + 2));
  }
  const auto row = [&](auto i) { return (ids[static_cast<std::size_t>(i)] + 30) % 30; };
  const auto want = rows_of<float>(18, 5, [&](auto i, auto k) { return plain<float>(table)(row(i), k); });
  EXPECT_TRUE(equals(stack(lazy), want));
  EXPECT_TRUE(equals(stack(known), want));
  plain<float> elements({18});
  for (int i = 0; i < 18; ++i) {
    const int k = ids[static_cast<std::size_t>(i)] % 3 + 2;
    elements(i) = plain<float>(table)(row(i), k);
  }
  const array listed = stack(two);
  EXPECT_EQ(launches_of(listed), 1u);
  EXPECT_TRUE(equals(listed, elements));
  const array bad = where(arange(20) == 3, 30, arange(20));
  std::vector<array> rows;
  for (int k = 0; k < 20; ++k) rows.push_back(w(bad(k), all));
  EXPECT_TRUE(throws<index_error>([&] { stack(rows).to_vector<float>(); }, {"batch_test.cpp"}));
}

TEST_F(batch, what_operands_share_is_computed_once) {
  const plain<float> x = scattered_values<float>({20, 8});
  const array a = x.made(), total = sum(a), scaled = a / total;
  std::vector<array> rows;
  for (int k = 0; k < 20; ++k) rows.push_back(scaled(k, all) - scaled(19 - k, all));
  const array h = stack(rows);
  EXPECT_LE(launches_of(h), 2u);
  float s = 0;
  for (const float v : x.values) s += v;
  const std::vector<float> got = h.to_vector<float>();
  for (int i = 0; i < 20; ++i)
    for (int k = 0; k < 8; ++k)
      EXPECT_NEAR(got[static_cast<std::size_t>(8 * i + k)],
                  (plain<float>(x)(i, k) - plain<float>(x)(19 - i, k)) / s, 1e-6);
}

TEST_F(batch, operands_that_read_different_arrays_stay_as_they_are) {
  std::vector<array> arrays, next;
  std::vector<int> want;
  for (int k = 0; k < 20; ++k) {
    arrays.push_back(array{k, k + 1});
    want.insert(want.end(), {2 * k, 2 * k + 2});
  }
  for (const array& a : arrays) next.push_back(a * 2);
  const array h = concat(next);
  EXPECT_NE(explain(h).find("not batched: they read different arrays"), std::string::npos);
  EXPECT_TRUE(equals(h, want));
  array x = arrays[0];  // each made of the one before
  std::vector<array> chain;
  for (int k = 0; k < 20; ++k) chain.push_back(x = x * 2 + 1);
  std::vector<int> powers;
  for (int k = 1; k <= 20; ++k) powers.insert(powers.end(), {(1 << k) - 1, (2 << k) - 1});
  EXPECT_TRUE(equals(concat(chain), powers));
}

TEST_F(batch, explain_says_what_was_batched) {
  const array a = arange(100);
  std::vector<array> parts;
  for (int k = 0; k < 30; ++k) parts.push_back(a(range(3 * k, 3 * k + 2)));
  EXPECT_NE(explain(concat(parts)).find("join of 30 at "), std::string::npos);
  EXPECT_NE(explain(concat(parts)).find("all batched"), std::string::npos);
  parts.insert(parts.begin() + 20, a(range(0, 7)));
  EXPECT_NE(explain(concat(parts)).find("20 batched, 12 left to join"), std::string::npos);
  const array small = concat({a(range(0, 2)), a(range(5, 7)), a(range(1, 3))});
  EXPECT_EQ(explain(small).find("batched"), std::string::npos);
}

TEST_F(batch, what_would_take_much_memory_or_time_at_once_stays_apart) {
  const array x = zeros({20, 1 << 13}, f32) + 1, y = zeros({1 << 13}, f32) + 2, z = zeros({1 << 20}, f32) + 1;
  eval(x, y, z);
  std::vector<array> products, totals;
  for (int k = 0; k < 20; ++k) {
    products.push_back(cumsum(sum(x(k, all)(newaxis, all) * y(all, newaxis), 1) + k, 0));
    totals.push_back(sum(where(z > static_cast<float>(k) * 0.25f, z, 0.0f)));
  }
  EXPECT_NE(explain(stack(products)).find("too much memory"), std::string::npos);  // 20 times 256 MiB
  const array counted_apart = stack(totals);
  EXPECT_NE(explain(counted_apart).find("each reads the same large array"), std::string::npos);
  std::vector<float> want(20);
  for (std::size_t k = 0; k < 20; ++k) want[k] = k < 4 ? 1 << 20 : 0;
  EXPECT_TRUE(equals(counted_apart, want));
}

TEST_F(batch, empty_operands) {
  const array a = arange(20);
  std::vector<array> parts, nothing;
  for (int k = 0; k < 20; ++k) {
    parts.push_back(a(range(k, k + k % 2)));
    nothing.push_back(a(range(k, k)));
  }
  EXPECT_TRUE(equals(concat(parts), std::vector<std::int64_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}));
  EXPECT_EQ(concat(nothing).size(), 0);
  const array none = zeros({30, 0}, f32);
  std::vector<array> rows;
  for (int k = 0; k < 30; ++k) rows.push_back(none(k, all) + k);
  const array h = stack(rows);
  eval(h);
  EXPECT_EQ(h.extents(), (shape{30, 0}));
}

TEST_F(batch, joins_inside_of_other_work) {
  const plain<float> x = scattered_values<float>({40, 3});
  const array a = x.made();
  array h = a(0, all)(newaxis, all);
  for (int k = 1; k < 40; ++k) h = concat({h, a(k * 7 % 40, all)(newaxis, all) * 0.5f});
  const array mirrored = h - h(backwards), total = max(h, 0);
  EXPECT_LE(counted([&] { eval(mirrored, total, h); }).launches, 2u);
  const auto at = [&](auto i, auto k) { return plain<float>(x)(i * 7 % 40, k) * (i == 0 ? 1 : 0.5f); };
  EXPECT_TRUE(equals(h, rows_of<float>(40, 3, at)));
  EXPECT_TRUE(equals(mirrored, rows_of<float>(40, 3, [&](auto i, auto k) { return at(i, k) - at(39 - i, k); })));
  plain<float> most({3});
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 40; ++i) most(k) = std::max(most(k), at(i, k));
  EXPECT_TRUE(equals(total, most));
}

}  // namespace
