#include "tests/fuzz/step.hpp"

#include "tests/fuzz/operations.hpp"

#include <fmt/format.h>

namespace sinter_test::fuzz {

namespace {

constexpr std::int64_t most_shown = 64;

std::string name_of(int k) { return fmt::format("v{}", k); }

std::string text_of(const number& n) {
  if (n.type == sinter::boolean) return n.x != 0 ? "true" : "false";
  return n.type == sinter::i64 ? fmt::format("{}", static_cast<std::int64_t>(n.x)) : fmt::format("{:#}", n.x);
}

std::string text_of(const host_array& x) {
  std::string list;
  for (std::int64_t k = 0; k < x.size() && k < most_shown; ++k)
    list += (k == 0 ? "" : ", ") + sinter_test::to_text(x.get(k), x.type);
  if (x.size() > most_shown) list += ", ...";
  return fmt::format("array<{}>{}{{{}}}", sinter::to_string(x.type), to_string(x.extents), list);
}

std::string text_of(const pick& p) {
  switch (p.what) {
    case pick::kind::integer: return std::to_string(p.integer);
    case pick::kind::whole: return "all";
    case pick::kind::unit: return "newaxis";
    case pick::kind::rest: return "ellipsis";
    case pick::kind::variable: return name_of(static_cast<int>(p.integer));
    case pick::kind::array: return text_of(p.values) + (p.pending ? " + 0" : "");
    default: break;
  }
  const bool up = p.step >= 0;
  return fmt::format("range({}, {}, {})",
                     p.first ? std::to_string(*p.first)
                     : up    ? "begin"
                             : "end",
                     p.last ? std::to_string(*p.last)
                     : up   ? "end"
                            : "begin",
                     p.step);
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (std::int64_t k : numbers) out += (out.empty() ? "" : ", ") + std::to_string(k);
  return "{" + out + "}";
}

std::string listed(const std::vector<pick>& picks) {
  std::string out;
  for (const pick& p : picks) out += (out.empty() ? "" : ", ") + text_of(p);
  return out;
}

std::string variables(const step& s) {
  std::string out;
  for (int k : s.from) out += (out.empty() ? "" : ", ") + name_of(k);
  return out;
}

/// The right side of a write.
std::string right_side(const step& s) {
  if (s.use_value) return text_of(s.value);
  return name_of(s.from.at(1)) + (s.as_selection ? "(ellipsis)" : "");
}

std::string written(const step& s) {
  const std::string to = name_of(s.from[0]), how = write_names[s.code];
  const std::string numbers = s.numbers.empty() ? "" : fmt::format(", {}", s.numbers[0]);
  if (s.what == verb::put) return fmt::format("put({}, {}, {})", to, listed(s.picks), right_side(s));
  if (s.what == verb::put_along_axis)
    return fmt::format("put_along_axis({}, {}, {}{})", to, listed(s.picks), right_side(s), numbers);
  if (s.what == verb::scatter)
    return fmt::format("scatter[{}]({}, {}, {}{})", how, to, listed(s.picks), right_side(s), numbers);
  const bool by_name = static_cast<write>(s.code) >= write::minimum;
  return by_name ? fmt::format("{}({}).{}({})", to, listed(s.picks), how, right_side(s))
                 : fmt::format("{}({}) {} {}", to, listed(s.picks), how, right_side(s));
}

constexpr const char* pad_modes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
constexpr const char* shape_names[] = {"reshape",      "ravel",       "transpose", "swapaxes", "moveaxis",
                                       "broadcast_to", "expand_dims", "squeeze",   "flip",     "diagonal",
                                       "rot90",        "roll",        "tile",      "repeat"};
constexpr const char* join_names[] = {"concat", "stack", "hstack", "vstack", "dstack", "pad", "split"};
constexpr const char* search_names[] = {"nonzero", "flatnonzero", "argwhere", "compress", "unique", "bincount"};

std::string joined(const step& s) {
  const char* name = join_names[static_cast<int>(s.what) - static_cast<int>(verb::concat)];
  std::string out = fmt::format("{}({{{}}}, {}", name, variables(s), listed(s.numbers));
  if (s.what == verb::pad) out += fmt::format(", pad_mode::{}, {}", pad_modes[s.code], text_of(s.value));
  return out + (s.flag ? s.what == verb::pad ? ") /* one width */" : ") /* array_split */" : ")");
}

std::string reduced(const step& s) {
  const std::string x = name_of(s.from.at(0)), over = s.numbers.empty() ? "axes{}" : listed(s.numbers);
  const auto op = static_cast<reduction>(s.code);
  const std::string order = op == reduction::norm ? fmt::format("{}, ", norm_orders[s.amount]) : "";
  const bool has_ddof = takes_ddof(op) && s.amount != 0;
  if (!s.masked && !s.typed && !s.use_value && !has_ddof)
    return fmt::format("{}({}, {}{}{})", reduction_names[s.code], x, order, over, s.flag ? ", keepdims" : "");
  std::string options = ".over = " + over;
  if (s.flag) options += ", .keep = keepdims";
  if (s.masked) options += ", .where = " + name_of(s.from.at(1));
  if (s.typed) options += fmt::format(", .type = {}", sinter::to_string(s.type));
  if (s.use_value) options += ", .initial = " + text_of(s.value);
  if (has_ddof) options += fmt::format(", .ddof = {}", s.amount);
  return fmt::format("{}({}, {{{}}})", reduction_names[s.code], x, options);
}

std::string differences(const step& s) {
  std::string edges;
  std::size_t next = 1;
  for (const int side : {1, 2}) {
    if (s.code == 0 || (side == 2 && s.code == 1)) break;
    edges += (s.code & side) != 0 ? ", " + name_of(s.from.at(next++)) : ", {}";
  }
  return fmt::format("diff({}, {}, {}{})", name_of(s.from.at(0)), s.amount, s.numbers[0], edges);
}

std::string result_text(const step& s) {
  const std::string operands = variables(s);
  switch (s.what) {
    case verb::make: return text_of(s.data);
    case verb::full: return fmt::format("full({}, {}, {})", to_string(s.extents), text_of(s.value), to_string(s.type));
    case verb::ramp:
      return fmt::format("reshape(arange({}), {}).astype({})", s.extents.size(), to_string(s.extents),
                         to_string(s.type));
    case verb::copy: return operands;
    case verb::unary_call: return fmt::format("{}({})", unary_names[s.code], operands);
    case verb::binary_call: return fmt::format("{}({})", binary_names[s.code], operands);
    case verb::with_number:
      return s.flag ? fmt::format("{}({}, {})", binary_names[s.code], text_of(s.value), operands)
                    : fmt::format("{}({}, {})", binary_names[s.code], operands, text_of(s.value));
    case verb::choose:
      return s.use_value ? fmt::format("where({}, {})", operands, text_of(s.value))
                         : fmt::format("where({})", operands);
    case verb::clip: return fmt::format("clip({}, {}, {})", operands, s.numbers[0], s.numbers[1]);
    case verb::convert: return fmt::format("{}.astype({})", operands, to_string(s.type));
    case verb::string_kernel:
      return s.code == 3
                 ? fmt::format("string_reduction({}, {}{})", operands, listed(s.numbers), s.flag ? ", keepdims" : "")
                 : fmt::format("string_kernel[{}]({})", s.code, operands);
    case verb::index: return fmt::format("{}({})", operands, listed(s.picks));
    case verb::take:
      return s.flag ? fmt::format("take({}, {})", operands, listed(s.picks))
                    : fmt::format("take({}, {}, {})", operands, listed(s.picks), s.numbers[0]);
    case verb::take_along_axis:
      return fmt::format("take_along_axis({}, {}, {})", operands, listed(s.picks), s.numbers[0]);
    case verb::reduce: return reduced(s);
    case verb::scan:
      return fmt::format("{}({}{}{})", running_names[s.code], operands, s.flag ? "" : fmt::format(", {}", s.numbers[0]),
                         s.typed ? fmt::format(" /* in {} */", to_string(s.type)) : "");
    case verb::difference: return differences(s);
    case verb::exponential: return fmt::format("{}({}, {})", exponential_names[s.code], operands, listed(s.numbers));
    case verb::product:
      return fmt::format("{}({}{})", product_names[s.code], operands,
                         s.numbers.empty() ? "" : ", " + listed(s.numbers));
    default: break;
  }
  if (s.what >= verb::nonzero && s.what <= verb::bincount)
    return fmt::format("{}({}{}) /* {} */", search_names[static_cast<int>(s.what) - static_cast<int>(verb::nonzero)],
                       operands, s.flag ? ", flat" : "", listed(s.numbers));
  if (s.what >= verb::concat && s.what <= verb::split) return joined(s);
  const char* name = shape_names[static_cast<int>(s.what) - static_cast<int>(verb::reshape)];
  if (s.what == verb::reshape || s.what == verb::broadcast)
    return fmt::format("{}({}, {})", name, operands, to_string(s.extents));
  return fmt::format("{}({}, {}{})", name, operands, listed(s.numbers), s.flag ? ", flat" : "");
}

}  // namespace

std::string to_text(const step& s) {
  switch (s.what) {
    case verb::swap: return fmt::format("std::swap({});", variables(s));
    case verb::drop: return fmt::format("{} = array();", variables(s));
    case verb::evaluate: return fmt::format("eval({});", variables(s));
    case verb::check: return fmt::format("{}.copy_to(...);", variables(s));
    case verb::assign:
    case verb::scatter:
    case verb::put:
    case verb::put_along_axis: return written(s) + ";";
    case verb::compound: return fmt::format("{} <{}>= {};", name_of(s.from[0]), binary_names[s.code], right_side(s));
    default: return fmt::format("{} = {};", name_of(s.result), result_text(s));
  }
}

}  // namespace sinter_test::fuzz
