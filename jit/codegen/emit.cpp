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
  if (k.over == distribution::tiles) return make_tile_emitter(k, users, w);
  return k.over == distribution::rows ? make_row_emitter(k, users, w) : make_column_emitter(k, users, w);
}

/// The kernel that runs several parts, each in blocks of its own.
class cuda_parts {
 public:
  cuda_parts(const std::vector<std::unique_ptr<kernel_emitter>>& parts, kernel_list kernels, const std::string& name,
             writer& w)
      : parts_(parts), kernels_(kernels), name_(name), w_(w) {}

  void write() {
    const bool has_stages = kernels_.back()->stage != 0;
    std::string parameters = has_stages ? "unsigned* arrivals" : "";
    for (std::size_t k = 0; k < parts_.size(); ++k)
      parameters += fmt::format("{0}const int p{1}_across, const int p{1}_down, const int p{1}_shift, {2}",
                                parameters.empty() ? "" : ", ", k,
                                parts_[k]->cuda_parameters(fmt::format("p{}_", k), !has_stages));
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name_, parameters);
    if (has_stages) return stages();
    w_.line("int block = blockIdx.x;");
    for (std::size_t k = 0; k < parts_.size(); ++k) part(k, "return ", "");
  }

 private:
  /// The grid's blocks take turns at those of a stage, then wait for each other: what they read next may be anybody's.
  void stages() {
    for (std::size_t k = 0; k < parts_.size();) {
      if (k > 0) w_.line("wait_for_grid(arrivals);");
      const auto turns = w_.block("for (int next = blockIdx.x;; next += gridDim.x)");
      w_.line("int block = next;");
      for (const std::uint8_t stage = kernels_[k]->stage; k < parts_.size() && kernels_[k]->stage == stage; ++k)
        part(k, "", "continue;");
      w_.line("break;");
    }
  }

  void part(std::size_t k, std::string_view before, std::string_view after) {
    const std::string p = fmt::format("p{}_", k), arguments = parts_[k]->cuda_arguments(p);
    {
      const auto own = w_.block("if (block < {0}across * {0}down)", p);
      if (parts_[k]->takes_blocks()) {
        w_.line("{}{}_{}(block, (long long){}across * {}down, {});", before, name_, k, p, p, arguments);
        if (!after.empty()) w_.line("__syncthreads();  // shared memory is the next block's now");
      } else {
        w_.line("const int height = blockDim.x >> {}shift;", p);
        w_.line("const long long x = ((long long)(block % {0}across) << {0}shift) + "
                "(threadIdx.x & ((1 << {0}shift) - 1));", p);
        w_.line("const long long y = (long long)(block / {0}across) * height + (threadIdx.x >> {0}shift);", p);
        w_.line("{}{}_{}(x, y, (long long){}down * height, {});", before, name_, k, p, arguments);
      }
      if (!after.empty()) w_.line("{}", after);
    }
    w_.line("block -= {0}across * {0}down;", p);
  }

  const std::vector<std::unique_ptr<kernel_emitter>>& parts_;
  const kernel_list kernels_;
  const std::string& name_;
  writer& w_;
};

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
    if (d == dialect::cuda) cuda_parts(each, parts, name, w).write();
    else host_parts(parts.size(), name, w);
  }
  const std::string user = users.source(d);
  std::string text = prelude_for(user + w.text(), d);
  if (!text.empty()) text += '\n';
  return text + user + w.text();
}

}  // namespace sinter::jit
