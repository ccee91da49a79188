// Fusing: which pending values are written to memory, and which of them share a launch.
#pragma once

#include "jit/engine.hpp"
#include "jit/graph.hpp"

#include <span>
#include <string>
#include <vector>

namespace sinter::jit {

/// Why a value is written to memory although nobody asked for it.
enum class cut_reason : std::uint8_t { operations, inputs, recompute, reduction, options };
std::string_view to_string(cut_reason r);

struct cut {
  const node* at;
  cut_reason why;
};

/// One launch: outputs of one shape that need only what earlier levels stored.
struct group {
  std::vector<node*> outputs;
  std::uint32_t level = 0;
};

/// Reused from one evaluation to the next, so that a warm one allocates nothing: only groups()[..) are meant.
struct plan {
  std::vector<cut> cuts;
  std::span<group> groups() { return {pool.data(), count}; }  ///< in launch order
  std::span<const group> groups() const { return {pool.data(), count}; }
  group& add_group(std::uint32_t level) {
    if (count == pool.size()) pool.emplace_back();
    pool[count].outputs.clear();
    pool[count].level = level;
    return pool[count++];
  }
  void clear() {
    cuts.clear();
    count = 0;
  }

  std::vector<group> pool;
  std::size_t count = 0;
};

/// Plans the evaluation of `roots` (those already computed are left out). Iterative: graphs of any depth.
void fuse(std::span<node* const> roots, const options& how, plan& out);

}  // namespace sinter::jit
