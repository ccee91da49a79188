#include "dsl/reduction.hpp"

#include "dsl/record_internal.hpp"
#include "jit/user_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sinter {

namespace {

using role = reduction_argument::role;

/// The arguments of one call, told apart: inputs first, then axes, then keepdims.
class call_arguments {
 public:
  call_arguments(const jit::user_kernel& k, std::span<const reduction_argument* const> list) : k_(k) {
    for (const reduction_argument* x : list)
      if (x != &no_argument()) add(*x);
    if (inputs.size() < k.inputs.size()) throw_count(inputs.size(), site());
  }

  /// Where the call stands: the first argument's line.
  const place& site() const { return site_; }

  std::vector<jit::input> inputs;
  axes over;
  keepdims_t keep;

 private:
  void add(const reduction_argument& x) {
    const place& at = x.value().at();
    if (given_++ == 0) site_ = at;
    if (x.is() == role::value && inputs.size() < k_.inputs.size()) return inputs.push_back(input_of(x.value()));
    if (inputs.size() < k_.inputs.size()) throw_count(inputs.size(), at);
    if (x.is() == role::keep && !has_keep_) {
      keep = x.keep();
      has_keep_ = true;
    } else if (has_keep_ || has_axes_) {
      throw_type_error(fmt::format("{}: one more argument after {}", k_.name, has_keep_ ? "keepdims" : "the axes"), at,
                       "several axes are one argument: {0, 1}");
    } else {
      over = x.is() == role::axes ? x.over() : axis(x.value());
      has_axes_ = true;
    }
  }

  /// A number where axes are wanted.
  axes axis(const operand& x) const {
    if (x.node() != nullptr) throw_count(inputs.size() + 1, x.at());
    const scalar& number = x.number();
    if (number.type != i64 && number.type != u64)
      throw_type_error(fmt::format("{}: an axis is an int, but this is {}", k_.name, to_string(number.type)), x.at(),
                       "after the inputs come axes, then keepdims");
    // What doesn't fit is outside any array, too.
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    if (number.type == u64) return static_cast<int>(std::min(number.as_u64, static_cast<std::uint64_t>(most)));
    return static_cast<int>(std::clamp(number.as_i64, -most, most));
  }

  [[noreturn]] void throw_count(std::size_t given, const place& at) const {
    throw_type_error(fmt::format("{}: takes {} input(s), {} given", k_.name, k_.inputs.size(), given), at,
                     "after the inputs come axes, then keepdims");
  }

  const jit::user_kernel& k_;
  place site_;
  int given_ = 0;
  bool has_axes_ = false, has_keep_ = false;
};

}  // namespace

const reduction_argument& no_argument() noexcept {
  static const reduction_argument none(0, place{});
  return none;
}

reduction::reduction(std::string_view name, std::string_view inputs, std::string_view outputs, std::string_view map,
                     std::string_view reduce, std::string_view post_map, std::string_view identity,
                     const reduction_options& how, place at)
    : kernel_(jit::parse_user_reduction(name, inputs, outputs,
                                        {.map = std::string(map),
                                         .reduce = std::string(reduce),
                                         .post_map = std::string(post_map),
                                         .identity = std::string(identity),
                                         .accumulator = std::string(how.accumulator)},
                                        how.preamble, how.options, at)
                  .get()) {}

const std::string& reduction::name() const { return kernel_->name; }
int reduction::input_count() const { return static_cast<int>(kernel_->inputs.size()); }
int reduction::output_count() const { return static_cast<int>(kernel_->outputs.size()); }

std::vector<array> reduction::call(std::span<const reduction_argument* const> arguments, int wanted) const {
  const call_arguments given(*kernel_, arguments);
  const place& at = given.site();
  if (wanted > 0 && wanted != output_count())
    throw_type_error(fmt::format("{}: has {} output(s), {} asked for", name(), output_count(), wanted), at,
                     fmt::format("take them all: kernel.results<{}>(...)", output_count()));
  const int rank = jit::broadcast_extents(given.inputs, name(), at).rank();
  const std::uint32_t reduced = axis_bits(given.over, rank, name(), at);
  const jit::node_ref made = jit::record_user_reduction(*kernel_, given.inputs, reduced, given.keep.on, at);
  std::vector<array> out;
  for (std::size_t k = 0; k < kernel_->outputs.size(); ++k) out.push_back(wrap(jit::result_of(made, k)));
  return out;
}

}  // namespace sinter
