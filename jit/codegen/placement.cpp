#include "jit/codegen/placement.hpp"

#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

class placer {
 public:
  explicit placer(const kernel& k)
      : k_(k), needs_(k.body.size(), placement::once), shown_(k.body.size(), placement::once) {}

  std::vector<placement> run() {
    std::vector<std::uint32_t> open;  // loop instructions not yet closed
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      const inst& i = k_.body[v];
      needs_[v] = needed(i);
      shown_[v] = open.empty() ? needs_[v] : placement::loop;
      for (const std::uint32_t l : open) needs_[l] = std::max(needs_[l], needs_[v]);
      if (i.code == op::loop) open.push_back(v);
      if (i.code != op::end) continue;
      const std::uint32_t l = open.back();
      open.pop_back();
      for (std::uint32_t inside = l + 1; inside <= v; ++inside)  // reductions are what the whole loop needs
        if (inside == v || is_reduction(k_.body[inside].code) ||
            k_.body[inside].code == op::iterate) needs_[inside] = std::max(needs_[inside], needs_[l]);
      if (open.empty()) shown_[v] = shown_[l] = needs_[l];
    }
    return shown_;
  }

 private:
  placement needed(const inst& i) const {
    placement p = placement::once;
    const auto use = [&](value v) { if (v != value::none) p = std::max(p, needs_[raw(v)]); };
    for (const value v : i.arg) use(v);
    if (i.code == op::index) p = std::max(p, of_form(i.attr));
    if (i.code == op::load) p = std::max(p, of_form(k_.accesses[i.attr].form));
    if (i.code == op::store || i.code == op::atomic) p = placement::element;
    if (i.code == op::call && k_.calls[i.attr].kernel->runs_alone()) p = placement::element;  // it may write
    if (i.code == op::call || i.code == op::reduce_call)
      for (std::uint32_t a = 0; a < k_.calls[i.attr].count; ++a) use(k_.call_operands[k_.calls[i.attr].first + a]);
    if (i.code == op::iterate)
      for (std::uint32_t a = 0; a < k_.iterations[i.attr].count; ++a)
        use(k_.call_operands[k_.iterations[i.attr].first + a]);
    return p;
  }

  placement of_form(std::uint32_t f) const {
    placement p = placement::once;
    for (std::uint32_t t = k_.forms[f].first; t < k_.forms[f].first + k_.forms[f].count; ++t) {
      const term& x = k_.terms[t];
      if (!x.is_dim()) p = std::max(p, needs_[x.atom & ~term::computed]);
      else if (x.atom + 1 < k_.domain_rank) p = std::max(p, placement::row);
      else if (x.atom + 1 == k_.domain_rank) p = std::max(p, placement::element);
    }
    return p;
  }

  const kernel& k_;
  std::vector<placement> needs_;  ///< by what it depends on, counters of reductions aside
  std::vector<placement> shown_;
};

}  // namespace

std::vector<placement> place_instructions(const kernel& k) { return placer(k).run(); }

}  // namespace sinter::jit
