// distribution::steps: iterations of a loop over whole arrays within windows of shared memory.
#include "jit/codegen/emitters.hpp"
#include "jit/steps.hpp"
#include "runtime/error.hpp"

namespace sinter::jit {

namespace {

class step_emitter : public kernel_emitter {
 public:
  step_emitter(const kernel& k, const user_code& users, writer& w)
      : kernel_emitter(k, users, dialect::cuda, w), window_(window_of(k)), guard_(window_.row_reach * window_.columns +
                                                                                 window_.column_reach) {
    for (const step_access& a : k.stepped) states_ = std::max(states_, a.state + 1);
    now_ = static_cast<std::uint32_t>(k.parameters.size()) - 1 - 2 * k.domain_rank - states_;
  }

  void whole(const std::string& name) override {
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__({}) {}({})", step_window::threads, name,
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

  void part(const std::string&) override { throw_internal_error("several iterations don't share a launch"); }

 private:
  std::string bound(std::uint32_t k) const { return names_.parameter(now_ + states_ + k); }
  std::string type_of(std::uint32_t state) const { return std::string(c_type(k_.parameters[now_ + state].type)); }

  const step_access& store_of(std::uint32_t state) const {
    for (const inst& x : k_.body)
      if (x.code == op::store)
        for (const step_access& a : k_.stepped)
          if (a.access == x.attr && a.state == state) return a;
    throw_internal_error("a state is never stored");
  }

  /// A place in the array that belongs to a place in the window, relative to the domain's first element.
  std::string element(const std::string& pointer, std::uint32_t state) const {
    return fmt::format("{}[{}]", pointer, names_.form(k_.accesses[store_of(state).access].form, "i"));
  }

  /// Elements lie as they do in a window whose rows are `columns` long, with room around it for what its border reads.
  void declare_windows() {
    for (std::uint32_t s = 0; s < states_; ++s)
      w_.line("__shared__ {0} even{1}[{2}], odd{1}[{2}];", type_of(s), s, window_.rows * window_.columns + 2 * guard_);
    w_.line("const int left = (int)blockIdx.x * {} - {};", window_.tile_columns(), window_.column_border);
    if (has_rows()) {
      w_.line("const int top = (int)blockIdx.y * {} - {};", window_.tile_rows(), window_.row_border);
      w_.line("const int column = threadIdx.x % {0}, row = threadIdx.x / {0} * {1};", window_.columns, window_.points);
    }
  }

  /// A thread's k-th element: its place in the window (at), and in the domain (d0, i).
  void find_place() {
    if (has_rows()) {
      w_.line("const int d0 = top + row + k, i = left + column, at = {} + (row + k) * {} + column;", guard_,
              window_.columns);
    } else {
      w_.line("const int along = threadIdx.x + k * {}, i = left + along, at = {} + along;", step_window::threads,
              guard_);
    }
  }

  auto each_point() {
    w_.line("#pragma unroll");
    return w_.block("for (int k = 0; k < {}; ++k)", window_.points);
  }

  std::string is_inside() const {
    const std::string across = fmt::format("(unsigned)i < (unsigned){}", extent(inner_dim()));
    return has_rows() ? fmt::format("(unsigned)d0 < (unsigned){} && {}", extent(0), across) : across;
  }

  /// What no iteration writes has to be the same in both.
  void fill_windows() {
    const auto points = each_point();
    find_place();
    std::string exists = fmt::format("i >= {} && i < {}", bound(0), bound(1));
    if (has_rows()) exists += fmt::format(" && d0 >= {} && d0 < {}", bound(2), bound(3));
    const auto there = w_.block("if ({})", exists);
    for (std::uint32_t s = 0; s < states_; ++s)
      w_.line("even{0}[at] = odd{0}[at] = {1};", s, element(names_.parameter(now_ + s), s));
  }

  void declare_iteration() {
    std::string inner = fmt::format("left >= 0 && left + {} <= {}", window_.columns, extent(inner_dim()));
    if (has_rows()) inner += fmt::format(" && top >= 0 && top + {} <= {}", window_.rows, extent(0));
    w_.line("const bool is_inner = {};", inner);
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
      const inst& x = k_.body[v];
      if (x.code == op::load || x.code == op::store)
        for (const step_access& a : k_.stepped)
          if (a.access == x.attr)
            element_[v] = x.code == op::store ? fmt::format("to{}[at]", a.state)
                                              : fmt::format("from{}[at + ({})]", a.state,
                                                            a.rows * window_.columns + a.columns);
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
    const auto lost = [](const char* name, int border, int size) {
      return fmt::format("{0} >= {1} && {0} < {2} && ", name, border, size - border);
    };
    std::string kept = lost(has_rows() ? "column" : "along", window_.column_border, window_.columns);
    if (has_rows()) kept += lost("row + k", window_.row_border, window_.rows);
    const auto there = w_.block("if ({}{})", kept, is_inside());
    for (std::uint32_t s = 0; s < states_; ++s) {
      const access& a = k_.accesses[store_of(s).access];
      w_.line("{} = steps & 1 ? odd{}[at] : even{}[at];", element(names_.parameter(a.pointer), s), s, s);
    }
  }

  step_window window_;
  int guard_;  ///< elements in front of a window and after it
  std::uint32_t states_ = 0, now_;
};

}  // namespace

std::unique_ptr<kernel_emitter> make_step_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<step_emitter>(k, users, w);
}

}  // namespace sinter::jit
