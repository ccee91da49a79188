// Calls of users' kernels: what dtypes they bind, and their nodes.
#include "jit/user_kernel.hpp"

#include "jit/fold/foreseen.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace sinter::jit {

namespace {

/// Finds the dtypes of one call; every error names the kernel.
class binder {
 public:
  binder(const user_kernel& k, std::span<const input> operands, const place& at, std::span<const input> outputs = {})
      : k_(k), operands_(operands), at_(at) {
    if (operands.size() != k.inputs.size())
      throw_type_error(fmt::format("{}: takes {} input(s), {} given", k.name, k.inputs.size(), operands.size()), at);
    if (!outputs.empty() && outputs.size() != k.outputs.size())
      throw_type_error(fmt::format("{}: has {} output(s), {} given", k.name, k.outputs.size(), outputs.size()), at,
                       "give all of them or none");
    for (std::size_t p = 0; p < outputs.size(); ++p) bind_array(k_.outputs[p], outputs[p]);
    for (std::size_t p = 0; p < operands_.size(); ++p) bind_operand(p);
    for (std::size_t p = 0; p < operands_.size(); ++p)
      if (!operands_[p].array && !k_.inputs[p].is_struct && !k_.inputs[p].type_in(letters_))
        bind_numbers(k_.inputs[p].type);
    for (const user_parameter& p : k_.inputs) types_.push_back(p.is_struct ? dtype::u64 : *p.type_in(letters_));
    for (const user_parameter& p : k_.outputs) check_output(p);
  }

  const user_kernel& kernel(const call_form& form = {}) const { return bind_user_kernel(k_, types_, letters_, form); }

 private:
  void bind_operand(std::size_t k) {
    const user_parameter& p = k_.inputs[k];
    const node* x = operands_[k].array;
    if (p.is_raw && !x)
      throw_type_error(
          fmt::format("{}: {} is raw, an array that the body indexes, but a number is given", k_.name, p.name),
          operands_[k].site);
    if (p.is_struct) check_struct(p, x, operands_[k].site);
    else if (x) bind_array(p, operands_[k]);
  }

  void check_struct(const user_parameter& p, const node* x, const place& at) const {
    if (x && x->type == dtype::u64 && x->extents.rank() == 1 && x->extents[0] <= most_words_of_struct) return;
    throw_type_error(fmt::format("{}: {} is a struct {}, passed by value", k_.name, p.name, p.type), at,
                     fmt::format("wrap it: {}(by_value({{...}}), ...)", k_.name));
  }

  void bind_array(const user_parameter& p, const input& x) {
    const dtype given = x.array->type;
    const std::optional<dtype> wanted = p.type_in(letters_);
    if (!wanted) letters_.emplace_back(p.type[0], given);
    if (!wanted || *wanted == given) return;
    const std::string because = p.is_placeholder() ? fmt::format(", since {} is {}", p.type, to_string(*wanted)) : "";
    throw_type_error(fmt::format("{}: {} is {}, but its parameter is {}{}", k_.name, p.name, to_string(given),
                                 to_string(*wanted), because),
                     x.site, fmt::format("convert it: {}.astype({})", p.name, to_string(*wanted)));
  }

  /// A placeholder that no array carries: the common C++ dtype of its numbers.
  void bind_numbers(const std::string& letter) {
    std::vector<input> numbers;
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (k_.inputs[k].type == letter) numbers.push_back(operands_[k]);
    letters_.emplace_back(letter[0], common_type(numbers, k_.name, at_));
  }

  /// Outputs take their types from inputs.
  void check_output(const user_parameter& p) const {
    if (p.type_in(letters_)) return;
    throw_type_error(
        fmt::format("{}: the type {} of output {} is not deducible: no input has it", k_.name, p.type, p.name), at_,
        "give the output a fixed type, such as f32, or an array to write: k.into(z)(...)");
  }

