// distribution::elements: threads take elements of the domain, on cuda several neighbours each. On the host also
// distribution::transposed: of each row a strip at a time.
#pragma once

#include "jit/codegen/emitters.hpp"
#include "jit/codegen/placement.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

class element_emitter : public kernel_emitter {
 public:
  element_emitter(const kernel& k, const user_code& users, dialect d, writer& w)
      : kernel_emitter(k, users, d, w), place_(place_instructions(k)) {}

  void whole(const std::string& name) override;
  /// `x`, `y` and `rows_at_once` say where a thread stands.
  void part(const std::string& name) override;

 protected:
  /// cuda: the `lanes` elements from `first` on, of a row whose counters are there.
  void cuda_row();
  std::string has_whole_vector() const;
  /// What the vector that an access moves is called.
  virtual std::string pack_name(std::uint32_t access) const { return fmt::format("whole{}", access); }
  /// Whether its vector is there when the row begins.
  virtual bool is_at_hand(std::uint32_t v) const { return has_rows() && is_column(v); }
  /// Sets what accesses that find their elements elsewhere than in memory call them; `lane` is the element's place
  /// behind `first`.
  virtual void name_elements(const std::string& lane) { (void)lane; }
  std::string pack_load(std::uint32_t v) const;
  /// Whether an access moves whole vectors: unit stride along the inner dim, all else settled before.
  bool is_packed(const inst& x) const;
  /// Whether a load shares elements with another that is loaded in whole vectors.
  bool is_near(const inst& x) const { return k_.accesses[x.attr].near != access::alone; }
  void instructions(placement p);
  /// The number of a row's first element in the domain.
  virtual std::string position_of_row() const {
    return has_rows() ? fmt::format("(long long)row * {}", extent(inner_dim())) : "";
  }

  std::vector<placement> place_;

 private:
  void with_tables(const std::string& name);
  std::string clear_tables();
  void cuda_body(const std::string& x, const std::string& y, const std::string& rows_at_once);
  void column_packs();
  bool is_column(std::uint32_t v) const;
  void packed_row();
  bool lanes_need_index() const;
  bool gathers_rows() const;
  void load_pack(std::uint32_t v);
  void load_beside(const inst& x);
  void rows_in_all();
  void host_kernel(std::string_view declared, const std::string& name);
  void host_rows(const std::string& begin, const std::string& end);
  void host_row(const std::string& begin, const std::string& end);
  void host_quads(const std::string& begin, const std::string& end);
};

}  // namespace sinter::jit
