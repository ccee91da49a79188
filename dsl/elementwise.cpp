#include "dsl/elementwise.hpp"

#include "dsl/index.hpp"
#include "dsl/loops_internal.hpp"
#include "dsl/record_internal.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/loops.hpp"
#include "jit/placeholders.hpp"
#include "jit/user_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace sinter {

constinit const operand no_operand(0, place{});
constinit const destination no_destination;

namespace {

using inputs = jit::short_list<jit::input, jit::most_parameters>;

inputs inputs_of(std::span<const operand* const> operands) {
  inputs in;
  for (const operand* x : operands)
    if (x != &no_operand) in.push_back(last_input_of(*x));
  return in;
}

void check_wanted(std::string_view name, int outputs, int wanted, const place& at) {
  if (wanted == 0 || wanted == outputs) return;
  throw_type_error(fmt::format("{}: has {} output(s), {} asked for", name, outputs, wanted), at,
                   fmt::format("take them all: kernel.results<{}>(...)", outputs));
}

/// The call of a kernel whose caller can take `wanted` outputs, 0: any number.
jit::node_ref record_call(const jit::user_kernel& k, std::span<const jit::input> in, int wanted) {
  const place& at = in.empty() ? k.site : in[0].site;
  check_wanted(k.name, static_cast<int>(k.outputs.size()), wanted, at);
  return jit::record_call(k, in, at);
}

jit::node_ref record_call(const jit::user_kernel& k, std::span<const operand* const> operands, int wanted) {
  return record_call(k, std::span<const jit::input>(inputs_of(operands)), wanted);
}

const std::string& name_of_functions() {
  static const std::string* const name = new std::string("elementwise function");
  return *name;
}

/// Runs the function on placeholders, and puts the operands in their places.
std::vector<array> call_function(const traced_function& f, std::span<const jit::input> in, int wanted) {
  const std::string& name = name_of_functions();
  const place& at = in.empty() ? f.site : in[0].site;
  if (!f.takes(in.size()))
    throw_type_error(fmt::format("{}: it does not take {} operand(s)", name, in.size()), at,
                     fmt::format("it was made at {}:{}", f.site.file, f.site.line));
  jit::placeholders stand_ins(in, name, at);
  std::vector<array> arguments, out;
  for (const jit::node_ref& n : stand_ins.nodes()) arguments.push_back(wrap(n));
  {
    const jit::body_recording body(name);
    const loops::body_scatters none(name, false);
    const jit::statements_paused paused;
    out = f.run(arguments);
  }
  check_wanted(name, static_cast<int>(out.size()), wanted, at);
  std::vector<array> results;  // built, not assigned: that would be statements of the program
  for (const array& y : out) results.push_back(wrap(stand_ins.apply(y.node())));
  return results;
}

array result_of(const jit::user_kernel* kernel, const traced_function* function, std::span<const jit::input> in) {
  if (!kernel) return std::move(call_function(*function, in, 1)[0]);
  return wrap(jit::result_of(record_call(*kernel, in, 1), 0));
}

}  // namespace

array array_of_bytes(const void* bytes, std::size_t count, const place& at) {
  std::vector<jit::node_ref> words;
  std::vector<jit::node*> pieces;
  for (std::size_t first = 0; first < count; first += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(bytes) + first, std::min<std::size_t>(8, count - first));
    words.push_back(jit::make_broadcast(jit::make_scalar(scalar(word), u64, at).get(), shape{1}, at));
    pieces.push_back(words.back().get());
  }
  return wrap(jit::make_join(pieces, 0, at));
}

array destination::before() const { return variable_ ? *variable_ : array(static_cast<const selection&>(*part_)); }
void destination::become(const array& now) const {
  if (variable_) *variable_ = now;
  else std::move(*part_) = operand(now, at_);
}

elementwise::elementwise(std::string_view name, std::string_view inputs, std::string_view outputs,
                         std::string_view body, const elementwise_options& how, place at)
    : kernel_(jit::parse_user_kernel(name, inputs, outputs, body, how.preamble, how.options, at,
                                     {std::string(how.loop_prep), std::string(how.after_loop)})
                  .get()) {}

elementwise::elementwise(const elementwise& other) noexcept : kernel_(other.kernel_), function_(other.function_) {
  if (function_) std::atomic_ref(function_->owners).fetch_add(1, std::memory_order_relaxed);
}
elementwise& elementwise::operator=(const elementwise& other) noexcept {
  elementwise copy(other);
  std::swap(kernel_, copy.kernel_);
  std::swap(function_, copy.function_);
  return *this;
}
elementwise::~elementwise() {
  if (function_ && std::atomic_ref(function_->owners).fetch_sub(1, std::memory_order_acq_rel) == 1) delete function_;
}