  const user_kernel& k_;
  std::span<const input> operands_;
  const place& at_;
  letters letters_;
  std::vector<dtype> types_;
};

/// Whether operand n, a number, has the dtype of parameter n whatever it is: an array has it, or the type is fixed.
[[gnu::noinline]] bool is_bound_by_arrays(const user_kernel& k, std::span<const input> operands, std::size_t n) {
  if (!k.inputs[n].is_placeholder()) return true;
  for (std::size_t p = 0; p < operands.size(); ++p)
    if (operands[p].array && k.inputs[p].type == k.inputs[n].type) return true;
  return false;
}

/// Whether these operands bind what those of the last call bound.
bool binds_the_same(const user_kernel& k, const user_kernel& bound, std::span<const input> operands) {
  if (operands.size() != bound.input_types.size()) return false;
  for (std::size_t n = 0; n < operands.size(); ++n) {
    if (!operands[n].array && !is_bound_by_arrays(k, operands, n)) return false;
    if (operands[n].array && operands[n].array->type != bound.input_types[n]) return false;
  }
  return true;
}

const user_kernel& bound_kernel(const user_kernel& k, std::span<const input> operands, const place& at) {
  const user_kernel* last = std::atomic_ref(k.last_bound).load(std::memory_order_acquire);
  return last && binds_the_same(k, *last, operands) ? *last : binder(k, operands, at).kernel();
}

/// An operand of a call as an array of the input's dtype.
node_ref call_operand(const input& x, dtype type) {
  return x.array ? held(x) : make_scalar(x.number, type, x.site);
}

// ---- elementwise calls ----

/// Records one call that is more than values in, values out.
class call_recorder {
 public:
  call_recorder(const user_kernel& k, std::span<const input> operands, const place& at, const call_options& how)
      : k_(k), operands_(operands), at_(at), how_(how), bound_(k, operands, at, how.outputs) {}

  node_ref run() {
    find_extents();
    check_outputs();
    find_form();
    auto facts = std::make_unique<attribute>();
    const user_kernel& bound = bound_.kernel(form_);
    facts->kernel = &bound;
    if (k_.runs_alone()) facts->loop = std::make_shared<loop_body>();
    const op code = k_.runs_alone() ? op::lone_call : k_.has_raw_inputs() ? op::raw_call : op::call;
    for (const dtype t : bound.output_types) checked_bytes(extents_, t, at_);
    node_ref call = new_node(code, bound.output_types[0], extents_, at_, std::move(facts));
    for (std::size_t p = 0; p < operands_.size(); ++p) add_input(*call, p, bound.input_types[p]);
    add_positions(*call);
    for (std::size_t p = 0; p < k_.outputs.size(); ++p) add_output(*call, p, bound.output_types[p]);
    return record_node(std::move(call));
  }

 private:
  /// What is not raw broadcasts together; where all is raw, the call's size says how often the body runs.
  void find_extents() {
    std::vector<input> values;
    bool array = false;
    for (std::size_t p = 0; p < operands_.size(); ++p) {
      if (k_.inputs[p].is_raw || k_.inputs[p].is_struct) continue;
      values.push_back(operands_[p]);
      array |= operands_[p].array != nullptr;
    }
    for (std::size_t p = 0; p < how_.outputs.size(); ++p) {
      if (k_.outputs[p].is_raw) continue;
      values.push_back(how_.outputs[p]);
      array = true;
    }
    if (how_.size >= 0 && array)
      throw error(error_text(fmt::format("{}: a size is given, but not all arrays are raw", k_.name), at_,
                             "the other arrays' shapes say how many elements there are"));
    if (how_.size >= 0) return extents_.append(how_.size);
    if (!array && (k_.has_raw_inputs() || k_.has_raw_outputs()))
      throw error(error_text(fmt::format("{}: nothing says how many elements there are: all arrays are raw", k_.name),
                             at_, fmt::format("give a size: {}.sized(n)(...)", k_.name)));
    extents_ = broadcast_extents(values, k_.name, at_);
  }

  void check_outputs() const {
    for (std::size_t p = 0; p < how_.outputs.size(); ++p) {
      const input& y = how_.outputs[p];
      if (k_.outputs[p].is_raw || y.array->extents == extents_) continue;
      throw_shape_error(fmt::format("{}: the output {} has shape {}, but there are {} elements", k_.name,
                                    k_.outputs[p].name, to_string(y.array->extents), to_string(extents_)),
                        y.site, "outputs don't broadcast");
    }
    if (!k_.has_raw_outputs() || !how_.outputs.empty() || how_.size >= 0) return;
    throw error(error_text(fmt::format("{}: its raw output is not given, and has no size", k_.name), at_,
                           fmt::format("pass the array it writes to: {}.into(t)(...)", k_.name)));
  }

