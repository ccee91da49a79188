#include "jit/linear.hpp"

#include <algorithm>

namespace sinter::jit {

linear linear_store::affine(std::int64_t offset, std::int64_t step, const linear& f) {
  if (step == 1) return {f.constant + offset, f.first, f.count};
  if (step == 0) return constant(offset);
  const auto first = static_cast<std::uint32_t>(pool_.size());
  for (std::uint32_t k = 0; k < f.count; ++k) {
    const linear_term t = pool_[f.first + k];
    pool_.push_back({t.atom, t.factor * step});
  }
  return {offset + f.constant * step, first, f.count};
}

void linear_store::add(const linear& f, std::int64_t times) {
  if (times == 0) return;
  sum_constant_ += f.constant * times;
  for (const linear_term& t : terms(f)) add_atom(t.atom, t.factor * times);
}

void linear_store::add_atom(std::uint32_t atom, std::int64_t factor) {
  for (linear_term& t : sum_)
    if (t.atom == atom) {
      t.factor += factor;
      return;
    }
  sum_.push_back({atom, factor});
}

linear linear_store::finish() {
  std::erase_if(sum_, [](const linear_term& t) { return t.factor == 0; });
  std::sort(sum_.begin(), sum_.end(), [](const linear_term& a, const linear_term& b) { return a.atom < b.atom; });
  const linear f{sum_constant_, static_cast<std::uint32_t>(pool_.size()), static_cast<std::uint32_t>(sum_.size())};
  pool_.insert(pool_.end(), sum_.begin(), sum_.end());
  return f;
}

bool linear_store::equal_terms(const linear& a, const linear& b) const {
  return std::ranges::equal(terms(a), terms(b));
}

}  // namespace sinter::jit
