// tensordot, inner, dot of many axes and einsum against plain loops over every axis; what goes to a library, and what
// fuses; formulas that can't be read.
#include "dsl/einsum.hpp"
#include "tests/backend/plain_product.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

struct row {
  const char* formula;   ///< as einsum gets it
  const char* explicit_; ///< as plain_sum does; null: the same
  std::vector<shape> shapes;
};

const row formulas[] = {
    {"ij,jk->ik", nullptr, {{40, 50}, {50, 60}}},
    {"ij,jk", "ij,jk->ik", {{40, 50}, {50, 60}}},
    {"ba,cb", "ba,cb->ac", {{50, 40}, {60, 50}}},
    {"ij,kj->ik", nullptr, {{40, 50}, {60, 50}}},
    {"ji,jk->ki", nullptr, {{50, 40}, {50, 60}}},
    {"bij,bjk->bik", nullptr, {{5, 20, 30}, {5, 30, 25}}},
    {"bhqd,bhkd->bhqk", nullptr, {{2, 3, 20, 16}, {2, 3, 24, 16}}},
    {"bqhd,bkhd->bhqk", nullptr, {{2, 20, 3, 16}, {2, 24, 3, 16}}},
    {"abc,bcd->ad", nullptr, {{20, 6, 10}, {6, 10, 30}}},
    {"abc,cbd->ad", nullptr, {{20, 6, 10}, {10, 6, 30}}},
    {"abc,cd->abd", nullptr, {{8, 10, 20}, {20, 30}}},
    {"abc,cd->dba", nullptr, {{8, 10, 20}, {20, 30}}},
    {"i,i->", nullptr, {{70}, {70}}},
    {"i,j->ij", nullptr, {{30}, {40}}},
    {"i,j->ji", nullptr, {{30}, {40}}},
    {"ij->ji", nullptr, {{30, 40}}},
    {"ij", "ij->ij", {{3, 4}}},
    {"ba", "ba->ab", {{3, 4}}},
    {"ij->", nullptr, {{30, 40}}},
    {"ij->j", nullptr, {{30, 40}}},
    {"ii->i", nullptr, {{30, 30}}},
    {"ii", "ii->", {{30, 30}}},
    {"iji->j", nullptr, {{5, 6, 5}}},
    {"iij,jk->ik", nullptr, {{40, 40, 30}, {30, 50}}},
    {"ij,ij->", nullptr, {{30, 40}, {30, 40}}},
    {"ij,ij->ij", nullptr, {{30, 40}, {30, 40}}},
    {"ij,j->i", nullptr, {{30, 40}, {40}}},
    {"ij,k->i", nullptr, {{30, 40}, {5}}},
    {"ij,jk,kl->il", nullptr, {{20, 30}, {30, 25}, {25, 10}}},
    {"ij,jk,kl", "ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 6}}},
    {"i,ij,j->", nullptr, {{20}, {20, 30}, {30}}},
    {"ai,bi,ci->abc", nullptr, {{6, 20}, {7, 20}, {8, 20}}},
    {"ij,jk->ik", nullptr, {{40, 1}, {50, 60}}},
    {"bij,bjk->bik", nullptr, {{1, 40, 30}, {4, 30, 20}}},
    {"ij,jk->ik", nullptr, {{40, 0}, {0, 30}}},
    {" i j , j k -> i k ", "ij,jk->ik", {{4, 5}, {5, 6}}},
    {"Zz,zA->ZA", nullptr, {{40, 50}, {50, 60}}},
    {"zA,ZA", "zA,ZA->Zz", {{4, 5}, {6, 5}}},
    {"...ij,...jk->...ik", "abij,bjk->abik", {{3, 4, 9, 12}, {4, 12, 10}}},
    {"...ij,...jk", "abij,bjk->abik", {{3, 4, 9, 12}, {4, 12, 10}}},
    {"i...,...->...i", "iab,b->abi", {{3, 4, 5}, {5}}},
    {"...i->...", "abi->ab", {{3, 4, 5}}},
    {"...", "ab->ab", {{3, 4}}},
    {"i...j->j...", "iabj->jab", {{3, 4, 5, 6}}},
    {",ij->ij", nullptr, {{}, {3, 4}}},
};

TEST(einsum, formulas_of_every_kind) {
  std::vector<dtype> types{f32, f16};
  if (executor == "interpreter") types.insert(types.end(), {i32, c64, boolean});  // others compile for each
  for (const dtype type : types)
    for (const row& r : formulas) {
      std::vector<host_array> x;
      std::vector<array> operands;
      for (const shape& extents : r.shapes) {
        x.push_back(small_numbers(type, extents, 31 + static_cast<std::uint32_t>(x.size())));
        operands.push_back(laid_out(x.back(), x.size() % 2 == 0 ? layout::strided : layout::evaluated, 0));
      }
      const host_array want = plain_sum(r.explicit_ ? r.explicit_ : r.formula, x, type);
      // Products of three operands are rounded in between.
      const tolerance how = type == f16 && x.size() > 2 ? tolerance{2e-2, 2, false} : tolerance{1e-6, 0, false};
      for (const bool libraries : {true, false}) {
        const with_libraries use(libraries);
        const array got = einsum(r.formula, operands);
        EXPECT_EQ(got.type(), type) << r.formula;
        EXPECT_TRUE(equals(got, want, how)) << r.formula << ", " << to_string(type) << (libraries ? ", library" : "");
      }
    }
}

TEST(einsum, contractions_are_products_of_matrices) {
  if (!has_library()) {
    std::puts("no BLAS is installed: launches of library calls aren't checked");
    return;
  }
  const array x = ones({4, 60, 70}, f32) * 1.5f, y = ones({4, 70, 50}, f32) * 1.5f;
  eval(x, y);
  const auto launches = [](const array& z) { return counted([&] { eval(z); }).launches; };
  EXPECT_EQ(launches(einsum("bij,bjk->bik", {x, y})), 1u);
  EXPECT_EQ(launches(einsum("bij,cjk->bcik", {x, y(range(0, 2))})), 3u) << "y is transposed before, the result after";
  EXPECT_EQ(launches(einsum("bij,bkj->bik", {x, swapaxes(y, 1, 2)})), 1u);
  EXPECT_EQ(launches(einsum("bij,jk->bik", {x, y(1)})), 1u) << "one tall matrix";
  EXPECT_EQ(launches(tensordot(x, y(0), 1)), 1u);
  EXPECT_EQ(launches(tensordot(x, x, {1, 2}, {1, 2})), 1u) << "rows of several axes lie along memory";
  EXPECT_NE(explain(tensordot(x, y(0), 1)).find("gemm f32, [240, 70] x [70, 50]"), std::string::npos);
}

TEST(einsum, sums_without_products_of_matrices_fuse) {
  const array x = ones({60, 70}, f32) * 1.5f, v = ones({70}, f32) * 1.5f;
  eval(x, v);
  const auto launches = [](const array& z) { return counted([&] { eval(z); }).launches; };
  EXPECT_EQ(launches(einsum("ij,j->i", {x * 2, v + 1}) * 3), 1u);
  EXPECT_EQ(launches(einsum("ij,ij->i", {x * 2, x + 1}) * 3), 1u);
  EXPECT_EQ(launches(einsum("i,j->ij", {v * 2, v + 1}) * 3), 1u);
}

TEST(einsum, tensordot_over_any_axes) {
  struct dots {
    shape a, b;
    axes of_a, of_b;
    const char* formula;
  };
  const dots table[] = {
      {{20, 30, 4}, {30, 20, 5}, {1, 0}, {0, 1}, "ijk,jil->kl"},
      {{6, 7, 8}, {9, 8, 7}, {-1, 1}, {1, -1}, "ijk,lkj->il"},
      {{40, 50}, {60, 50}, 1, 1, "ij,kj->ik"},
      {{3, 4}, {5, 6}, axes({}), axes({}), "ij,kl->ijkl"},
      {{3, 4}, {3, 4}, {0, 1}, {0, 1}, "ij,ij->"},
      {{0, 4}, {4, 5}, 1, 0, "ij,jk->ik"},
  };
  for (const dots& d : table) {
    const host_array a = small_numbers(f32, d.a, 41), b = small_numbers(f32, d.b, 42);
    EXPECT_TRUE(equals(tensordot(a.to_device(), b.to_device(), d.of_a, d.of_b), plain_sum(d.formula, {a, b}, f32)))
        << d.formula;
  }
  const host_array a = small_numbers(f64, {5, 6, 7}, 43), b = small_numbers(f64, {6, 7, 8}, 44);
  const array x = a.to_device(), y = b.to_device();
  EXPECT_TRUE(equals(tensordot(x, y), plain_sum("ijk,jkl->il", {a, b}, f64)));
  EXPECT_EQ(tensordot(x, y, 0).extents(), (shape{5, 6, 7, 6, 7, 8}));
}

TEST(einsum, inner_and_dot_of_many_axes) {
  const host_array a = small_numbers(f32, {3, 20, 40}, 45), b = small_numbers(f32, {4, 40, 30}, 46),
                   c = small_numbers(f32, {2, 35, 40}, 47), v = small_numbers(f32, {40}, 48);
  const array x = a.to_device(), y = b.to_device(), z = c.to_device(), w = v.to_device();
  EXPECT_TRUE(equals(dot(x, y), plain_sum("aij,bjk->aibk", {a, b}, f32)));
  EXPECT_TRUE(equals(dot(w, y), plain_sum("j,bjk->bk", {v, b}, f32)));
  EXPECT_TRUE(equals(dot(x, w), plain_sum("aij,j->ai", {a, v}, f32)));
  EXPECT_TRUE(equals(inner(x, z), plain_sum("aij,bkj->aibk", {a, c}, f32)));
  EXPECT_TRUE(equals(inner(w, w), plain_sum("i,i->", {v, v}, f32)));
  EXPECT_TRUE(equals(inner(x, array(2.0f)), plain_sum("aij,->aij", {a, host_array(std::vector<float>{2}, {})}, f32)));
}

TEST(einsum, three_matrices_are_multiplied_in_the_cheaper_order) {
  const array a = ones({400, 8}, f32), b = ones({8, 300}, f32), c = ones({300, 6}, f32);
  const std::string text = explain(einsum("ij,jk,kl->il", {a, b, c}));
  EXPECT_EQ(text.find("[400, 300]"), std::string::npos) << text;
}

TEST(einsum, formulas_that_cannot_be_read) {
  const array x = ones({3, 4}), y = ones({4, 5});
  const auto fails = [&](const char* formula, std::initializer_list<std::string> words) {
    EXPECT_TRUE(throws<type_error>([&] { einsum(formula, {x, y}); }, words)) << formula;
  };
  fails("ij,jk->ik->", {"einsum", "position 9", "einsum_test.cpp", "hint"});
  fails("i1,jk", {"position 1", "'1' can't stand here"});
  fails("ij.,jk", {"'.' can't stand here"});
  fails("ij,jk-ik", {"'-' can't stand here"});
  fails("......ij,jk", {"\"...\" stands twice"});
  fails("ij,jk->iz", {"the result has 'z'"});
  fails("ij,jk->ii", {"'i' stands twice in the result"});
  fails("ij", {"1 term(s)", "2 operand(s)"});
  fails("ij,jk,kl", {"3 term(s)"});
  EXPECT_TRUE(throws<type_error>([&] { einsum("...j,jk->k", {ones({2, 3, 4}), y}); }, {"no \"...\""}));
  EXPECT_TRUE(throws<type_error>([] { einsum("", std::span<const array>()); }, {"no operands"}));
  EXPECT_TRUE(throws<type_error>([&] { einsum("ij,jk", {x.astype(i64), y.astype(u64)}); }, {"no dtype holds"}));
}

TEST(einsum, operands_that_do_not_fit) {
  const array x = ones({3, 4}), y = ones({4, 5});
  EXPECT_TRUE(throws<shape_error>([&] { einsum("ij,ik->jk", {x, y}); }, {"'i' has 3 elements, and 4 in operand 1"}));
  EXPECT_TRUE(throws<shape_error>([&] { einsum("ijk,jk", {x, y}); }, {"operand 0", "[3, 4]", "names 3 axes"}));
  EXPECT_TRUE(throws<shape_error>([&] { einsum("i,jk", {x, y}); }, {"names 1 axes", "hint"}));
  EXPECT_TRUE(throws<shape_error>([&] { einsum("ii", {x}); }, {"'i'"}));
  EXPECT_TRUE(throws<shape_error>([&] { tensordot(x, y); }, {"tensordot", "[3, 4]", "[4, 5]", "3", "einsum_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { tensordot(x, y, 3); }, {"don't both have 3 axes"}));
  EXPECT_TRUE(throws<shape_error>([&] { tensordot(x, y, {0, 1}, 0); }, {"2 axes of the first", "1 of the second"}));
  EXPECT_TRUE(throws<shape_error>([&] { tensordot(x, y, 2, 0); }, {"axis 2"}));
  EXPECT_TRUE(throws<shape_error>([&] { inner(x, y); }, {"inner", "[3, 4]", "[4, 5]"}));
}

}  // namespace