  void find_form() {
    bool any = false;
    form_.inputs.resize(k_.inputs.size());
    form_.outputs.resize(k_.outputs.size());
    for (std::size_t p = 0; p < k_.inputs.size(); ++p) {
      const user_parameter& x = k_.inputs[p];
      if (x.is_raw) form_.inputs[p] = static_cast<std::uint8_t>(operands_[p].array->extents.rank());
      if (x.is_struct) form_.inputs[p] = static_cast<std::uint8_t>(operands_[p].array->extents[0]);
      if (k_.loop.is_there() && (x.is_struct || !operands_[p].array)) form_.numbers |= 1u << p;
      any |= x.is_raw || x.is_struct;
    }
    for (std::size_t p = 0; p < k_.outputs.size(); ++p) {
      if (!k_.outputs[p].is_raw) continue;
      form_.outputs[p] = static_cast<std::uint8_t>(how_.outputs.empty() ? 1 : how_.outputs[p].array->extents.rank());
      any = true;
    }
    if (k_.wants_index) form_.index_rank = static_cast<std::uint8_t>(extents_.rank());
    form_.given = !how_.outputs.empty();
    if (any || form_.given || k_.wants_index || k_.loop.is_there()) return;
    form_ = {};  // a plain call
  }

  void add_input(node& call, std::size_t p, dtype type) {
    const input& x = operands_[p];
    if (!k_.inputs[p].is_struct) return add_operand(call, call_operand(x, type));
    for (std::int64_t k = 0; k < x.array->extents[0]; ++k) add_operand(call, word_of_struct(x, k));
  }

  /// One word of a value made by by_value(): the number itself, unless it has been computed with.
  static node_ref word_of_struct(const input& x, std::int64_t k) {
    const bool whole = x.array->extents[0] == 1;
    const node_ref piece =
        whole ? node_ref::share(x.array) : pending_operand(x.array, op::join, static_cast<std::size_t>(k));
    if (piece)
      if (node_ref number = pending_operand(piece.get(), op::view); number && number->code == op::scalar) return number;
    const axis_map at[] = {{k, 0, -1}};
    return make_view(x.array, at, shape{}, x.site);
  }

  node_ref count() const { return make_scalar(scalar(extents_.size()), dtype::i64, at_); }
  node_ref counter(std::int64_t n) const { return make_node(op::iota, dtype::i64, shape{n}, {}, at_); }

  /// Where an element is: whole numbers computed from the loop's counters, so that they move with views as values do.
  void add_positions(node& call) const {
    if (k_.wants_position) add_operand(call, make_reshape(counter(extents_.size()).get(), extents_, at_));
    if (k_.wants_count) add_operand(call, count());
    if (!k_.wants_index) return;
    for (int axis = 0; axis < extents_.rank(); ++axis) {
      const axis_map along[] = {{0, 1, axis}};
      add_operand(call, make_view(counter(extents_[axis]).get(), along, extents_, at_));
    }
    add_operand(call, count());
  }

  void add_output(node& call, std::size_t p, dtype type) const {
    if (!how_.outputs.empty()) return add_operand(call, held(how_.outputs[p]));
    if (!k_.outputs[p].is_raw) return;
    add_operand(call, make_broadcast(make_scalar(scalar(false), type, at_).get(), extents_, at_));
  }

  const user_kernel& k_;
  std::span<const input> operands_;
  const place& at_;
  const call_options& how_;
  binder bound_;
  shape extents_;
  call_form form_;
};

/// Whether a call is values in, values out.
bool is_plain(const user_kernel& k, const call_options& how) {
  return how.size < 0 && how.outputs.empty() && !k.runs_alone() && !k.wants_position && !k.wants_count &&
         !k.wants_index &&
         std::ranges::none_of(k.inputs, [](const user_parameter& p) { return p.is_raw || p.is_struct; });
}

/// The node of a call, without operands yet.
inline node_ref new_call(op code, std::unique_ptr<attribute>&& facts, const shape& extents, const place& at) {
  const std::vector<dtype>& results = facts->kernel->output_types;
  if (extents.rank() > 0)
    for (const dtype t : results) checked_bytes(extents, t, at);
  return new_node(code, results[0], extents, at, std::move(facts));
}

// ---- reductions ----

/// The shape without its reduced axes; shape_error when elements of the result would come from none, and the kernel
/// has no identity.
shape shape_of_results(const user_kernel& k, const shape& extents, std::uint32_t axes, bool keep_dims,
                       const place& at) {
  shape out;
  bool from_nothing = false;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    const bool reduced = (axes >> axis & 1u) != 0;
    if (!reduced) out.append(extents[axis]);
    else if (keep_dims) out.append(1);
    from_nothing |= reduced && extents[axis] == 0;
  }
  if (from_nothing && out.size() > 0 && k.reduction.identity.empty())
    throw_shape_error(fmt::format("{}: shape {} has no elements along the reduced axes, and there is no identity",
                                  k.name, to_string(extents)),
                      at, "the last of the kernel's strings is the identity: \"0\" for a sum");
  return out;
}

}  // namespace

