// distribution::steps: iterations of a loop over whole arrays within windows; here what is common, and lines.
#include "jit/codegen/emit_steps.hpp"

#include "runtime/error.hpp"

#include <algorithm>

namespace sinter::jit {

step_emitter::step_emitter(const kernel& k, const user_code& users, writer& w)
    : kernel_emitter(k, users, dialect::cuda, w), window_(window_of(k)) {
  for (const step_access& a : k.stepped) states_ = std::max(states_, a.state + 1);
  now_ = static_cast<std::uint32_t>(k.parameters.size()) - 1 - 2 * k.domain_rank - states_;
  for (std::uint32_t s = 0; s < states_; ++s) types_.emplace_back(c_type(k.parameters[now_ + s].type));
}

void step_emitter::part(const std::string&) { throw_internal_error("several iterations don't share a launch"); }

const step_access& step_emitter::store_of(std::uint32_t state) const {
  for (const inst& x : k_.body)
    if (x.code == op::store)
      for (const step_access& a : k_.stepped)
        if (a.access == x.attr && a.state == state) return a;
  throw_internal_error("a state is never stored");
}

std::string step_emitter::element(std::uint32_t pointer, std::uint32_t state) const {
  return fmt::format("{}[{}]", names_.parameter(pointer), names_.form(k_.accesses[store_of(state).access].form, "i"));
}

std::string step_emitter::element_after(std::uint32_t state) const {
  return element(k_.accesses[store_of(state).access].pointer, state);
}

const step_access* step_emitter::state_access(std::uint32_t v) const {
  const inst& x = k_.body[v];
  if (x.code != op::load && x.code != op::store) return nullptr;
  const auto found = std::ranges::find(k_.stepped, x.attr, &step_access::access);
  return found == k_.stepped.end() ? nullptr : &*found;
}

std::string step_emitter::is_inside() const {
  const std::string across = fmt::format("(unsigned)i < (unsigned){}", extent(inner_dim()));
  return has_rows() ? fmt::format("(unsigned)d0 < (unsigned){} && {}", extent(0), across) : across;
}

std::string step_emitter::is_inner() const {
  std::string inner = fmt::format("left >= 0 && left + {} <= {}", window_.columns, extent(inner_dim()));
  if (has_rows()) inner += fmt::format(" && top >= 0 && top + {} <= {}", window_.rows, extent(0));
  return inner;
}

namespace {

/// A window lies in shared memory, twice: iterations read one and write the other, by turns.
class line_emitter final : public step_emitter {
 public:
  using step_emitter::step_emitter;

  void whole(const std::string& name) override {
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__({}) {}({})", window_.threads, name,
                               cuda_parameters(""));
    declare_windows();
    fill_windows();
    w_.line("__syncthreads();");
    declare_iteration();
    {
      const auto pairs = w_.block("for (int step = 0; step + 2 <= steps; step += 2)");
      iterate("even", "odd");
      iterate("odd", "even");
    }
    {
      const auto last = w_.block("if (steps & 1)");
      iterate("even", "odd");
    }
    store_tile();
  }

 private:
  /// With room around a window for what its border reads.
  void declare_windows() {
    for (std::uint32_t s = 0; s < states_; ++s)
      w_.line("__shared__ {0} even{1}[{2}], odd{1}[{2}];", type_of(s), s, window_.columns + 2 * window_.column_reach);
    w_.line("const int left = (int)blockIdx.x * {} - {};", window_.tile_columns(), window_.column_border);
  }

  /// A thread's k-th element: its place in the window (at), and in the domain (i).
  void find_place() {
    w_.line("const int along = threadIdx.x + k * {}, i = left + along, at = {} + along;", window_.threads,
            window_.column_reach);
  }

  auto each_point() {
    w_.line("#pragma unroll");
    return w_.block("for (int k = 0; k < {}; ++k)", window_.points);
  }

  /// What no iteration writes has to be the same in both.
  void fill_windows() {
    const auto points = each_point();
    find_place();
    const auto there = w_.block("if (i >= {} && i < {})", bound(0), bound(1));
    for (std::uint32_t s = 0; s < states_; ++s) w_.line("even{0}[at] = odd{0}[at] = {1};", s, element_before(s));
  }

  void declare_iteration() {
    w_.line("const bool is_inner = {};", is_inner());
    std::string parameters;
    for (std::uint32_t s = 0; s < states_; ++s)
      parameters += fmt::format("{}const {}* __restrict__ from{}, {}* __restrict__ to{}", s ? ", " : "", type_of(s), s,
                                type_of(s), s);
    const auto lambda = w_.definition("const auto iterate = [&]({})", parameters);
    {
      // Everything is computed, also what lies so near to the border that it means nothing: without conditions,
      // neighbours share what they load.
      const auto all = w_.block("if (is_inner)");
      const auto points = each_point();
      find_place();
      point();
    }
    const auto some = w_.block("else");
    const auto points = each_point();
    find_place();
    const auto inside = w_.block("if ({})", is_inside());
    point();
  }

  void point() {
    for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
      if (const step_access* a = state_access(v))
        element_[v] = k_.body[v].code == op::store ? fmt::format("to{}[at]", a->state)
                                                   : fmt::format("from{}[at + ({})]", a->state, a->columns);
      v = instruction(v);
    }
    element_.assign(k_.body.size(), {});
  }

  void iterate(std::string_view from, std::string_view to) {
    std::string list;
    for (std::uint32_t s = 0; s < states_; ++s) list += fmt::format("{}{}{}, {}{}", s ? ", " : "", from, s, to, s);
    w_.line("iterate({});", list);
    w_.line("__syncthreads();");
  }

  void store_tile() {
    const auto points = each_point();
    find_place();
    const auto there = w_.block("if (along >= {} && along < {} && {})", window_.column_border,
                                window_.columns - window_.column_border, is_inside());
    for (std::uint32_t s = 0; s < states_; ++s) w_.line("{0} = steps & 1 ? odd{1}[at] : even{1}[at];", element_after(s), s);
  }
};

}  // namespace

std::unique_ptr<kernel_emitter> make_step_emitter(const kernel& k, const user_code& users, writer& w) {
  return k.domain_rank > 1 ? make_plane_step_emitter(k, users, w) : std::make_unique<line_emitter>(k, users, w);
}

}  // namespace sinter::jit
