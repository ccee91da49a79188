#include "jit/fold/rewrite.hpp"

#include "jit/fold/wrapping.hpp"

#include <utility>

namespace sinter::jit {

namespace {

void fix(traced_number& n, std::size_t loop, std::int64_t k) {
  if (loop < n.coefficients.size()) {
    n.constant = wrapping_add(n.constant, wrapping_multiply(n.coefficients[loop], k));
    n.coefficients.erase(n.coefficients.begin() + static_cast<std::ptrdiff_t>(loop));
  }
  if (!n.column) return;
  if (n.column_loop == static_cast<std::int32_t>(loop)) {
    n.constant = wrapping_add(n.constant, n.column->at(static_cast<std::size_t>(k)));
    n.column = nullptr;
    n.column_loop = -1;
  } else if (n.column_loop > static_cast<std::int32_t>(loop)) {
    --n.column_loop;
  }
}

void fix(trace_item& item, std::size_t loop, std::int64_t k) {
  for (traced_number& n : item.parameters) fix(n, loop, k);
  if (!item.is_loop()) return;
  fix(item.count, loop, k);
  for (trace_item& inner : item.body) fix(inner, loop, k);
}

}  // namespace

trace_item in_iteration(const trace_item& item, std::size_t loop, std::int64_t k) {
  trace_item out = item;
  fix(out, loop, k);
  return out;
}

bool depends_on(const traced_number& n, std::size_t loop) {
  if (n.column && n.column_loop == static_cast<std::int32_t>(loop)) return true;
  return loop < n.coefficients.size() && n.coefficients[loop] != 0;
}

std::vector<trace_item> distributed(const trace_item& loop, const loop_nest_analysis& nest) {
  std::vector<trace_item> parts;
  std::size_t begin = 0;
  for (std::size_t cut = 1; cut <= loop.body.size(); ++cut) {
    if (cut < loop.body.size() && !nest.may_cut(loop, cut)) continue;
    trace_item part;
    part.count = loop.count;
    part.body.assign(loop.body.begin() + static_cast<std::ptrdiff_t>(begin),
                     loop.body.begin() + static_cast<std::ptrdiff_t>(cut));
    parts.push_back(std::move(part));
    begin = cut;
  }
  return parts;
}

}  // namespace sinter::jit
