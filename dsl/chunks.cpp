// for_each_chunk: three chunks at a time, one copied in, one computed, one copied out.
#include "dsl/transfer.hpp"

#include "dsl/transfer_internal.hpp"
#include "jit/engine.hpp"
#include "jit/faults.hpp"
#include "jit/transfers.hpp"
#include "runtime/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace sinter {

namespace {

class chunk_pipeline {
 public:
  chunk_pipeline(std::span<const const_host_memory> from, std::span<const host_memory> to, const chunk_calls& calls,
                 const chunking& how, const place& at)
      : from_(from), to_(to), calls_(calls), at_(at), where_(runtime::default_device()), rows_(common_rows()),
        step_(rows_of_chunk(how)) {}

  void run() {
    if (rows_ == 0) return;
    arriving next = start(0);
    for (std::int64_t first = 0; first < rows_; first += step_) {
      arriving now = std::move(next);
      // First, so that it is copied while this one is computed.
      if (first + step_ < rows_) next = start(first + step_);
      compute(now, first, std::min(first + step_, rows_));
      while (leaving_.size() > 1) finish_oldest();
    }
    while (!leaving_.empty()) finish_oldest();
    jit::throw_on_fault(where_);
  }

 private:
  struct arriving {
    std::vector<array> inputs;
    std::vector<jit::started_copy> copies;
  };
  struct results_leaving {
    std::int64_t last;
    std::vector<jit::started_copy> copies;
  };

  std::int64_t common_rows() const {
    std::int64_t rows = -1;
    const auto meet = [&](const const_host_memory& v, const char* what, std::size_t k) {
      if (v.extents().rank() == 0)
        throw_shape_error(fmt::format("for_each_chunk: {} {} has no axis to cut", what, k), at_);
      if (rows >= 0 && v.extents()[0] != rows)
        throw_shape_error(
            fmt::format("for_each_chunk: {} {} has {} rows, others have {}", what, k, v.extents()[0], rows), at_);
      rows = v.extents()[0];
    };
    for (std::size_t k = 0; k < from_.size(); ++k) meet(from_[k], "input", k);
    for (std::size_t k = 0; k < to_.size(); ++k) meet(to_[k], "output", k);
    if (rows < 0) throw_shape_error("for_each_chunk: there are neither inputs nor outputs", at_);
    return rows;
  }

  std::int64_t rows_of_chunk(const chunking& how) const {
    constexpr std::int64_t usual_bytes = std::int64_t{16} << 20;
    if (how.rows < 0) throw_shape_error(fmt::format("for_each_chunk: chunks of {} rows", how.rows), at_);
    if (how.rows > 0) return how.rows;
    std::int64_t widest = 1;  // bytes of a row
    const auto meet = [&](const const_host_memory& v) {
      std::int64_t bytes = size_of(v.type());
      for (int k = 1; k < v.extents().rank(); ++k) bytes *= v.extents()[k];
      widest = std::max(widest, bytes);
    };
    for (const const_host_memory& v : from_) meet(v);
    for (const host_memory& v : to_) meet(v);
    return std::max<std::int64_t>(usual_bytes / widest, 1);
  }

  arriving start(std::int64_t first) {
    arriving chunk;
    for (const const_host_memory& v : from_) {
      const const_host_memory part = v.rows(first, std::min(first + step_, rows_));
      jit::node_ref n = jit::start_copy_in(where_, region_of(part), part.type(), part.extents(), at_,
                                           chunk.copies.emplace_back());
      chunk.inputs.push_back(array::adopt(n.leave()));
    }
    return chunk;
  }

  void compute(arriving& chunk, std::int64_t first, std::int64_t last) {
    for (jit::started_copy& c : chunk.copies)
      if (c.copy) c.copy->join();
    std::vector<array> results = calls_.run(calls_.body, chunk.inputs);
    check(results, first, last);
    std::vector<jit::node*> roots;
    for (const array& r : results) roots.push_back(r.node());
    jit::evaluate(roots, at_);
    leaving_.push_back({last, {}});
    for (std::size_t k = 0; k < to_.size(); ++k)
      leaving_.back().copies.push_back(
          jit::start_copy_out(results[k].node(), region_of(to_[k].rows(first, last)), at_));
  }

  void check(std::span<const array> results, std::int64_t first, std::int64_t last) const {
    if (results.size() != to_.size())
      throw_shape_error(fmt::format("for_each_chunk: {} results for {} outputs", results.size(), to_.size()), at_);
    for (std::size_t k = 0; k < to_.size(); ++k) {
      const shape want = to_[k].rows(first, last).extents();
      const dtype type = results[k].type();
      if (type != to_[k].type() && !(type == boolean && to_[k].type() == u8))
        throw_type_error(fmt::format("for_each_chunk: a result of {} for output {} of {}", to_string(type), k,
                                     to_string(to_[k].type())),
                         at_, fmt::format("x.astype({}) converts", to_string(to_[k].type())));
      if (results[k].extents() != want)
        throw_shape_error(
            fmt::format("for_each_chunk: a result of shape {} for rows [{}, {}) of output {}, of shape {}",
                        to_string(results[k].extents()), first, last, k, to_string(want)),
            at_);
    }
  }

  void finish_oldest() {
    for (jit::started_copy& c : leaving_.front().copies)
      if (c.copy) c.copy->wait();
    const std::int64_t last = leaving_.front().last;
    leaving_.pop_front();
    calls_.tell(calls_.progress, last, rows_);
  }

  const std::span<const const_host_memory> from_;
  const std::span<const host_memory> to_;
  const chunk_calls& calls_;
  const place& at_;
  runtime::device& where_;
  const std::int64_t rows_, step_;
  std::deque<results_leaving> leaving_;
};

}  // namespace

void run_chunks(std::span<const const_host_memory> from, std::span<const host_memory> to, const chunk_calls& calls,
                const chunking& how, const place& at) {
  chunk_pipeline(from, to, calls, how, at).run();
}

}  // namespace sinter
