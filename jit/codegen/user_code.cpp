#include "jit/codegen/user_code.hpp"

#include "jit/codegen/writer.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

user_code::user_code(kernel_list parts) {
  for (const kernel* k : parts)
    for (const call& c : k->calls) add(c.kernel);
}

void user_code::add(const user_kernel* kernel) {
  if (std::ranges::find(kernels_, kernel) != kernels_.end()) return;
  std::string space = kernel->name + "_kernel";
  const auto taken = std::ranges::count_if(kernels_, [&](const user_kernel* u) { return u->name == kernel->name; });
  if (taken > 0) space += std::to_string(taken + 1);
  kernels_.push_back(kernel);
  spaces_.push_back(space);
}

std::string user_code::function_of(const user_kernel& u) const {
  const auto at = std::ranges::find(kernels_, &u) - kernels_.begin();
  return spaces_[static_cast<std::size_t>(at)] + "::apply";
}

std::string user_code::source(dialect d) const {
  writer w;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    const user_kernel& u = *kernels_[k];
    w.line("namespace {} {{", spaces_[k]);
    for (const auto& [letter, type] : u.placeholders) w.line("using {} = {};", letter, c_type(type));
    if (!u.preamble.empty()) {
      w.line("#line 1 \"{} (preamble)\"", u.name);
      w.raw(u.preamble + "\n");
    }
    std::string parameters;
    const auto add = [&](std::string_view text) { (parameters += parameters.empty() ? "" : ", ") += text; };
    for (std::size_t p = 0; p < u.inputs.size(); ++p) add(fmt::format("const {} {}", c_type(u.input_types[p]), u.inputs[p].name));
    for (std::size_t p = 0; p < u.outputs.size(); ++p) add(fmt::format("{}& {}", c_type(u.output_types[p]), u.outputs[p].name));
    w.line("{} void apply({}) {{", d == dialect::cuda ? "__device__ __forceinline__" : "static inline", parameters);
    w.line("#line 1 \"{}\"", u.name);
    w.raw(u.body + ";\n");
    w.line("}}");
    w.line("}}  // namespace {}", spaces_[k]);
    w.line("#line 1 \"kernel\"");
  }
  return w.take();
}

}  // namespace sinter::jit
