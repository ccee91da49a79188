#include "tests/fuzz/run.hpp"

#include "dsl/compile.hpp"
#include "dsl/device.hpp"
#include "dsl/options.hpp"
#include "tests/fuzz/library.hpp"
#include "tests/fuzz/reference.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

namespace sinter_test::fuzz {

namespace {

/// The mode's switches while it lives.
class switches {
 public:
  explicit switches(const mode& how) : limits_(sinter::get_fusion_limits()) {
    sinter::set_wide_index(how.wide_index);
    if (how.tiny_launches) sinter::set_fusion_limits({.operations = 6, .inputs = 3});
  }
  ~switches() {
    sinter::set_wide_index(false);
    sinter::set_fusion_limits(limits_);
  }
  switches(const switches&) = delete;
  switches& operator=(const switches&) = delete;

 private:
  sinter::fusion_limits limits_;
};

bool part_matches(long double got, long double want, double error) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  return got == want || std::abs(got - want) <= error;
}

std::string position_of(std::int64_t k, const sinter::shape& extents) {
  std::string text;
  for (int axis = extents.rank(); axis-- > 0;) {
    text = std::to_string(k % extents[axis]) + (text.empty() ? "" : ", ") + text;
    k /= extents[axis];
  }
  return "(" + text + ")";
}

/// Empty when equal.
std::string difference(const sinter::array& got, const variable& want) {
  if (got.type() != want.h.type)
    return fmt::format("dtype {}, not {}", sinter::to_string(got.type()), sinter::to_string(want.h.type));
  if (got.extents() != want.h.extents)
    return fmt::format("shape {}, not {}", to_string(got.extents()), to_string(want.h.extents));
  const host_array values = from_device(got);
  for (std::int64_t k = 0; k < values.size(); ++k) {
    const value g = values.get(k);
    const cell w = want.get(k);
    if (part_matches(g.re, w.v.re, w.error) && part_matches(g.im, w.v.im, w.error)) continue;
    return fmt::format("element {} of {} {} is {}, not {}{}", position_of(k, want.h.extents),
                       sinter::to_string(want.h.type), to_string(want.h.extents), sinter_test::to_text(g, want.h.type),
                       sinter_test::to_text(w.v, want.h.type),
                       w.error > 0 ? fmt::format(" (within {:g})", w.error) : "");
  }
  return {};
}

std::string names_of(unsigned kinds) {
  std::string out;
  const auto add = [&](unsigned bit, const char* name) {
    if ((kinds & bit) != 0) out += (out.empty() ? "" : " or ") + std::string(name);
  };
  add(refused::shape, "shape_error");
  add(refused::type, "type_error");
  add(refused::index, "index_error");
  return out;
}

/// What running one statement threw: its kind, 0: nothing; or `text` for what no statement may throw.
struct thrown {
  unsigned kind = 0;
  std::string text = {};
};

template <class F>
thrown thrown_by(F&& f) {
  try {
    f();
  } catch (const sinter::shape_error& e) { return {refused::shape, e.what()}; } catch (const sinter::type_error& e) {
    return {refused::type, e.what()};
  } catch (const sinter::index_error& e) { return {refused::index, e.what()}; } catch (const std::exception& e) {
    return {~0u, e.what()};
  }
  return {};
}

/// Empty when the library threw what it must.
std::string complaint(const thrown& t, unsigned wanted) {
  if (wanted == 0) return t.kind == 0 ? "" : "threw: " + t.text;
  if (t.kind == 0) return "threw nothing, not " + names_of(wanted);
  return t.kind != ~0u && (t.kind & wanted) != 0 ? "" : fmt::format("threw not {}, but: {}", names_of(wanted), t.text);
}

class comparison {
 public:
  explicit comparison(const mode& how) : how_(how), arrays_(variable_count) {}

