// distribution::rows on cuda: a team of threads takes an element of the domain and shares the iterations of its loops.
#pragma once

#include "jit/codegen/emit_teams.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

class row_emitter : public team_emitter {
 public:
  row_emitter(const kernel& k, const user_code& users, writer& w);

 private:
  void body() override;
  bool takes_tickets() const override { return scans_tiles(); }
  int least_blocks() const override;
  int threads_for_kept() const;
  void element();
  void several_elements();
  void find_own();
  writer::scope unrolled_vectors(const loop& l);
  void find_vector(const loop& l);
  void declare_staged();
  void fetch_staged();
  void find_element();
  std::string leader() const;
  void statements_in_order();
  void split_statements();
  void merge(const loop& l);
  void merge_pieces(const loop& l);

  // ---- a loop without scans ----
  void shared_loop(const loop& l);
  void drive(const loop& l);
  bool is_near(const loop& l) const;
  void fetch_function(const loop& l);
  void step_function(const loop& l, const std::vector<bool>& needed);
  std::string_view vector_number() const { return k_.kept != 0 ? ", const int k" : ""; }

  // ---- loads that loops share ----
  void find_kept();
  void find_saved();
  void keep_for(std::uint32_t v, const loop& own, const loop& later);

  // ---- a loop with scans (emit_scans.cpp) ----
  bool scans_tiles() const { return is_split() && !first_top().scans.empty(); }
  void declare_scan_arrays(const scan_plan& plan, const loop& l);
  void scan_loop(const loop& l);
  void scan_between(std::uint32_t v);
  void scan_segment(const loop& l, const scan_plan& plan, std::size_t which);
  void find_chunk(const loop& l, int count);
  void load_chunks(const loop& l, const scan_plan& plan, int count);
  void tiles_body();
  void tile_statements();
  void bring_near(const loop& l, std::uint32_t v);
  void scan_tile(const loop& l);
  void tile_scan(std::uint32_t v, std::size_t which);
  writer::scope each_vector_of_tile();
  void find_vector_of_tile(const loop& l);

  std::vector<std::uint32_t> first_kept_;  ///< by instruction: the load whose registers it uses, or none
};

}  // namespace sinter::jit
