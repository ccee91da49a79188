// cuBLASLt: products of matrices with what follows them (product_end). Declared here as far as it is used, like cuBLAS.
//
// Its ramp loses NaN in some of its algorithms and keeps it in others, and nothing tells which. So an algorithm is
// tried once, on a product of NaN, before it is used for maximum(), which keeps NaN, or for fmax(), which doesn't.
#include "jit/library/gemm.hpp"
#include "jit/library/plan_cache.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"
#include "runtime/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>

namespace sinter::jit {

namespace {

struct lt_context;
struct lt_operation;
struct lt_layout;
struct lt_preference;

// cublasOperation_t; attributes of cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t;
// cublasLtEpilogue_t.
constexpr int no_transposition = 0, transposition = 1, conjugate_transposition = 2;
constexpr int of_operation_a = 3, of_operation_b = 4, of_epilogue = 7, of_bias = 8;
constexpr int of_batch_count = 5, of_batch_step = 6;
constexpr int of_workspace = 1, of_reductions = 3, of_alignments[] = {5, 6, 7, 8};
constexpr int nothing_more = 1, with_ramp = 2, with_bias = 4;

// Sums that are cut into pieces are put together in the type they are summed in: not rounded in between.
constexpr std::uint32_t exact_reductions = 1 | 2;
constexpr std::size_t most_workspace = std::size_t{32} << 20;
constexpr int most_candidates = 8;
constexpr std::size_t most_plans = 256;

/// cublasLtMatmulAlgo_t, which is no business of ours, and cublasLtMatmulHeuristicResult_t.
using lt_algorithm = std::array<std::uint64_t, 8>;
struct lt_candidate {
  lt_algorithm algorithm{};
  std::size_t workspace = 0;
  int state = 0;
  float waves = 0;
  int reserved[4] = {};
};

struct cublaslt {
  cublaslt();
  runtime::library library{"cuBLASLt",
                           runtime::cuda_library_names("cublasLt", {13, 12, 11}),
                           "the CUDA toolkit's cuBLAS (Debian, Ubuntu: libcublaslt12)",
                           {"cublasLtCreate", "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic",
                            "cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", "cublasLtMatmulDescSetAttribute",
                            "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy",
                            "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceCreate",
                            "cublasLtMatmulPreferenceDestroy", "cublasLtMatmulPreferenceSetAttribute"}};
  int (*create)(lt_context**) = nullptr;
  int (*multiply)(lt_context*, lt_operation*, const void* alpha, const void* a, lt_layout*, const void* b, lt_layout*,
                  const void* beta, const void* c, lt_layout*, void* d, lt_layout*, const lt_algorithm*,
                  void* workspace, std::size_t workspace_bytes, void* stream) = nullptr;
  int (*find)(lt_context*, lt_operation*, lt_layout* a, lt_layout* b, lt_layout* c, lt_layout* d, lt_preference*,
              int wanted, lt_candidate*, int* found) = nullptr;
  int (*make_operation)(lt_operation**, int compute, int factor) = nullptr;
  int (*drop_operation)(lt_operation*) = nullptr;
  int (*set_operation)(lt_operation*, int, const void*, std::size_t) = nullptr;
  int (*make_layout)(lt_layout**, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride) = nullptr;
  int (*drop_layout)(lt_layout*) = nullptr;
  int (*set_layout)(lt_layout*, int, const void*, std::size_t) = nullptr;
  int (*make_preference)(lt_preference**) = nullptr;
  int (*drop_preference)(lt_preference*) = nullptr;
  int (*set_preference)(lt_preference*, int, const void*, std::size_t) = nullptr;
  const char* (*status_text)(int) = nullptr;