const std::string& elementwise::name() const { return kernel_ ? kernel_->name : name_of_functions(); }
int elementwise::input_count() const {
  if (kernel_) return static_cast<int>(kernel_->inputs.size());
  int count = -1;
  for (std::size_t k = 0; k <= jit::most_parameters; ++k) {
    if (!function_->takes(k)) continue;
    if (count >= 0) return -1;
    count = static_cast<int>(k);
  }
  return count;
}
int elementwise::output_count() const { return kernel_ ? static_cast<int>(kernel_->outputs.size()) : -1; }

array elementwise::result(std::span<const operand* const> operands) const {
  return result_of(kernel_, function_, std::span<const jit::input>(inputs_of(operands)));
}

array elementwise::operator()() const { return result_of(kernel_, function_, {}); }
array elementwise::operator()(const operand& x0) const {
  const jit::input in[] = {last_input_of(x0)};
  return result_of(kernel_, function_, in);
}
array elementwise::operator()(const operand& x0, const operand& x1) const {
  const jit::input in[] = {last_input_of(x0), last_input_of(x1)};
  return result_of(kernel_, function_, in);
}
array elementwise::operator()(const operand& x0, const operand& x1, const operand& x2) const {
  const jit::input in[] = {last_input_of(x0), last_input_of(x1), last_input_of(x2)};
  return result_of(kernel_, function_, in);
}

std::vector<array> elementwise::call(std::span<const operand* const> operands, int wanted) const {
  if (!kernel_) return call_function(*function_, inputs_of(operands), wanted);
  const jit::node_ref made = record_call(*kernel_, operands, wanted);
  std::vector<array> out;
  for (std::size_t k = 0; k < kernel_->outputs.size(); ++k) out.push_back(wrap(jit::result_of(made, k)));
  return out;
}

elementwise_call elementwise::sized(std::int64_t size, place at) const {
  return elementwise_call(*this, at).sized(size, at);
}

elementwise_call elementwise_call::sized(std::int64_t size, place at) && {
  if (size < 0)
    throw_shape_error(fmt::format("{}: a size of {}", kernel_.name(), size), at);
  if (!kernel_.kernel_)
    throw_type_error(fmt::format("{}: takes no size", kernel_.name()), at,
                     "its operands' shapes say how many elements");
  size_ = size;
  at_ = at;
  return std::move(*this);
}

elementwise_call& elementwise_call::with_outputs(std::span<const destination* const> outputs) {
  for (const destination* d : outputs)
    if (d != &no_destination) outputs_.push_back(*d);
  return *this;
}

std::vector<array> elementwise_call::run(std::span<const operand* const> operands, int wanted) const {
  const inputs in = inputs_of(operands);
  const place& at = !in.empty() ? in[0].site : !outputs_.empty() ? outputs_[0].at() : at_;
  std::vector<array> before, out;
  std::vector<jit::input> given;
  for (const destination& d : outputs_) before.push_back(d.before());
  for (std::size_t k = 0; k < before.size(); ++k) given.push_back(input_of(before[k], outputs_[k].at()));
  if (kernel_.kernel_) {
    const jit::user_kernel& k = *kernel_.kernel_;
    check_wanted(k.name, static_cast<int>(k.outputs.size()), wanted, at);
    const jit::node_ref made = jit::record_call(k, in, at, {size_, given});
    for (std::size_t p = 0; p < k.outputs.size(); ++p) out.push_back(wrap(jit::result_of(made, p)));
  } else {
    out = fitted(call_function(*kernel_.function_, in, wanted), before);
  }
  before.clear();
  for (std::size_t k = 0; k < outputs_.size(); ++k) outputs_[k].become(out[k]);
  return out;
}

/// What a function gives, as what its destinations are.
std::vector<array> elementwise_call::fitted(std::vector<array> out, const std::vector<array>& before) const {
  if (before.empty()) return out;
  if (out.size() != before.size())
    throw_type_error(fmt::format("{}: has {} output(s), {} given", kernel_.name(), out.size(), before.size()),
                     outputs_[0].at(), "give all of them or none");
  std::vector<array> results;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const place& at = outputs_[k].at();
    if (out[k].extents() != before[k].extents())
      throw_shape_error(fmt::format("{}: output {} has shape {}, but there are {} elements", kernel_.name(), k,
                                    to_string(before[k].extents()), to_string(out[k].extents())),
                        at, "outputs don't broadcast");
    check_kind(before[k].type(), out[k].type(), kernel_.name(), at, "give the output another dtype");
    results.push_back(convert(out[k], before[k].type(), at));
  }
  return results;
}

}  // namespace sinter
