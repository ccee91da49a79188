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
    if (u_.loop.is_there()) return loop_of_its_own();
    w_.line("{} void apply({}) {{", function_, parameters(scope::element, scope::loop));
    body();
    w_.line("}}");
  }

  /// The loop is the caller's: it is given what to call for each element.
  void loop_of_its_own() {
    std::string list = parameters(scope::loop, scope::loop);
    append(list, "Loop&& run_elements");
    w_.line("template <class Loop>");
    w_.line("{} void run({}) {{", function_, list);
    if (!u_.loop.before.empty()) users_text("loop_prep", u_.loop.before, "\n;");
    w_.line("#line 1 \"{} (loop)\"", u_.name);
    w_.line("run_elements([&]({}) {{", parameters(scope::element, scope::element));
    body();
    w_.line("}});");
    if (!u_.loop.after.empty()) users_text("after_loop", u_.loop.after, "\n;");
    w_.line("}}");
  }

  /// The user's statements: `continue` ends the element, as `return` does, and names of the user's own may hide `i` and
  /// `n`.
  void body() {
    const bool leaves = mentions(u_.body, "continue") || mentions(u_.body, "break");
    if (leaves) w_.line("do {{");
    else if (u_.wants_position || u_.wants_count) w_.line("{{");
    w_.line("#line 1 \"{}\"", u_.name);
    w_.raw(u_.body + "\n;\n");  // on a line of its own: compilers show users theirs
    if (leaves) w_.line("}} while (false);");
    else if (u_.wants_position || u_.wants_count) w_.line("}}");
  }

  static bool mentions(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

  /// What is declared where, of a kernel with code around its loop: for all elements, or for each.
  enum class scope { element, loop };

  bool is_loop_wide(std::size_t input) const { return u_.inputs[input].is_raw || (u_.form.numbers >> input & 1u) != 0; }

  /// From inputs to outputs, those of the scopes from `first` to `last`.
  std::string parameters(scope first, scope last) const {
    std::string list;
    const auto wanted = [&](bool loop_wide) { return loop_wide ? last == scope::loop : first == scope::element; };
    for (std::size_t p = 0; p < u_.inputs.size(); ++p)
      if (wanted(is_loop_wide(p))) append(list, input_parameter(p));
    if (u_.wants_position && wanted(false)) append(list, "const ptrdiff_t i");
    if (u_.wants_count && wanted(true)) append(list, "const ptrdiff_t n");
    if (u_.wants_index && wanted(false))
      append(list, fmt::format("const loop_index<{}> _ind", u_.form.index_rank));
    for (std::size_t p = 0; p < u_.outputs.size(); ++p)
      if (wanted(u_.outputs[p].is_raw)) append(list, output_parameter(p));
    return list;
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
    for (std::size_t p = 0; p < u_.inputs.size(); ++p) append(list, input_parameter(p));
    return list;
  }
  std::string input_parameter(std::size_t p) const {
    const user_parameter& x = u_.inputs[p];
    if (x.is_struct) return fmt::format("const {}& {}", x.type, x.name);
    if (x.is_raw) return raw_parameter("const ", u_.input_types[p], u_.form.inputs[p], x.name);
    return fmt::format("const {} {}", c_type(u_.input_types[p]), x.name);
  }
  std::string output_parameter(std::size_t p) const {
    const user_parameter& y = u_.outputs[p];
    if (y.is_raw) return raw_parameter("", u_.output_types[p], u_.form.outputs[p], y.name);
    return fmt::format("{}& {}", c_type(u_.output_types[p]), y.name);
  }
  static std::string raw_parameter(std::string_view constant, dtype type, int rank, std::string_view name) {
    return fmt::format("const raw_array<{}{}, {}>& {}", constant, c_type(type), rank, name);
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

/// What the preamble and the texts of a kernel define as macros: they end where the kernel's namespace does.
std::vector<std::string> macros_of(const user_kernel& u) {
  std::vector<std::string> names;
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (const std::string* text : {&u.preamble, &u.loop.before, &u.body, &u.loop.after}) {
    for (std::size_t at = text->find("define"); at != text->npos; at = text->find("define", at + 1)) {
      std::size_t before = at;
      while (before > 0 && ((*text)[before - 1] == ' ' || (*text)[before - 1] == '\t')) --before;
      if (before == 0 || (*text)[before - 1] != '#') continue;
      std::size_t begin = at + 6;
      while (begin < text->size() && ((*text)[begin] == ' ' || (*text)[begin] == '\t')) ++begin;
      std::size_t end = begin;
      while (end < text->size() && is_part((*text)[end])) ++end;
      if (end > begin) names.push_back(text->substr(begin, end - begin));
    }
  }
  return names;
}

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

std::string user_code::loop_of(const user_kernel& u) const { return space_of(u) + "::run"; }
std::string user_code::function_of(const user_kernel& u) const { return space_of(u) + "::apply"; }
std::string user_code::accumulator_of(const user_kernel& u) const { return space_of(u) + "::accumulation"; }

std::string user_code::source(dialect d) const {
  writer w;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    w.line("namespace {} {{", spaces_[k]);
    user_writer(*kernels_[k], d, w).all();
    w.line("}}  // namespace {}", spaces_[k]);
    for (const std::string& macro : macros_of(*kernels_[k])) w.line("#undef {}", macro);
    w.line("#line 1 \"kernel\"");
  }
  return w.take();
}

}  // namespace sinter::jit
