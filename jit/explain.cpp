// What an evaluation would do, as text.
#include "jit/build.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/fuse.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace sinter::jit {

namespace {

class earlier_groups final : public stored_values {
 public:
  bool contains(const node* n) const override {
    if (n->values()) return true;
    const auto e = group_of.find(n);
    return e != group_of.end() && e->second < current;
  }
  std::unordered_map<const node*, std::size_t> group_of;
  std::size_t current = 0;
};

std::string_view verb(target_kind t) {
  switch (t) {
    case target_kind::cuda: return "compiled by NVRTC";
    case target_kind::host: return "compiled by the host compiler";
    case target_kind::interpreter: return "interpreted";
  }
  return "";
}

std::string describe(const group& g, std::size_t number, earlier_groups& stored, const options& how) {
  runtime::device* d = g.outputs[0]->owner ? g.outputs[0]->owner : &runtime::default_device();
  if (g.outputs[0]->extents.size() == 0)
    return fmt::format("group {}: {} output(s) without elements; nothing runs\n", number + 1, g.outputs.size());
  stored.current = number;
  lowered l;
  lower(g.outputs, stored, how, d->kind() == runtime::device_kind::cuda, l);
  verify(l.ir);
  const target_kind target = choose_target(*d, how, !l.ir.calls.empty());
  const std::string name = kernel_name(l.ir, stable_identity(l.ir));
  std::string text = fmt::format("group {}: {} output(s) of shape {} on {}, {} instructions, {}\n", number + 1,
                                 g.outputs.size(), sinter::to_string(g.outputs[0]->extents), d->name(), l.ir.body.size(),
                                 verb(target));
  text += to_string(l.ir, name);
  if (target != target_kind::interpreter) text += "\n" + source_of(l.ir, name, target, l.lanes);
  return text;
}

}  // namespace

std::string explain(std::span<node* const> roots) {
  const options& how = current_options();
  plan p;
  fuse(roots, how, p);
  std::size_t launches = 0;
  earlier_groups stored;
  for (std::size_t g = 0; g < p.count; ++g) {
    launches += p.pool[g].outputs[0]->extents.size() > 0;
    for (const node* n : p.pool[g].outputs) stored.group_of[n] = g;
  }
  std::string text = fmt::format("{} group(s), {} launch(es)\n", p.count, launches);
  for (const cut& c : p.cuts)
    text += fmt::format("cut after {} {} at {}:{}: {}\n", info(c.at->code).name, sinter::to_string(c.at->extents),
                        c.at->site.file, c.at->site.line, to_string(c.why));
  for (std::size_t g = 0; g < p.count; ++g) text += "\n" + describe(p.pool[g], g, stored, how);
  return text;
}

}  // namespace sinter::jit
