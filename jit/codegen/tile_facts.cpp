#include "jit/codegen/tile_facts.hpp"

#include <algorithm>

namespace sinter::jit {

std::vector<std::uint32_t> domain_dims(const kernel& k, const loop_nest& nest) {
  std::vector<std::uint32_t> dims(k.body.size());
  const auto of_form = [&](std::uint32_t number) {
    std::uint32_t mask = 0;
    const form& f = k.forms[number];
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
      if (k.terms[t].is_dim() && k.terms[t].atom < k.domain_rank) mask |= 1u << k.terms[t].atom;
    return mask;
  };
  for (std::uint32_t v = 0; v < k.body.size(); ++v) {
    const inst& x = k.body[v];
    nest.each_operand(v, [&](std::uint32_t operand) { dims[v] |= dims[operand]; });
    if (x.code == op::index) dims[v] |= of_form(x.attr);
    if (x.code == op::load || x.code == op::store || x.code == op::atomic) dims[v] |= of_form(k.accesses[x.attr].form);
  }
  return dims;
}

tile_facts::tile_facts(const kernel& k, const loop_nest& nest, std::uint8_t dim)
    : top_(nest[nest.tops()[0]]), own_(k.body.size()) {
  const std::uint32_t column = 1u << (k.domain_rank - 1), row = dim == result_tile::none ? 0 : 1u << dim;
  for (const std::uint32_t mask : domain_dims(k, nest))
    sides_.push_back(mask & row ? (mask & column ? tile_side::both : tile_side::row)
                                : mask & column ? tile_side::column : tile_side::none);
  const tile_side whole = row == 0 ? tile_side::column : tile_side::both;
  for (std::uint32_t v = top_.begin + 1; v < top_.end; ++v) {
    const op code = k.body[v].code;
    // Counters and numbers are cheaper to have again than to fetch.
    own_[v] = sides_[v] == whole || is_reduction(code) || code == op::index || code == op::scalar;
  }
  find_uses(k, nest);
}

void tile_facts::find_uses(const kernel& k, const loop_nest& nest) {
  std::vector<bool> used(k.body.size());
  for (std::uint32_t v = top_.begin + 1; v < top_.end; ++v)
    if (own_[v]) nest.each_operand(v, [&](std::uint32_t x) { used[x] = true; });
  for (std::uint32_t v = 0; v < top_.end; ++v) {
    if (!used[v] || own_[v] || k.body[v].code == op::scalar) continue;
    if (in_loop(v)) staged_.push_back(v);
    else if (sides_[v] == tile_side::both) holds_tiles_ = true;
    else if (sides_[v] != tile_side::none) held_.push_back(v);
  }
}

bool sums_in_parts(const inst& reduction) { return reduction.code == op::reduce_sum && is_real(reduction.type); }

}  // namespace sinter::jit
