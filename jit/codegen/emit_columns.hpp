// distribution::columns on cuda: threads next to each other take neighbours along the domain's inner dim, and those
// below share the iterations of its loops.
#pragma once

#include "jit/codegen/emit_teams.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

class column_emitter : public team_emitter {
 public:
  column_emitter(const kernel& k, const user_code& users, writer& w) : team_emitter(k, users, w, true) {}

 protected:
  void body() override;
  /// What stands outside the loops.
  void segment(const std::vector<std::uint32_t>& s);

 private:
  void split_statements();

  // ---- one loop ----
  void shared_loop(const loop& l);
  void fetch_function(const loop& l);
  void step_function(const loop& l);
  void step_counters(const loop& l, const std::vector<bool>& needed);
  /// Whether lanes past the end would do what mustn't be done; others only compute what nobody looks at.
  bool touches_memory(const loop& l, const std::vector<bool>& needed) const;
};

/// Columns that are scanned in tiles of rows, by several blocks (emit_column_scans.cpp).
std::unique_ptr<kernel_emitter> make_column_scan_emitter(const kernel& k, const user_code& users, writer& w);

}  // namespace sinter::jit
