// A user's kernel with code around the loop over its elements. Each worker (a cuda thread, which takes elements a grid
// apart; on the host a piece of the domain) runs the code before, its elements, and the code after.
#include "jit/codegen/emitters.hpp"
#include "jit/codegen/placement.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

class own_loop_emitter : public kernel_emitter {
 public:
  own_loop_emitter(const kernel& k, const user_code& users, dialect d, writer& w)
      : kernel_emitter(k, users, d, w), place_(place_instructions(k)), call_(k.calls[0]) {}

  void whole(const std::string& name) override {
    if (d_ == dialect::host) {
      const auto body = w_.block("extern \"C\" void {}({})", name, host_parameters);
      host_parameters_declared();
      return loop();
    }
    const auto body = w_.block("extern \"C\" __global__ void __launch_bounds__(256) {}({})", name, cuda_parameters(""));
    loop();
  }

  void part(const std::string&) override { SINTER_CHECK(false); }  // it has a launch of its own

 private:
  void loop() {
    instructions(placement::once, "-1");
    const std::string list = declare_arrays();
    each_ = "each";
    w_.line("{}({}[&](auto&& each) {{", users_.loop_of(*call_.kernel), list);
    if (on_cuda()) cuda_elements();
    else host_elements();
    w_.line("}});");
  }

  /// Variables for raw arrays, which are told where the loop stands; the arguments of the user's function.
  std::string declare_arrays() {
    const user_kernel& u = *call_.kernel;
    std::string list;
    call_cursor at(k_, call_);
    const auto add = [&](const std::string& text) { list += text + ", "; };
    const auto array = [&](const std::string& name, std::uint32_t first, std::size_t rank) {
      w_.line("auto {} = {};", name, raw_array(call_, first, rank, "-1"));
      arrays_.push_back(name);
      add(name);
    };
    for (std::size_t p = 0; p < u.inputs.size(); ++p) {
      const std::uint32_t first = at.next_input(p);
      if (u.inputs[p].is_raw) array(fmt::format("input{}", p), first, u.form.inputs[p]);
      else if (u.form.numbers >> p & 1u)
        add(u.inputs[p].is_struct ? struct_value(call_, first, p) : call_operand(call_, first));
    }
    if (u.wants_position) at.next();
    if (u.wants_count) add(call_operand(call_, at.next()));
    for (int k = 0; u.wants_index && k <= u.form.index_rank; ++k) at.next();
    for (std::size_t p = 0; p < u.outputs.size(); ++p) {
      if (u.outputs[p].is_raw) array(fmt::format("output{}", p), at.next_array(u.form.outputs[p]), u.form.outputs[p]);
      else if (u.form.given) at.next();
    }
    return list;
  }

  void cuda_elements() {
    w_.line("const long long elements = (long long){};", product(0, k_.domain_rank));
    w_.line("const long long step = (long long)gridDim.x * blockDim.x;");
    const auto elements =
        w_.block("for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < elements; at += step)");
    const std::string_view I = index_type();
    if (has_rows()) {
      w_.line("const {} row = ({})(at / {});", I, I, extent(inner_dim()));
      w_.line("const {} i = ({})(at - (long long)row * {});", I, I, extent(inner_dim()));
      find_row();
    } else {
      w_.line("const {} i = ({})at;", I, I);
    }
    element("at");
  }

  void host_elements() {
    const auto rows = w_.block("{}", has_rows() ? "for (long long row = row_begin; row < row_end; ++row)" : "");
    if (has_rows()) find_row();
    else w_.line("(void)row_begin, (void)row_end;");
    const auto elements = w_.block("for (long long i = begin; i < end; ++i)");
    element(has_rows() ? fmt::format("row * {} + i", extent(inner_dim())) : "i");
  }

  void element(const std::string& position) {
    for (const std::string& array : arrays_) w_.line("{}.position = {};", array, position);
    instructions(placement::row, position);
    instructions(placement::element, position);
  }

  void instructions(placement p, const std::string& position) {
    here_.position = position;
    for (std::uint32_t v = 0; v < k_.body.size(); ++v)
      if (place_[v] == p) v = instruction(v);
  }

  std::vector<placement> place_;
  const call& call_;
  std::vector<std::string> arrays_;
};

}  // namespace

bool has_own_loop(const kernel& k) {
  return std::ranges::any_of(k.calls, [](const call& c) { return c.kernel->loop.is_there(); });
}

std::unique_ptr<kernel_emitter> make_own_loop_emitter(const kernel& k, const user_code& users, dialect d, writer& w) {
  return std::make_unique<own_loop_emitter>(k, users, d, w);
}

}  // namespace sinter::jit
