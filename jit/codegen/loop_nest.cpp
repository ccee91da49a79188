#include "jit/codegen/loop_nest.hpp"

namespace sinter::jit {

loop_nest::loop_nest(const kernel& k) : k_(k), number_(k.body.size(), none), around_(k.body.size(), none) {
  std::uint32_t open = none;
  for (std::uint32_t v = 0; v < k.body.size(); ++v) {
    const op code = k.body[v].code;
    if (code == op::end) {
      number_[v] = open;
      loops_[open].end = v;
      open = loops_[open].parent;
    }
    around_[v] = open;
    if (code == op::loop) {
      const auto number = static_cast<std::uint32_t>(loops_.size());
      loops_.push_back({v, v, open, {}, {}, none});
      if (open == none) tops_.push_back(number);
      open = number_[v] = number;
    }
    if (is_reduction(code)) loops_[open].reductions.push_back(v);
    if (is_scan(code)) loops_[open].scans.push_back(v);
    if (code == op::iterate) loops_[open].iterate = v;
  }
}

bool loop_nest::form_varies(std::uint32_t f, std::uint32_t lane_dim, const std::vector<bool>& varies) const {
  const form& x = k_.forms[f];
  for (std::uint32_t t = x.first; t < x.first + x.count; ++t) {
    const term& s = k_.terms[t];
    if (s.is_dim() ? s.atom == lane_dim : varies[s.atom & ~term::computed]) return true;
  }
  return false;
}

loop_nest::lane_levels loop_nest::along(bool columns) const {
  lane_levels out{std::vector<bool>(k_.body.size()), std::vector<bool>(k_.body.size())};
  std::uint32_t top = none;  // the top loop around
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    const inst& i = k_.body[v];
    if (i.code == op::loop && around_[v] == none) top = number_[v];
    const std::uint32_t lane_dim = columns ? k_.domain_rank - 1 : top == none ? none : innermost(loops_[top]);
    bool varies = false;
    each_operand(v, [&](std::uint32_t x) { varies = varies || out.varies[x]; });
    if (i.code == op::index) varies = varies || form_varies(i.attr, lane_dim, out.varies);
    if (i.code == op::load) varies = varies || form_varies(k_.accesses[i.attr].form, lane_dim, out.varies);
    const bool direct = around_[v] == top && top != none;
    bool inside = varies || i.code == op::store || i.code == op::atomic;
    if (direct && (is_reduction(i.code) || is_scan(i.code))) {  // each lane adds to it
      inside = true;
      varies = columns || is_scan(i.code);
    }
    out.inside[v] = inside;
    out.varies[v] = varies;
    if (i.code == op::end && around_[v] == none) top = none;
    if (i.code != op::end || around_[v] == none) continue;
    // A nested loop is one piece of text: all of it stands with what varies most.
    const loop& l = loops_[number_[v]];
    for (std::uint32_t x = l.begin; x < v; ++x) inside = inside || out.inside[x];
    for (std::uint32_t x = l.begin; x <= v; ++x) out.inside[x] = inside;
    for (const std::uint32_t r : l.reductions) out.varies[r] = inside;
    if (l.iterate != none) out.varies[l.iterate] = inside;
  }
  return out;
}

}  // namespace sinter::jit
