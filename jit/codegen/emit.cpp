#include "jit/codegen/emit.hpp"

#include "jit/codegen/emit_elements.hpp"
#include "jit/codegen/prelude.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>
#include <set>

namespace sinter::jit {

namespace {

std::unique_ptr<kernel_emitter> emitter_of(const kernel& k, const user_code& users, dialect d, writer& w) {
  if (k.over == distribution::steps) return make_step_emitter(k, users, w);
  if (k.over == distribution::transposed && d == dialect::cuda) return make_transpose_emitter(k, users, w);
  if (has_own_loop(k)) return make_own_loop_emitter(k, users, d, w);
  if (d == dialect::host && runs_in_lanes(k)) return make_host_lane_emitter(k, users, w);
  if (k.loops.empty() || k.over == distribution::elements) return std::make_unique<element_emitter>(k, users, d, w);
  if (d == dialect::host) return make_host_loop_emitter(k, users, w);
  return k.over == distribution::rows ? make_row_emitter(k, users, w) : make_column_emitter(k, users, w);
}

/// The kernel that runs each part in blocks of its own.
void cuda_parts(const std::vector<std::unique_ptr<kernel_emitter>>& parts, const std::string& name, writer& w) {
  std::string parameters;
  for (std::size_t k = 0; k < parts.size(); ++k)
    parameters += fmt::format("{0}const int p{1}_across, const int p{1}_down, const int p{1}_shift, {2}",
                              k ? ", " : "", k, parts[k]->cuda_parameters(fmt::format("p{}_", k)));
  const auto body = w.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name, parameters);
  w.line("int block = blockIdx.x;");
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string p = fmt::format("p{}_", k);
    {
      const auto own = w.block("if (block < {0}across * {0}down)", p);
      const std::string arguments = parts[k]->cuda_arguments(p);
      if (parts[k]->takes_blocks()) {
        w.line("return {}_{}(block, (long long){}across * {}down, {});", name, k, p, p, arguments);
      } else {
        w.line("const int height = blockDim.x >> {}shift;", p);
        w.line("const long long x = ((long long)(block % {0}across) << {0}shift) + "
               "(threadIdx.x & ((1 << {0}shift) - 1));", p);
        w.line("const long long y = (long long)(block / {0}across) * height + (threadIdx.x >> {0}shift);", p);
        w.line("return {}_{}(x, y, (long long){}down * height, {});", name, k, p, arguments);
      }
    }
    w.line("block -= {0}across * {0}down;", p);
  }
}

void host_parts(std::size_t count, const std::string& name, writer& w) {
  const auto body = w.block("extern \"C\" void {}({})", name, host_parameters);
  const auto choice = w.block("switch (*(const long long*)arguments[0])");
  for (std::size_t k = 0; k < count; ++k)
    w.line("case {}: return {}_{}(arguments + 1, row_begin, row_end, begin, end);", k, name, k);
}

}  // namespace

std::string kernel_name(kernel_list parts, std::uint64_t identity) {
  std::string name = "sinter";
  std::set<std::string> seen;
  for (const kernel* k : parts)
    for (const inst& i : k->body) {
      std::string word;
      if (i.code == op::call || i.code == op::reduce_call) word = k->calls[i.attr].kernel->name;
      else if ((is_elementwise(i.code) && i.code != op::convert) || is_reduction(i.code) || is_scan(i.code))
        word = info(i.code).name;
      if (!word.empty() && seen.size() < 3 && seen.insert(word).second) name += "_" + word;
    }
  if (seen.empty()) name += "_copy";
  return name + fmt::format("_{:08x}", static_cast<std::uint32_t>(identity ^ identity >> 32));
}

std::string emit(kernel_list parts, const std::string& name, dialect d) {
  const user_code users(parts);
  writer w;
  if (parts.size() == 1) {
    emitter_of(*parts[0], users, d, w)->whole(name);
  } else {
    std::vector<std::unique_ptr<kernel_emitter>> each;
    for (const kernel* k : parts) each.push_back(emitter_of(*k, users, d, w));
    for (std::size_t k = 0; k < parts.size(); ++k) each[k]->part(fmt::format("{}_{}", name, k));
    if (d == dialect::cuda) cuda_parts(each, name, w);
    else host_parts(parts.size(), name, w);
  }
  const std::string user = users.source(d);
  std::string text = prelude_for(user + w.text(), d);
  if (!text.empty()) text += '\n';
  return text + user + w.text();
}

}  // namespace sinter::jit
