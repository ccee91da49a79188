// Fusing: which pending values are written to memory, and which of them share a launch.
#pragma once

#include "jit/engine.hpp"
#include "jit/epoch_map.hpp"
#include "jit/graph.hpp"
#include "jit/lower.hpp"

#include <span>
#include <string>
#include <vector>

namespace sinter::jit {

/// Why a value is written to memory although nobody asked for it.
enum class cut_reason : std::uint8_t {
  operations, inputs, recompute, reduction, scan, loop, options, scatter, overlap, raw
};
std::string_view to_string(cut_reason r);

struct cut {
  const node* at;
  cut_reason why;
};

/// What lowering found out: in the next plan, `n` gets memory of its own, is stored before it is written elsewhere, or
/// because a kernel would be too large.
struct decision {
  const node* n;
  enum class what : std::uint8_t { copy, store, cut } how;
};

/// Reused from one evaluation to the next, so that a warm one allocates nothing: only groups()[..) are meant.
struct plan {
  std::vector<cut> cuts;
  std::span<group> groups() { return {pool.data(), count}; }  ///< in launch order
  std::span<const group> groups() const { return {pool.data(), count}; }
  group& add_group(std::uint32_t level) {
    if (count == pool.size()) pool.emplace_back();
    pool[count] = {std::move(pool[count].outputs), level};
    pool[count].outputs.clear();
    return pool[count++];
  }
  void clear() {
    cuts.clear();
    count = 0;
    visits = 0;
    has_pieces = false;
    in_memory.clear();
  }

  std::vector<group> pool;
  std::size_t count = 0;
  std::uint64_t visits = 0;  ///< how often making it looked at a node
  bool has_pieces = false;  ///< updates or joins are among what is computed
  epoch_map in_memory;  ///< nodes that readers of later levels find stored
};

/// Plans the evaluation of `roots` (those already computed are left out). Iterative: graphs of any depth. An update or
/// scatter takes over its base's memory when nothing else will need that once the roots are computed.
void fuse(std::span<node* const> roots, const options& how, std::span<const decision> decided, plan& out);

}  // namespace sinter::jit