  std::recursive_mutex guard;
  std::map<runtime::device*, lt_context*> contexts;
  std::map<lt_algorithm, bool> keeps_nan;  ///< of those that were tried
};

cublaslt::cublaslt() {
  const auto get = [&]<class F>(F*& f, const char* name) { f = library.find<F>(name); };
  get(create, "cublasLtCreate");
  get(multiply, "cublasLtMatmul");
  get(find, "cublasLtMatmulAlgoGetHeuristic");
  get(make_operation, "cublasLtMatmulDescCreate");
  get(drop_operation, "cublasLtMatmulDescDestroy");
  get(set_operation, "cublasLtMatmulDescSetAttribute");
  get(make_layout, "cublasLtMatrixLayoutCreate");
  get(drop_layout, "cublasLtMatrixLayoutDestroy");
  get(set_layout, "cublasLtMatrixLayoutSetAttribute");
  get(make_preference, "cublasLtMatmulPreferenceCreate");
  get(drop_preference, "cublasLtMatmulPreferenceDestroy");
  get(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  get(status_text, "cublasLtGetStatusString");
}

cublaslt& opened() {
  static cublaslt* const l = new cublaslt;  // never destroyed: used until the very end
  return *l;
}

/// The device's context; null: there is none. The guard is held.
lt_context* context_of(cublaslt& l, runtime::device& where) {
  lt_context*& c = l.contexts[&where];
  if (!c && l.create(&c) != 0) c = nullptr;
  return c;
}

/// What a way to compute products depends on. Offsets don't count.
struct plan_key {
  runtime::device* where;
  dtype type;
  cuda_number_type numbers;
  blas_product product;
  bool has_addend, has_bias;
  product_end::ramp_kind ramp;
  std::uint32_t alignment;  ///< of all that is read and written, in bytes: a power of two, at most 16

  friend bool operator==(const plan_key& a, const plan_key& b) {
    return a.where == b.where && a.type == b.type && a.numbers.compute == b.numbers.compute && a.product == b.product &&
           a.has_addend == b.has_addend && a.has_bias == b.has_bias && a.ramp == b.ramp && a.alignment == b.alignment;
  }
};

plan_key key_of(const blas_product& p, const product_end& end, dtype type, runtime::device& where,
                std::uint32_t alignment) {
  plan_key key{&where, type, cuda_type_of(type), p, end.has_addend, end.has_bias, end.ramp, alignment};
  key.product.a.offset = key.product.b.offset = key.product.c.offset = 0;
  return key;
}

/// cuBLASLt's descriptions of a product, by columns: b's transpose times a's gives the result's.
class lt_plan {
 public:
  lt_plan(cublaslt& l, const plan_key& key) : l_(l), key_(key) {
    const blas_product& p = key.product;
    l_.make_operation(&operation_, key.numbers.compute, key.numbers.factor);
    const int on_b = operation_on(p.b), on_a = operation_on(p.a);
    l_.set_operation(operation_, of_operation_a, &on_b, sizeof on_b);
    l_.set_operation(operation_, of_operation_b, &on_a, sizeof on_a);
    const int epilogue = (key.ramp != product_end::ramp_kind::none ? with_ramp : 0) | (key.has_bias ? with_bias : 0);
    const int which = epilogue != 0 ? epilogue : nothing_more;
    l_.set_operation(operation_, of_epilogue, &which, sizeof which);
    first_ = layout(p.b, p.m, p.k);
    second_ = layout(p.a, p.k, p.n);
    result_ = layout(p.c, p.m, p.n);
  }
  ~lt_plan() {
    for (lt_layout* x : {first_, second_, result_}) l_.drop_layout(x);
    l_.drop_operation(operation_);
  }
  lt_plan(const lt_plan&) = delete;
  lt_plan& operator=(const lt_plan&) = delete;

  /// The ways that the library proposes, the best first.
  std::vector<lt_candidate> candidates(lt_context* context) {
    lt_preference* wishes = nullptr;
    l_.make_preference(&wishes);
    l_.set_preference(wishes, of_workspace, &most_workspace, sizeof most_workspace);
    l_.set_preference(wishes, of_reductions, &exact_reductions, sizeof exact_reductions);
    for (const int a : of_alignments) l_.set_preference(wishes, a, &key_.alignment, sizeof key_.alignment);
    const void* bias = some_address();
    if (key_.has_bias) l_.set_operation(operation_, of_bias, &bias, sizeof bias);
    std::vector<lt_candidate> all(most_candidates);
    int found = 0;
    const int status = l_.find(context, operation_, first_, second_, result_, result_, wishes, most_candidates,
                               all.data(), &found);
    l_.drop_preference(wishes);
    all.resize(status == 0 ? static_cast<std::size_t>(found) : 0);
    std::erase_if(all, [](const lt_candidate& c) { return c.state != 0; });
    return all;
  }

  struct data {
    const void *a, *b, *addend, *bias;
    void* result;
  };
  int run(lt_context* context, const lt_candidate& how, const data& d, const product_end& end, void* workspace,
          void* stream) {
    const blas_number alpha(key_.type, end.alpha), beta(key_.type, end.has_addend ? end.beta : complex128{});
    if (key_.has_bias) l_.set_operation(operation_, of_bias, &d.bias, sizeof d.bias);
    return l_.multiply(context, operation_, alpha.bytes, d.b, first_, d.a, second_, beta.bytes,
                       d.addend ? d.addend : d.result, result_, d.result, result_, &how.algorithm, workspace,
                       how.workspace, stream);
  }

  lt_candidate chosen;
  bool can = false;

 private:
  /// For questions that don't read it.
  static const void* some_address() { return reinterpret_cast<const void*>(std::uintptr_t{256}); }

  static int operation_on(const blas_matrix& x) {
    return !x.transposed ? no_transposition : x.conjugated ? conjugate_transposition : transposition;
  }

  /// `rows` x `columns` of the transpose, which is how it lies by columns, but where it is transposed itself.
  lt_layout* layout(const blas_matrix& x, std::int64_t rows, std::int64_t columns) const {
    if (x.transposed) std::swap(rows, columns);
    lt_layout* made = nullptr;
    l_.make_layout(&made, key_.numbers.data, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                   x.stride);
    if (key_.product.count > 1) {
      const auto count = static_cast<std::int32_t>(key_.product.count);
      l_.set_layout(made, of_batch_count, &count, sizeof count);
      l_.set_layout(made, of_batch_step, &x.next, sizeof x.next);
    }
    return made;
  }

  cublaslt& l_;
  plan_key key_;
  lt_operation* operation_ = nullptr;
  lt_layout *first_ = nullptr, *second_ = nullptr, *result_ = nullptr;
};

/// Whether NaN stays NaN in a way that has a ramp: found out by a small product of NaN that goes this way. False in
/// `known` when that can't be done.
bool keeps_nan(cublaslt& l, lt_context* context, const plan_key& key, const lt_candidate& how, bool& known) {
  known = true;
  if (const auto at = l.keeps_nan.find(how.algorithm); at != l.keeps_nan.end()) return at->second;
  constexpr std::int64_t most_rows = 256, most_depth = 4096;
  plan_key small = key;
  blas_product& p = small.product;
  p.n = std::min(p.n, most_rows), p.m = std::min(p.m, most_rows), p.k = std::min(p.k, most_depth);
  p.count = 1;
  p.a.stride = p.a.transposed ? p.n : p.k, p.b.stride = p.b.transposed ? p.k : p.m, p.c.stride = p.m;
  for (blas_matrix* x : {&p.a, &p.b, &p.c}) x->stride = (x->stride + 15) / 16 * 16, x->next = 0;
  const auto bytes = [&](const blas_matrix& x, std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>((x.transposed ? columns : rows) * x.stride * size_of(key.type));
  };
  const std::size_t sizes[] = {bytes(p.a, p.n, p.k), bytes(p.b, p.k, p.m), bytes(p.c, p.n, p.m)};
  const auto make = [&](std::size_t n) {
    return reference<runtime::buffer>(runtime::make_buffer(*key.where, std::max<std::size_t>(n, 16)));
  };
  const reference<runtime::buffer> a = make(sizes[0]), b = make(sizes[1]), c = make(sizes[2]),
                                   bias = make(static_cast<std::size_t>(p.m * size_of(key.type))),
                                   workspace = make(how.workspace);
  std::vector<std::byte> host(std::max({sizes[0], sizes[1], sizes[2]}), std::byte{0xff});  // NaN in each dtype
  key.where->copy_from_host(a->data, host.data(), sizes[0]);
  key.where->copy_from_host(b->data, host.data(), sizes[1]);
  std::ranges::fill(host, std::byte{0});
  key.where->copy_from_host(c->data, host.data(), sizes[2]);
  key.where->copy_from_host(bias->data, host.data(), static_cast<std::size_t>(p.m * size_of(key.type)));
  lt_plan plan(l, small);
  product_end end;
  end.has_addend = key.has_addend;
  end.beta = {1, 0};
  known = plan.run(context, how, {a->data, b->data, key.has_addend ? c->data : nullptr, bias->data, c->data}, end,
                   workspace->data, key.where->native_stream()) == 0;
  key.where->copy_to_host(host.data(), c->data, sizes[2]);
  if (!known) return false;
  bool all = true, none = true;
  const auto element = static_cast<std::size_t>(size_of(key.type));
  for (std::int64_t row = 0; row < p.n; ++row)
    for (std::int64_t column = 0; column < p.m; ++column) {
      const std::byte* x = host.data() + static_cast<std::size_t>(row * p.c.stride + column) * element;
      const bool zero = std::all_of(x, x + element - 1, [](std::byte y) { return y == std::byte{0}; });
      all &= !zero, none &= zero;
    }
  known = all || none;
  if (known) l.keeps_nan[how.algorithm] = all;
  return all;
}

using plans = plan_cache<plan_key, lt_plan>;

/// How to do it, perhaps not at all. The guard is held, the device's context current.
std::shared_ptr<lt_plan> plan_for(cublaslt& l, const plan_key& key) {
  static plans* const all = new plans(most_plans);
  return all->find(key, [&] {
    auto plan = std::make_shared<lt_plan>(l, key);
    lt_context* const context = context_of(l, *key.where);
    if (!context) return plan;
    for (const lt_candidate& c : plan->candidates(context)) {
      if (key.ramp != product_end::ramp_kind::none) {
        bool known = false;
        const bool keeps = keeps_nan(l, context, key, c, known);
        if (!known || keeps != (key.ramp == product_end::ramp_kind::maximum)) continue;
      }
      plan->chosen = c;
      plan->can = true;
      break;
    }
    return plan;
  });
}

std::uint32_t alignment_of(std::initializer_list<const void*> addresses, dtype type, const blas_product& p) {
  std::uintptr_t bits = 16;
  for (const void* x : addresses) bits |= reinterpret_cast<std::uintptr_t>(x);
  const auto size = static_cast<std::uintptr_t>(size_of(type));
  for (const blas_matrix* x : {&p.a, &p.b, &p.c})
    bits |= static_cast<std::uintptr_t>(x->stride) * size | static_cast<std::uintptr_t>(x->next) * size;
  return std::uint32_t{1} << std::countr_zero(bits);
}

}  // namespace

bool cublaslt_can(std::span<const blas_product> all, const product_end& end, dtype type, runtime::device& where) {
  cublaslt& l = opened();
  if (!l.library || all.empty()) return false;
  where.native_stream();
  const std::lock_guard held(l.guard);
  // What works with the least alignment works with any.
  return plan_for(l, key_of(all[0], end, type, where, static_cast<std::uint32_t>(size_of(type))))->can;
}

void start_cublaslt_products(std::span<const blas_product> all, const product_end& end, library_run& r) {
  cublaslt& l = opened();
  void* const stream = r.where.native_stream();
  const std::lock_guard held(l.guard);  // calls only ask for work
  const dtype type = r.outputs[0].type;
  const auto address = [&](const void* data, std::int64_t offset) {
    return static_cast<const std::byte*>(data) + offset * size_of(type);
  };
  const void* const bias = end.has_bias ? r.inputs.back().data : nullptr;
  for (const blas_product& p : all) {
    const lt_plan::data d{address(r.inputs[0].data, p.a.offset), address(r.inputs[1].data, p.b.offset),
                          end.has_addend ? address(r.inputs[2].data, p.c.offset) : nullptr, bias,
                          const_cast<std::byte*>(address(r.outputs[0].data, p.c.offset))};
    const std::uint32_t alignment = alignment_of({d.a, d.b, d.addend, d.bias, d.result}, type, p);
    std::shared_ptr<lt_plan> plan = plan_for(l, key_of(p, end, type, r.where, alignment));
    if (!plan->can) plan = plan_for(l, key_of(p, end, type, r.where, static_cast<std::uint32_t>(size_of(type))));
    if (!plan->can) r.fail("cublasLtMatmulAlgoGetHeuristic", "cuBLASLt knows no way to do this");
    void* const workspace = plan->chosen.workspace > 0 ? r.scratch(plan->chosen.workspace) : nullptr;
    const int status = plan->run(context_of(l, r.where), plan->chosen, d, end, workspace, stream);
    if (status != 0)
      r.fail("cublasLtMatmul", fmt::format("{} ({})", l.status_text ? l.status_text(status) : "failed", status),
             status);
  }
}

}  // namespace sinter::jit
