// What an evaluation would do, as text.
#include "jit/build.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/fold/batch.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/lone_call.hpp"
#include "jit/loops.hpp"
#include "jit/opaque.hpp"
#include "jit/planning.hpp"

#include <fmt/format.h>

namespace sinter::jit {

namespace {

std::string_view verb(target_kind t) {
  switch (t) {
    case target_kind::cuda: return "compiled by NVRTC";
    case target_kind::host: return "compiled by the host compiler";
    case target_kind::interpreter: return "interpreted";
  }
  return "";
}

std::string describe_group(const group& g, std::size_t number, const lowered& l) {
  std::string text = fmt::format("group {}: {} output(s) of shape {}, {} instructions", number, g.outputs.size(),
                                 sinter::to_string(g.domain()), l.ir.body.size());
  if (g.part) text += fmt::format(", the part from {} on", sinter::to_string(g.part->first));
  text += '\n';
  for (const target& t : g.outputs)
    if (t.giver)
      text += fmt::format("in place: {} at {}:{} takes over the memory of what it changes\n", info(t.n->code).name,
                          t.n->site.file, t.n->site.line);
  return text;
}

std::string describe_transposes(const kernel& k) {
  if (k.tiled.size() == 1)
    return fmt::format("rows in strips of {} elements, for transposed operands\n", k.tiled[0].extent);
  std::string text;
  for (std::size_t t = k.tiled.size(); t-- > 0;)
    text += fmt::format("{}{}", text.empty() ? "tiles of " : " x ", k.tiled[t].extent);
  const auto staged = std::ranges::count_if(k.accesses, [](const access& a) { return a.staged != access::alone; });
  return fmt::format("{} elements; {} transposed operand(s) go through shared memory\n", text, staged);
}

/// Which threads run a kernel's loops, and what they do about memory.
std::string describe_loops(const lowered& l) {
  const kernel& k = l.ir;
  if (k.over == distribution::elements) return "";
  if (k.over == distribution::transposed) return describe_transposes(k);
  if (k.over == distribution::tiles)
    return fmt::format("tiles of {} x {} results a thread, what they share fetched through shared memory{}\n",
                       k.tile.rows, k.tile.columns, k.split ? fmt::format(", in {} pieces", l.numbers.pieces) : "");
  int loops = 0, depth = 0;
  for (const inst& i : k.body) {
    loops += i.code == op::loop && depth == 0;
    depth += (i.code == op::loop) - (i.code == op::end);
  }
  std::string text = fmt::format("{} loop(s) over {}", loops, k.over == distribution::rows ? "rows" : "columns");
  for (std::size_t p = 0; p < k.parameters.size(); ++p) {
    if (k.parameters[p].kind != parameter_kind::team) continue;
    const std::uint64_t team = l.numbers.slots[p].as_u64;
    text += fmt::format(", {} x {} threads each", 1u << (team & 255), 1u << (team >> 8 & 255));
  }
  if (k.split) text += fmt::format(", in {} pieces that the last one to finish puts together", l.numbers.pieces);
  if (!k.staged.empty()) text += ", fetched through shared memory";
  if (loops > 1) text += k.kept ? ", what several read kept in registers" : ", each reads anew";
  return text + "\n";
}

std::string describe(const planning& p, std::size_t number, const options& how) {
  const launch_range& range = p.launches[number];
  const group& first = p.groups.groups()[p.order[range.first]];
  if (first.domain().size() == 0) return "group without elements: nothing runs\n";
  runtime::device& d = device_of(first);
  std::vector<const kernel*> parts;
  std::string text;
  for (std::size_t k = range.first; k < range.first + range.count; ++k) {
    const lowered& l = p.lowered[p.order[k]];
    verify(l.ir);
    if (!parts.empty() && l.ir.stage != parts.back()->stage)
      text += fmt::format("stage {}, in the same launch, once all before it is done\n", l.ir.stage + 1);
    parts.push_back(&l.ir);
    text += describe_group(p.groups.groups()[p.order[k]], k + 1, l) + describe_loops(l);
  }
  const target_kind target = choose_target(d, how, has_calls(parts));
  const std::string name = kernel_name(parts, stable_identity(parts));
  text = fmt::format("launch {} on {}, {}\n", number + 1, d.name(), verb(target)) + text;
  for (const kernel* k : parts) text += to_string(*k, name);
  if (target != target_kind::interpreter) text += "\n" + source_of(parts, name, target);
  return text;
}

/// The launches that compute `roots`, and why there are several.
std::string describe_plan(std::span<node* const> roots, const options& how) {
  planning p;
  p.run(roots, how);
  std::size_t launches = 0;
  for (const launch_range& l : p.launches) launches += p.groups.groups()[p.order[l.first]].domain().size() > 0;
  std::string text = fmt::format("{} group(s), {} launch(es)\n", p.groups.count, launches);
  for (const cut& c : p.groups.cuts)
    text += fmt::format("cut after {} {} at {}:{}: {}\n", info(c.at->code).name, sinter::to_string(c.at->extents),
                        c.at->site.file, c.at->site.line, to_string(c.why));
  for (std::size_t k = 0; k < p.launches.size(); ++k) text += "\n" + describe(p, k, how);
  return text;
}

/// While it lives, results that nothing has computed look as if they were: what reads them can be planned.
class stand_ins {
 public:
  stand_ins() = default;
  stand_ins(const stand_ins&) = delete;
  stand_ins& operator=(const stand_ins&) = delete;
  ~stand_ins() {
    for (const node_ref& n : results_) runtime::release(n->computed.exchange(nullptr, std::memory_order_acq_rel));
  }
  void add(node_ref n) {
    runtime::device& where = n->owner ? *n->owner : runtime::default_device();
    n->computed.store(runtime::make_buffer(where, 0), std::memory_order_release);
    results_.push_back(std::move(n));
  }

