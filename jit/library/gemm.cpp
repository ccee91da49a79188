#include "jit/library/gemm.hpp"

#include "jit/engine.hpp"
#include "jit/loops.hpp"
#include "runtime/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sinter::jit {

namespace {

/// One axis of the stacks, which a loop goes along: how far each operand moves.
struct batch_axis {
  std::int64_t extent, a, b, c;
};

/// The leading axes of the result with their strides; those of extent 1 left out, neighbours that are as good as one
/// joined.
std::vector<batch_axis> batch_axes(const memory_layout& a, const memory_layout& b, const shape& result) {
  std::int64_t c_strides[max_rank];
  contiguous_strides(result, c_strides);
  const auto stride = [&](const memory_layout& x, int axis) {
    const int own = axis - result.rank() + x.extents.rank();
    return own < 0 || x.extents[own] == 1 ? 0 : x.strides[own];
  };
  std::vector<batch_axis> axes;
  for (int k = 0; k < result.rank() - 2; ++k) {
    if (result[k] == 1) continue;
    const batch_axis now{result[k], stride(a, k), stride(b, k), c_strides[k]};
    const auto follows = [&](std::int64_t outer, std::int64_t inner) { return outer == inner * now.extent; };
    const batch_axis* last = axes.empty() ? nullptr : &axes.back();
    const bool goes_on = last && follows(last->a, now.a) && follows(last->b, now.b) && follows(last->c, now.c);
    if (goes_on) axes.back() = {last->extent * now.extent, now.a, now.b, now.c};
    else axes.push_back(now);
  }
  return axes;
}

/// A stack on the left times one matrix on the right is one taller matrix, when its rows go on alike.
void join_rows(std::vector<batch_axis>& axes, std::int64_t& rows, std::int64_t row_stride, std::int64_t columns) {
  while (!axes.empty()) {
    const batch_axis& last = axes.back();
    if (last.b != 0 || last.a != rows * row_stride || last.c != rows * columns) return;
    rows *= last.extent;
    axes.pop_back();
  }
}

std::string to_text(const product_end& end, dtype type) {
  const auto number = [&](complex128 x) {
    return is_complex(type) ? fmt::format("({} + {}i)", x.re, x.im) : fmt::format("{}", x.re);
  };
  std::string text;
  if (!(end.alpha == complex128{1, 0})) text += fmt::format(", times {}", number(end.alpha));
  if (end.has_addend) text += fmt::format(", plus {} times an array", number(end.beta));
  if (end.has_bias) text += ", plus a bias";
  if (end.ramp != product_end::ramp_kind::none) text += ", at least 0";
  return text;
}

class gemm_call final : public library_call {
 public:
  gemm_call(dtype type, const shape& result, const shape& extents, std::int64_t depth, runtime::device_kind where,
            const product_end& end = {})
      : type_(type), result_(result), extents_(extents), depth_(depth), where_(where), end_(end) {}

  std::string_view name() const override {
    return where_ == runtime::device_kind::cpu ? "BLAS" : end_.is_plain() ? "cuBLAS" : "cuBLASLt";
  }
  std::string describe() const override {
    const int rank = result_.rank();
    shape stack;
    for (int k = 0; k + 2 < rank; ++k) stack.append(result_[k]);
    std::string text = fmt::format("library: {} gemm {}, [{}, {}] x [{}, {}]", name(), sinter::to_string(type_),
                                   result_[rank - 2], depth_, depth_, result_[rank - 1]);
    if (rank != 2) text += fmt::format(" for each of {}", sinter::to_string(stack));
    return text + to_text(end_, type_);
  }
  std::vector<output> outputs() const override { return {{type_, extents_}}; }

  bool takes(std::size_t k, const memory_layout& x) const override {
    const int rank = x.extents.rank();
    if (k >= 2) return k == 2 && end_.has_addend ? x.is_contiguous() : x.strides[rank - 1] == 1;
    blas_matrix m;
    return is_blas_matrix(x.extents[rank - 2], x.extents[rank - 1], x.strides[rank - 2], x.strides[rank - 1], m) &&
           m.stride <= std::numeric_limits<int>::max() && (m.transposed || !x.conjugated);
  }

  void start(library_run& r) const override {
    const std::vector<blas_product> all = plan_products(r.inputs[0].layout, r.inputs[1].layout, result_);
    if (r.where.kind() == runtime::device_kind::cpu) start_host_products(all, end_.alpha, r);
    else if (end_.is_plain()) start_cublas_products(all, end_.alpha, r);
    else start_cublaslt_products(all, end_, r);
  }

