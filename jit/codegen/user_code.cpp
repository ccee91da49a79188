#include "jit/codegen/user_code.hpp"

#include "jit/codegen/writer.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

/// Writes what is in one kernel's namespace.
class user_writer {
 public:
  user_writer(const user_kernel& u, dialect d, writer& w)
      : u_(u),
        w_(w),
        function_(d == dialect::cuda ? "__device__ __forceinline__" : "static inline"),
        member_(d == dialect::cuda ? "__device__ __forceinline__" : "inline") {}

  void all() {
    for (const auto& [letter, type] : u_.placeholders) w_.line("using {} = {};", letter, c_type(type));
    if (!u_.preamble.empty()) users_text("preamble", u_.preamble, "");
    if (u_.is_reduction()) reduction();
    else elementwise();
  }

 private:
  void elementwise() {
    std::string list = input_parameters();
    for (std::size_t p = 0; p < u_.outputs.size(); ++p) append(list, output_parameter(p));
    w_.line("{} void apply({}) {{", function_, list);
    w_.line("#line 1 \"{}\"", u_.name);
    w_.raw(u_.body + ";\n");
    w_.line("}}");
  }

  void reduction() {
    const reduction_text& r = u_.reduction;
    const std::optional<dtype>& known = u_.accumulator_type;
    w_.line("using accumulated = {};", known ? c_type(*known) : std::string_view(r.accumulator));
    expression("map", fmt::format("map_expression({})", input_parameters()), r.map);
    expression("reduce", "reduce_expression(const accumulated a, const accumulated b)", r.reduce);
    if (!r.identity.empty()) expression("identity", "identity_expression()", r.identity);
    if (!r.post_map.empty()) post_map();
    accumulator();
  }

  /// A function that returns the user's expression, converted as an assignment would. It stands in parentheses, so that
  /// nothing but an expression compiles.
  void expression(std::string_view role, const std::string& declared, const std::string& text) {
    w_.line("{} accumulated {} {{ return (", function_, declared);
    users_text(role, text, "");
    w_.line("); }}");
  }

  void post_map() {
    std::string list = own_output() < 0 ? "const accumulated a" : "accumulated& a";
    for (std::size_t p = 0; p < u_.outputs.size(); ++p)
      if (static_cast<int>(p) != own_output()) append(list, output_parameter(p));
    w_.line("{} void post_map_statements({}) {{", function_, list);
    users_text("post-map", u_.reduction.post_map, "\n;");
    w_.line("}}");
  }

  /// The output that is called `a`, as the accumulated value is: it is what the post-map makes of that. -1: none is.
  int own_output() const {
    for (std::size_t p = 0; p < u_.outputs.size(); ++p)
      if (u_.outputs[p].name == "a") return static_cast<int>(p);
    return -1;
  }

  void accumulator() {
    constexpr std::int64_t most = most_accumulator_bytes - 16;
    w_.line("#line 1 \"{} (reduction)\"", u_.name);
    w_.line("static_assert(__is_trivially_copyable(accumulated), \"{}: accumulators are copied as bytes\");", u_.name);
    w_.line("static_assert(sizeof(accumulated) <= {} && alignof(accumulated) <= 16,", most);
    w_.line("              \"{}: accumulators take at most {} bytes, aligned to 16\");", u_.name, most);
    w_.line("struct accumulation {{");
    w_.line("  accumulated value = {{}};");
    w_.line("  bool any = false;");
    std::string typed, names;
    for (std::size_t p = 0; p < u_.inputs.size(); ++p) {
      append(typed, fmt::format("const {} x{}", c_type(u_.input_types[p]), p));
      append(names, fmt::format("x{}", p));
    }
    w_.line("  {} void include(const accumulated x) {{", member_);
    w_.line("    value = any ? reduce_expression(value, x) : x;");
    w_.line("    any = true;");
    w_.line("  }}");
    w_.line("  {} void add({}) {{ include(map_expression({})); }}", member_, typed, names);
    w_.line("  {} void merge(const accumulation& other) {{", member_);
    w_.line("    if (other.any) include(other.value);");
    w_.line("  }}");
    result();
    w_.line("}};");
  }

  void result() {
    std::string typed, names = "total";
    for (std::size_t p = 0; p < u_.outputs.size(); ++p) {
      append(typed, fmt::format("{}& y{}", c_type(u_.output_types[p]), p));
      if (static_cast<int>(p) != own_output()) append(names, fmt::format("y{}", p));
    }
    w_.line("  {} void result({}) const {{", member_, typed);
    w_.line("    accumulated total = {};",
            u_.reduction.identity.empty()
                ? "value"
                : "any ? reduce_expression(identity_expression(), value) : identity_expression()");
    const bool is_output = u_.reduction.post_map.empty();
    if (!is_output) w_.line("    post_map_statements({});", names);
    w_.line("#line 1 \"{} (post-map)\"", u_.name);
    if (is_output) w_.line("    y0 = {};", rounded_total());
    else if (own_output() >= 0) w_.line("    y{} = total;", own_output());
    w_.line("  }}");
  }

  /// The total as a value of the first output: a double becomes a half float in one rounding.
  std::string rounded_total() const {
    const std::string_view rounded = rounding_function(u_.output_types[0]);
    return rounded.empty() || u_.accumulator_type != dtype::f64 ? "total" : fmt::format("{}(total)", rounded);
  }

  std::string input_parameters() const {
    std::string list;
    for (std::size_t p = 0; p < u_.inputs.size(); ++p)
      append(list, fmt::format("const {} {}", c_type(u_.input_types[p]), u_.inputs[p].name));
    return list;
  }
  std::string output_parameter(std::size_t p) const {
    return fmt::format("{}& {}", c_type(u_.output_types[p]), u_.outputs[p].name);
  }

  void users_text(std::string_view role, const std::string& text, std::string_view after) {
    w_.line("#line 1 \"{} ({})\"", u_.name, role);
    w_.raw(text);
    w_.raw(after);
    w_.raw("\n");
  }

  static void append(std::string& list, std::string_view text) { (list += list.empty() ? "" : ", ") += text; }

  const user_kernel& u_;
  writer& w_;
  std::string_view function_, member_;
};

}  // namespace

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

const std::string& user_code::space_of(const user_kernel& u) const {
  return spaces_[static_cast<std::size_t>(std::ranges::find(kernels_, &u) - kernels_.begin())];
}

std::string user_code::function_of(const user_kernel& u) const { return space_of(u) + "::apply"; }
std::string user_code::accumulator_of(const user_kernel& u) const { return space_of(u) + "::accumulation"; }

std::string user_code::source(dialect d) const {
  writer w;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    w.line("namespace {} {{", spaces_[k]);
    user_writer(*kernels_[k], d, w).all();
    w.line("}}  // namespace {}", spaces_[k]);
    w.line("#line 1 \"kernel\"");
  }
  return w.take();
}

}  // namespace sinter::jit