std::size_t base_operand(const node& call, std::size_t output) {
  const user_kernel& k = *call.facts->kernel;
  std::size_t after = 0;  // outputs from this one on
  for (std::size_t p = output; p < k.outputs.size(); ++p) after += k.form.given || k.outputs[p].is_raw;
  return call.operand_count - after;
}

bool reads_anywhere(const node* user, std::size_t operand) {
  if (user->code != op::raw_call && user->code != op::lone_call) return false;
  return user->facts->kernel->whole_operands[operand];
}

bool reads_own_element(const node* user, std::size_t operand) {
  if (user->code == op::raw_call) return !reads_anywhere(user, operand);
  return is_elementwise(user->code) || user->code == op::call || user->code == op::result || user->code == op::iterate;
}

node_ref record_call(const user_kernel& kernel, std::span<const input> operands, const place& at,
                     const call_options& how) {
  SINTER_CHECK(!kernel.is_reduction());
  if (!is_plain(kernel, how)) return call_recorder(kernel, operands, at, how).run();
  const user_kernel& bound = bound_kernel(kernel, operands, at);
  const std::vector<dtype>& types = bound.input_types;
  node_ref converted[3];
  if (foreseer* const f = foreseer::now(); f && operands.size() <= 3) {
    for (std::size_t k = 0; k < operands.size(); ++k) converted[k] = call_operand(operands[k], types[k]);
    if (node* const again = f->call(&bound, {converted, operands.size()}, at)) return node_ref(again);
  }
  auto facts = std::make_unique<attribute>();
  facts->kernel = &bound;
  const shape* shared = shared_extents(operands);
  node_ref call = new_call(op::call, std::move(facts),
                           shared ? *shared : broadcast_extents(operands, kernel.name, at), at);
  for (std::size_t k = 0; k < operands.size(); ++k)
    add_operand(*call, k < 3 && converted[k] ? std::move(converted[k]) : call_operand(operands[k], types[k]));
  return record_node(std::move(call));
}

node_ref record_user_reduction(const user_kernel& kernel, std::span<const input> operands, std::uint32_t axes,
                               bool keep_dims, const place& at) {
  SINTER_CHECK(kernel.is_reduction());
  auto facts = std::make_unique<attribute>();
  facts->kernel = &bound_kernel(kernel, operands, at);
  const shape extents = broadcast_extents(operands, kernel.name, at);
  SINTER_CHECK((axes >> extents.rank()) == 0);
  const shape reduced = shape_of_results(kernel, extents, axes, keep_dims, at);
  shape with_axis = extents;
  if (axes == 0) with_axis.append(1);  // each element alone goes through map and post-map, along an axis of its own
  facts->reduced = axes == 0 ? std::uint32_t{1} << extents.rank() : axes;
  facts->keep_dims = keep_dims && axes != 0;
  const std::vector<dtype>& types = facts->kernel->input_types;
  node_ref call = new_call(op::reduce_call, std::move(facts), reduced, at);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const node_ref x = make_broadcast(call_operand(operands[k], types[k]), extents, at);
    add_operand(*call, make_reshape(x.get(), with_axis, at));
  }
  return record_node(std::move(call));
}

node_ref result_of(node_ref call, std::size_t k) {
  std::unique_ptr<attribute> facts;
  if (k > 0) {
    facts = std::make_unique<attribute>();
    facts->output = static_cast<std::int32_t>(k);
  }
  const node& c = *call;
  const user_kernel& u = *c.facts->kernel;
  if (foreseer* const f = foreseer::now(); f && k == 0)
    if (node* const again = f->operation(op::result, u.output_types[0], {&call, 1}, c.site))
      return node_ref(again);
  const bool raw = u.outputs[k].is_raw;  // as large as what it was before
  node_ref n = new_node(op::result, u.output_types[k], raw ? c.operands()[base_operand(c, k)]->extents : c.extents,
                        c.site, std::move(facts));
  add_operand(*n, std::move(call));
  return record_node(std::move(n));
}

}  // namespace sinter::jit