  node_ref absorb(node* result, const node* reader, std::size_t k) const override {
    product_end end = end_;
    node* addend = nullptr;
    if (is_recording_body()) return {};
    if (current_options().math == math_mode::strict) return {};  // what it does is rounded once, not at each step
    if (reader->type != type_ || reader->extents != extents_) return {};
    if (!extend(end, extents_, result_[result_.rank() - 1], *reader, k, addend)) return {};
    node* const n = result->operands()[0];
    if (!end.is_plain() && !lt_can(end, *n)) return {};
    std::vector<node*> operands(n->operands().begin(), n->operands().end());
    const bool before_bias = addend && end.has_addend != end_.has_addend;  // of what is added, the bias comes last
    if (addend) operands.insert(before_bias ? operands.begin() + 2 : operands.end(), addend);
    auto call = std::make_shared<const gemm_call>(type_, result_, extents_, depth_, where_, end);
    return std::move(record_library_call(std::move(call), operands, *n->owner, reader->site).front());
  }

 private:
  bool lt_can(const product_end& end, const node& n) const {
    if (where_ != runtime::device_kind::cuda) return false;
    const auto all = plan_products(layout_of(0, n.operands()[0]), layout_of(1, n.operands()[1]), result_);
    return cublaslt_can(all, end, type_, *n.owner);
  }

  dtype type_;
  shape result_, extents_;  ///< [.., n, m]; the same elements as they are given
  std::int64_t depth_;
  runtime::device_kind where_;
  product_end end_;
};

}  // namespace

bool is_blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                    blas_matrix& out) {
  const auto fits = [](std::int64_t outer_extent, std::int64_t inner_extent, std::int64_t outer, std::int64_t inner) {
    return (inner == 1 || inner_extent == 1) && (outer >= std::max<std::int64_t>(inner_extent, 1) || outer_extent == 1);
  };
  out.transposed = !fits(rows, columns, row_stride, column_stride);
  if (out.transposed && !fits(columns, rows, column_stride, row_stride)) return false;
  const std::int64_t least = std::max<std::int64_t>(out.transposed ? rows : columns, 1);
  const bool single = (out.transposed ? columns : rows) == 1;
  out.stride = single ? least : out.transposed ? column_stride : row_stride;
  return true;
}

std::vector<blas_product> plan_products(const memory_layout& a, const memory_layout& b, const shape& result) {
  const int rank = result.rank(), a_rank = a.extents.rank(), b_rank = b.extents.rank();
  blas_product p;
  p.n = result[rank - 2];
  p.m = result[rank - 1];
  p.k = a.extents[a_rank - 1];
  std::vector<batch_axis> axes = batch_axes(a, b, result);
  join_rows(axes, p.n, a.strides[a_rank - 2], p.m);
  SINTER_CHECK(is_blas_matrix(p.n, p.k, a.strides[a_rank - 2], a.strides[a_rank - 1], p.a) &&
               is_blas_matrix(p.k, p.m, b.strides[b_rank - 2], b.strides[b_rank - 1], p.b));
  p.a.conjugated = a.conjugated;
  p.b.conjugated = b.conjugated;
  SINTER_CHECK(p.a.transposed >= p.a.conjugated && p.b.transposed >= p.b.conjugated);
  p.c.stride = std::max<std::int64_t>(p.m, 1);
  // The longest axis is one call's; libraries don't step backwards.
  const auto by_length = [](const batch_axis& x, const batch_axis& y) {
    const bool x_steps = x.a >= 0 && x.b >= 0, y_steps = y.a >= 0 && y.b >= 0;
    return x_steps != y_steps ? y_steps : x.extent < y.extent;
  };
  if (const auto longest = std::ranges::max_element(axes, by_length);
      longest != axes.end() && longest->a >= 0 && longest->b >= 0) {
    p.count = longest->extent;
    p.a.next = longest->a, p.b.next = longest->b, p.c.next = longest->c;
    axes.erase(longest);
  }
  std::vector<blas_product> all{p};
  for (const batch_axis& axis : axes) {
    const std::size_t before = all.size();
    for (std::int64_t step = 1; step < axis.extent; ++step)
      for (std::size_t j = 0; j < before; ++j) {
        all.push_back(all[j]);
        all.back().a.offset += step * axis.a;
        all.back().b.offset += step * axis.b;
        all.back().c.offset += step * axis.c;
      }
  }
  return all;
}

std::string gemm_absence(runtime::device& d, dtype type, std::int64_t longest) {
  return d.kind() == runtime::device_kind::cuda ? cublas_absence(type, longest) : host_blas_absence(type, longest);
}

node_ref record_gemm(node* a, node* b, const shape& batch, const shape& extents, runtime::device& where,
                     const place& at) {
  shape result = batch;
  result.append(a->extents[a->extents.rank() - 2]);
  result.append(b->extents[b->extents.rank() - 1]);
  const std::int64_t depth = a->extents[a->extents.rank() - 1];
  node* const operands[] = {a, b};
  auto call = std::make_shared<const gemm_call>(a->type, result, extents, depth, where.kind());
  return std::move(record_library_call(std::move(call), operands, where, at).front());
}

}  // namespace sinter::jit