  /// Empty, or what is wrong.
  std::string take(const step& s) {
    const outcome o = variables_.run(s);
    if (o.skipped) return {};
    if (how_.compiled && o.errors == 0 && s.what != verb::check) {
      waiting_.push_back(s);
      return waiting_.size() < statements_at_once ? std::string() : run_waiting();
    }
    if (std::string wrong = run_waiting(); !wrong.empty()) return wrong;
    if (std::string wrong = complaint(thrown_by([&] { arrays_.run(s); }), o.errors); !wrong.empty()) return wrong;
    if (how_.evaluates_each)
      if (const thrown t = thrown_by([&] { arrays_.settle(); }); t.kind != 0) return "eval threw: " + t.text;
    return s.what == verb::check ? check(s.from[0]) : std::string();
  }

  /// The statements that wait, as a compiled function of all variables; empty, or what it threw.
  std::string run_waiting() {
    if (waiting_.empty()) return {};
    const std::vector<step> statements = std::exchange(waiting_, {});
    auto f = sinter::compile([&statements](std::vector<sinter::array> v) {
      library inside(variable_count);
      for (int k = 0; k < variable_count; ++k) inside[k] = std::move(v[static_cast<std::size_t>(k)]);
      for (const step& s : statements) inside.run(s);
      for (int k = 0; k < variable_count; ++k) v[static_cast<std::size_t>(k)] = std::move(inside[k]);
      return v;
    });
    std::vector<sinter::array> before;
    for (int k = 0; k < variable_count; ++k) before.push_back(arrays_[k]);
    const thrown t = thrown_by([&] {
      f(before);
      std::vector<sinter::array> after = f(before);
      for (int k = 0; k < variable_count; ++k) arrays_[k] = std::move(after[static_cast<std::size_t>(k)]);
    });
    if (t.kind == 0) return {};
    // Statements that need values run as they are.
    if (t.kind != refused::type || t.text.find("compile()") == std::string::npos) return "compiled, threw: " + t.text;
    for (const step& s : statements)
      if (const thrown plain = thrown_by([&] { arrays_.run(s); }); plain.kind != 0) return "threw: " + plain.text;
    return {};
  }

  std::string check(int k) {
    if (std::string wrong = run_waiting(); !wrong.empty()) return wrong;
    std::string found;
    const thrown t = thrown_by([&] { found = difference(arrays_[k], variables_[k]); });
    if (t.kind != 0) return fmt::format("v{}: reading threw: {}", k, t.text);
    return found.empty() ? found : fmt::format("v{}: {}", k, found);
  }

 private:
  static constexpr std::size_t statements_at_once = 6;

  const mode& how_;
  reference variables_;
  library arrays_;
  std::vector<step> waiting_;
};

}  // namespace

void use_executor(const std::string& name) {
  sinter::set_default_device(name == "cuda" ? sinter::cuda(0) : sinter::cpu());
  sinter::set_cpu_executor(name == "interpreter" ? sinter::cpu_executor::interpreter : sinter::cpu_executor::compiler);
}

std::optional<std::string> failure_of(const program& p, const mode& how) {
  const switches on(how);
  // What an earlier program left to be told is not this one's fault.
  static_cast<void>(thrown_by([] { sinter::synchronize(); }));
  comparison c(how);
  for (const step& s : p)
    if (const std::string wrong = c.take(s); !wrong.empty()) return fmt::format("at `{}`: {}", to_text(s), wrong);
  for (int k = 0; k < variable_count; ++k)
    if (const std::string wrong = c.check(k); !wrong.empty()) return "at the end: " + wrong;
  return std::nullopt;
}

std::string to_text(const program& p) {
  reference variables;
  std::string out;
  for (const step& s : p) {
    const outcome o = variables.run(s);
    if (o.skipped) continue;
    out += "  " + to_text(s);
    if (o.errors != 0) out += "  // throws " + names_of(o.errors);
    out += "\n";
  }
  return out;
}

}  // namespace sinter_test::fuzz