 private:
  std::vector<node_ref> results_;
};

/// A raw kernel or a library's function, and what has to be computed and stored before it runs.
std::string describe_launch(const node& n, const options& how) {
  const opaque_call& call = *n.facts->launch;
  std::string text = fmt::format("{} at {}:{}, opaque to fusion\n", call.describe(), n.site.file, n.site.line);
  std::vector<node*> pending;
  for (node* x : call.needs(n)) {
    if (x->values()) continue;
    pending.push_back(x);
    text += fmt::format("cut after {} {} at {}:{}: {} reads it from memory\n", info(x->code).name,
                        sinter::to_string(x->extents), x->site.file, x->site.line, call.name());
  }
  return pending.empty() ? text : text + describe_plan(pending, how);
}

/// A loop over whole arrays, and what has to be computed and stored before it runs.
std::string describe_repeat_alone(node* n, const options& how) {
  std::vector<node*> pending;
  for (node* x : n->operands())
    if (!x->values()) pending.push_back(x);
  std::string text = pending.empty() ? "" : describe_plan(pending, how) + "\n";
  stand_ins around;
  for (node* x : pending)
    if (!x->values()) around.add(node_ref::share(x));
  return text + describe_repeat(n, how);
}

}  // namespace

std::string explain(std::span<node* const> wanted) {
  const options& how = current_options();
  folding_notes loops;
  resolve(wanted);
  if (!loops.text.empty()) loops.text = "recorded loops:\n" + loops.text + "\n";
  const std::size_t before = loops.text.size();
  const batched_roots batched(wanted);
  const std::span<node* const> roots = batched.roots();
  if (loops.text.size() > before) loops.text.insert(before, "joined and evaluated together:\n").append("\n");
  std::string text = std::move(loops.text);
  stand_ins computed;
  for (opaque_step& step : opaque_below(roots)) {
    node_ref& n = step.n;
    if (step.instead) {
      text += describe_launch(*step.instead->operands()[0], how) + "\n";
      computed.add(std::move(n));
    } else if (n->code == op::launch) {
      text += describe_launch(*n, how) + "\n";
    } else if (n->code == op::lone_call) {
      text += describe_lone_call(*n);
    } else if (n->code == op::repeat) {
      text += describe_repeat_alone(n.get(), how) + "\n";
    } else {
      computed.add(std::move(n));
    }
  }
  return text + describe_plan(roots, how);
}

}  // namespace sinter::jit
