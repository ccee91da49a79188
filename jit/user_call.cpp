// Calls of users' kernels: what dtypes they bind, and their nodes.
#include "jit/user_kernel.hpp"

#include <fmt/format.h>

namespace sinter::jit {

namespace {

/// Finds the dtypes of one call; every error names the kernel.
class binder {
 public:
  binder(const user_kernel& k, std::span<const input> operands, const place& at) : k_(k), operands_(operands), at_(at) {
    if (operands.size() != k.inputs.size())
      throw_type_error(fmt::format("{}: takes {} input(s), {} given", k.name, k.inputs.size(), operands.size()), at);
    for (std::size_t p = 0; p < operands_.size(); ++p)
      if (operands_[p].array) bind_array(p);
    for (std::size_t p = 0; p < operands_.size(); ++p)
      if (!operands_[p].array && !k_.inputs[p].type_in(letters_)) bind_numbers(k_.inputs[p].type);
    for (const user_parameter& p : k_.inputs) types_.push_back(*p.type_in(letters_));
    for (const user_parameter& p : k_.outputs) check_output(p);
  }

  std::shared_ptr<const user_kernel> kernel() const { return bind_user_kernel(k_, types_, letters_); }

  /// The operands as arrays of the inputs' dtypes.
  std::vector<node_ref> arrays() const {
    std::vector<node_ref> out;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const input& x = operands_[k];
      out.push_back(x.array ? node_ref::share(x.array) : make_scalar(x.number, types_[k], x.site));
    }
    return out;
  }

 private:
  void bind_array(std::size_t k) {
    const user_parameter& p = k_.inputs[k];
    const dtype given = operands_[k].array->type;
    const std::optional<dtype> wanted = p.type_in(letters_);
    if (!wanted) letters_.emplace_back(p.type[0], given);
    if (!wanted || *wanted == given) return;
    const std::string because = p.is_placeholder() ? fmt::format(", since {} is {}", p.type, to_string(*wanted)) : "";
    throw_type_error(fmt::format("{}: {} is {}, but its parameter is {}{}", k_.name, p.name, to_string(given),
                                 to_string(*wanted), because),
                     operands_[k].site, fmt::format("convert it: {}.astype({})", p.name, to_string(*wanted)));
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
        "give the output a fixed type, such as f32");
  }

  const user_kernel& k_;
  std::span<const input> operands_;
  const place& at_;
  letters letters_;
  std::vector<dtype> types_;
};

std::vector<node*> addresses(const std::vector<node_ref>& list) {
  std::vector<node*> out;
  for (const node_ref& n : list) out.push_back(n.get());
  return out;
}

/// The node of a call, and one more for each of its outputs.
std::vector<node_ref> record_results(op code, std::unique_ptr<attribute> facts, const shape& extents,
                                     std::span<node* const> operands, const place& at) {
  const std::vector<dtype> results = facts->kernel->output_types;
  for (const dtype t : results) checked_bytes(extents, t);
  const node_ref call = make_node(code, results[0], extents, operands, at, std::move(facts));
  std::vector<node_ref> out;
  node* operand = call.get();
  for (std::size_t k = 0; k < results.size(); ++k) {
    auto which = std::make_unique<attribute>();
    which->output = static_cast<std::int32_t>(k);
    out.push_back(make_node(op::result, results[k], extents, {&operand, 1}, at, std::move(which)));
  }
  return out;
}

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

std::vector<node_ref> record_call(const std::shared_ptr<const user_kernel>& kernel, std::span<const input> operands,
                                  const place& at) {
  SINTER_CHECK(!kernel->is_reduction());
  const binder b(*kernel, operands, at);
  const shape extents = broadcast_extents(operands, kernel->name, at);
  const std::vector<node_ref> arrays = b.arrays();
  auto facts = std::make_unique<attribute>();
  facts->kernel = b.kernel();
  return record_results(op::call, std::move(facts), extents, addresses(arrays), at);
}

std::vector<node_ref> record_user_reduction(const std::shared_ptr<const user_kernel>& kernel,
                                            std::span<const input> operands, std::uint32_t axes, bool keep_dims,
                                            const place& at) {
  SINTER_CHECK(kernel->is_reduction());
  const binder b(*kernel, operands, at);
  const shape extents = broadcast_extents(operands, kernel->name, at);
  SINTER_CHECK((axes >> extents.rank()) == 0);
  const shape reduced = shape_of_results(*kernel, extents, axes, keep_dims, at);
  std::vector<node_ref> arrays = b.arrays();
  for (node_ref& x : arrays) x = make_broadcast(x.get(), extents, at);
  if (axes == 0) {  // each element alone goes through map and post-map, too: along an axis that only it is on
    shape with_axis = extents;
    with_axis.append(1);
    for (node_ref& x : arrays) x = make_reshape(x.get(), with_axis, at);
    axes = std::uint32_t{1} << extents.rank();
    keep_dims = false;
  }
  auto facts = std::make_unique<attribute>();
  facts->kernel = b.kernel();
  facts->reduced = axes;
  facts->keep_dims = keep_dims;
  return record_results(op::reduce_call, std::move(facts), reduced, addresses(arrays), at);
}

}  // namespace sinter::jit
