// What emitters of distribution::steps share: states, and how far around an element they are read.
#pragma once

#include "jit/codegen/emitters.hpp"
#include "jit/steps.hpp"

namespace sinter::jit {

class step_emitter : public kernel_emitter {
 public:
  step_emitter(const kernel& k, const user_code& users, writer& w);
  void part(const std::string& name) override;

 protected:
  std::string bound(std::uint32_t k) const { return names_.parameter(now_ + states_ + k); }
  const std::string& type_of(std::uint32_t state) const { return types_[state]; }
  const step_access& store_of(std::uint32_t state) const;
  /// A state's element d0, i before the launch, and where the one after it goes.
  std::string element_before(std::uint32_t state) const { return element(now_ + state, state); }
  std::string element_after(std::uint32_t state) const;
  /// Whether the domain has element d0, i.
  std::string is_inside() const;
  /// Whether all of the window is inside.
  std::string is_inner() const;
  /// The access of a state that an instruction is; null for all others.
  const step_access* state_access(std::uint32_t v) const;

  step_window window_;
  std::uint32_t states_ = 0;

 private:
  std::string element(std::uint32_t pointer, std::uint32_t state) const;

  std::uint32_t now_;  ///< parameter: the first state's elements
  std::vector<std::string> types_;
};

std::unique_ptr<kernel_emitter> make_plane_step_emitter(const kernel& k, const user_code& users, writer& w);

}  // namespace sinter::jit
