#include "jit/faults.hpp"

#include "jit/user_kernel.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace sinter::jit {

namespace {

constexpr std::size_t launches_remembered = 4096;

struct launch_log {
  std::mutex mutex;
  std::deque<std::vector<check_site>> sites;
  std::int64_t first = 1;  ///< number of sites.front()
  std::map<std::int64_t, std::vector<check_site>> kept;  ///< by number, which is negative
  std::deque<std::int64_t> forgotten;                    ///< of those, the ones that may go
  std::int64_t next_kept = -1;

  const std::vector<check_site>* find(std::int64_t number) const {
    if (number < 0) {
      const auto at = kept.find(number);
      return at == kept.end() ? nullptr : &at->second;
    }
    const std::int64_t k = number - first;
    return k >= 0 && k < static_cast<std::int64_t>(sites.size()) ? &sites[static_cast<std::size_t>(k)] : nullptr;
  }
};

launch_log& log_of_launches() {
  static auto* l = new launch_log;
  return *l;
}

}  // namespace

std::int64_t register_launch(std::span<const check_site> check_sites) {
  launch_log& l = log_of_launches();
  const std::lock_guard lock(l.mutex);
  l.sites.emplace_back(check_sites.begin(), check_sites.end());
  if (l.sites.size() > launches_remembered) {
    l.sites.pop_front();
    ++l.first;
  }
  return l.first + static_cast<std::int64_t>(l.sites.size()) - 1;
}

std::int64_t keep_launch(std::span<const check_site> check_sites) {
  launch_log& l = log_of_launches();
  const std::lock_guard lock(l.mutex);
  l.kept[l.next_kept].assign(check_sites.begin(), check_sites.end());
  return l.next_kept--;
}

/// Not at once: what it has found may not have been looked at.
void forget_launch(std::int64_t number) noexcept {
  launch_log& l = log_of_launches();
  const std::lock_guard lock(l.mutex);
  try {
    l.forgotten.push_back(number);
  } catch (const std::bad_alloc&) {
    return;  // it stays
  }
  if (l.forgotten.size() <= launches_remembered) return;
  l.kept.erase(l.forgotten.front());
  l.forgotten.pop_front();
}

namespace {

[[noreturn]] void throw_fault(const runtime::index_fault& f) {
  check_site site;
  {
    launch_log& l = log_of_launches();
    const std::lock_guard lock(l.mutex);
    const std::vector<check_site>* sites = l.find(f.launch);
    if (sites && f.ordinal < static_cast<std::int32_t>(sites->size()))
      site = (*sites)[static_cast<std::size_t>(f.ordinal)];
  }
  if (site.iterations)
    throw loop_error(error_text(fmt::format("a loop has not ended after {} iterations (element {} of the result)",
                                            f.size, f.position),
                                site.at, "raise its limit, or see that its condition becomes false"));
  if (site.kernel)
    throw_index_error(fmt::format("{}: index {} is out of range for {} elements of {} (element {} of the loop)",
                                  site.kernel->name, f.index, f.size, site.kernel->parameter(site.parameter).name,
                                  f.position),
                      site.at, "found while the kernel ran; what it read there was 0, what it wrote there is lost");
  // Kernels say so of unsigned ones past 2^63, which negative values of operations that count from 0 become, too.
  if (f.index == std::numeric_limits<std::int64_t>::max())
    throw_index_error(fmt::format("an index that is negative, or 2^63 or more, is out of range for {} elements "
                                  "(element {} of the result)",
                                  f.size, f.position),
                      site.at, "found while the kernel ran; that element was taken as 0, or not written");
  throw_index_error(fmt::format("index {} is out of range for an axis of {} elements (element {} of the result)",
                                f.index, f.size, f.position),
                    site.at, "found while the kernel ran; that element was taken as 0, or not written");
}

}  // namespace

void throw_on_fault(runtime::device& d) {
  if (runtime::index_fault f; d.take_fault(f)) throw_fault(f);
}

void throw_on_fault_of_any(runtime::device& d) {
  if (runtime::index_fault f; d.take_fault_of_any(f)) throw_fault(f);
}

}  // namespace sinter::jit
