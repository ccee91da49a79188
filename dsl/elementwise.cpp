#include "dsl/elementwise.hpp"

#include "dsl/record_internal.hpp"
#include "jit/user_kernel.hpp"

#include <fmt/format.h>

namespace sinter {

const operand& no_operand() noexcept {
  static const operand none(0, place{});
  return none;
}

elementwise::elementwise(std::string_view name, std::string_view inputs, std::string_view outputs,
                         std::string_view body, const elementwise_options& how, place at)
    : kernel_(jit::parse_user_kernel(name, inputs, outputs, body, how.preamble, how.options, at).get()) {}

const std::string& elementwise::name() const { return kernel_->name; }
int elementwise::input_count() const { return static_cast<int>(kernel_->inputs.size()); }
int elementwise::output_count() const { return static_cast<int>(kernel_->outputs.size()); }

array elementwise::operator()(const operand& x0, const operand& x1, const operand& x2, const operand& x3,
                              const operand& x4, const operand& x5, const operand& x6, const operand& x7,
                              const operand& x8, const operand& x9, const operand& x10, const operand& x11,
                              const operand& x12, const operand& x13, const operand& x14, const operand& x15) const {
  const operand* const list[] = {&x0, &x1, &x2, &x3, &x4, &x5, &x6, &x7, &x8, &x9, &x10, &x11, &x12, &x13, &x14, &x15};
  return call(list, 1)[0];
}

std::vector<array> elementwise::results(const operand& x0, const operand& x1, const operand& x2, const operand& x3,
                                        const operand& x4, const operand& x5, const operand& x6, const operand& x7,
                                        const operand& x8, const operand& x9, const operand& x10, const operand& x11,
                                        const operand& x12, const operand& x13, const operand& x14,
                                        const operand& x15) const {
  const operand* const list[] = {&x0, &x1, &x2, &x3, &x4, &x5, &x6, &x7, &x8, &x9, &x10, &x11, &x12, &x13, &x14, &x15};
  return call(list, 0);
}

std::vector<array> elementwise::call(std::span<const operand* const> operands, int wanted) const {
  std::vector<jit::input> in;
  for (const operand* x : operands)
    if (x != &no_operand()) in.push_back(input_of(*x));
  const place at = in.empty() ? kernel_->site : in[0].site;
  if (wanted > 0 && wanted != output_count())
    throw_type_error(fmt::format("{}: has {} output(s), {} asked for", name(), output_count(), wanted), at,
                     fmt::format("take them all: kernel.results<{}>(...)", output_count()));
  std::vector<array> out;
  for (jit::node_ref& n : jit::record_call(kernel_->shared_from_this(), in, at)) out.push_back(wrap(std::move(n)));
  return out;
}

}  // namespace sinter
