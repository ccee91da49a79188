#include "jit/raw/call.hpp"

#include "jit/engine.hpp"
#include "jit/loops.hpp"
#include "jit/raw/emulated_module.hpp"
#include "jit/recorded_memory.hpp"
#include "runtime/counters.hpp"
#include "runtime/error.hpp"
#include "runtime/foreign.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

using access = raw_argument::access;
using runtime::buffer;

constexpr std::size_t few_arguments = 24;  // their pointers fit on the stack

std::size_t bytes_of(const node* n) { return static_cast<std::size_t>(n->extents.size() * size_of(n->type)); }

/// What the device is given: an address for each argument, which outlives the launch's start.
class argument_list {
 public:
  explicit argument_list(std::size_t count) {
    if (count > few_arguments) {
      many_.resize(count);
      pointers_.resize(count);
    }
  }
  void add(const void* bytes) { pointer(count_++) = const_cast<void*>(bytes); }
  void add_memory(void* memory) {
    void*& kept = many_.empty() ? few_[count_] : many_[count_];
    kept = memory;
    pointer(count_++) = &kept;
  }
  std::span<void* const> all() const { return {many_.empty() ? few_pointers_ : pointers_.data(), count_}; }

 private:
  void*& pointer(std::size_t k) { return many_.empty() ? few_pointers_[k] : pointers_[k]; }

  std::size_t count_ = 0;
  void *few_[few_arguments], *few_pointers_[few_arguments];
  std::vector<void*> many_, pointers_;
};

void start(raw_entry& e, const raw_dims& dims, const argument_list& list, runtime::memory_use& use, const place& at) {
  if (e.variables) use.writes(*e.variables);
  runtime::bump(runtime::count().launches);
  runtime::bump(runtime::count().cache_hits);
  if (const emulated_kernel* k = e.emulated.load(std::memory_order_acquire))
    return k->module->launch(*k->function, dims.grid, dims.block, dims.shared_bytes, list.all().data(),
                             dims.cooperative, at);
  runtime::launch_shape shape;
  shape.grid[0] = dims.grid.x, shape.grid[1] = dims.grid.y, shape.grid[2] = dims.grid.z;
  shape.block[0] = dims.block.x, shape.block[1] = dims.block.y, shape.block[2] = dims.block.z;
  shape.shared_bytes = dims.shared_bytes;
  e.code.load(std::memory_order_acquire)->launch(list.all(), shape, dims.cooperative);
}

/// Whether nobody but one holder sees this memory.
bool is_own(const node* n, const buffer* b) {
  return n->references.load(std::memory_order_acquire) == 1 && is_exclusive(*b);
}

reference<buffer> new_memory(runtime::device& where, std::size_t bytes, const runtime::buffer_use& use) {
  return reference<buffer>(make_buffer(where, bytes, use));
}

/// New memory with the same values.
reference<buffer> copied(runtime::device& where, buffer* from, std::size_t bytes) {
  reference<buffer> fresh = new_memory(where, bytes, from->use);
  runtime::copy_on_device(*fresh, *from, bytes);
  return fresh;
}

/// The memory of an array that is evaluated, on the launch's device: constants may be elsewhere.
buffer* memory_at(node*& n, runtime::device& where, std::vector<node_ref>& held, const place& at) {
  buffer* b = n->values();
  if (b->owner == &where) return b;
  held.push_back(move_to(n, where, at));
  n = held.back().get();
  return n->values();
}

bool is_given_again(std::span<const raw_argument> arguments, std::size_t k) {
  for (std::size_t j = 0; j < arguments.size(); ++j)
    if (j != k && arguments[j].array == arguments[k].array) return true;
  return false;
}

void launch_now(raw_entry& e, const raw_dims& dims, std::span<raw_argument> arguments, const place& at) {
  argument_list list(arguments.size());
  std::vector<node_ref> held;
  std::vector<reference<buffer>> memory;
  runtime::memory_use use(*e.where);
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    raw_argument& a = arguments[k];
    if (!a.is_array()) {
      if (a.how == access::null) list.add_memory(nullptr);
      else list.add(a.data);
      continue;
    }
    buffer* now = a.array->values();
    const bool here = now && now->owner == e.where;
    if (a.how == access::read) {
      node* n = a.array;
      buffer* b = memory_at(n, *e.where, held, a.at);
      use.reads(*b);
      list.add_memory(b->data);
      continue;
    }
    if (here && is_own(a.array, now) && !is_given_again(arguments, k)) {
      use.writes(*now);
      list.add_memory(now->data);
      continue;
    }
    node* n = a.array;
    if (a.how == access::update) now = memory_at(n, *e.where, held, a.at);
    const std::size_t bytes = bytes_of(a.array);
    memory.push_back(a.how == access::update ? copied(*e.where, now, bytes)
                                             : new_memory(*e.where, bytes, {n->type, n->extents, a.at}));
    use.writes(*memory.back());
    list.add_memory(memory.back()->data);
    a.fresh = make_buffer_node(memory.back(), a.array->type, a.array->extents, a.at);
  }
  start(e, dims, list, use, at);
  use.finished();
}

/// A node for the launch, one for each output.
void record_launch(raw_entry& e, const raw_dims& dims, std::span<raw_argument> arguments, const place& at) {
  auto call = std::make_shared<raw_call>();
  call->entry = &e;
  call->dims = dims;
  auto facts = std::make_unique<attribute>();
  facts->launch = call;
  node_ref n = new_node(op::launch, dtype::boolean, shape{}, at, std::move(facts));
  for (const raw_argument& a : arguments) {
    raw_call::argument kept{a.how, {}};
    if (!a.is_array() && a.how != access::null) {
      const auto* bytes = static_cast<const unsigned char*>(a.data);
      kept.value.assign(bytes, bytes + a.bytes);
    } else if (a.how == access::write) {
      kept.type = a.array->type;
      kept.extents = a.array->extents;
    } else if (a.is_array()) {
      kept.operand = n->operand_count;
      add_operand(*n, node_ref::share(a.array));
    }
    call->arguments.push_back(std::move(kept));
  }
  n = record_node(std::move(n));
  n->owner = e.where;
  std::int32_t output = 0;
  for (raw_argument& a : arguments) {
    if (!a.is_output()) continue;
    auto which = std::make_unique<attribute>();
    which->output = output++;
    node* operand = n.get();
    a.fresh = make_node(op::result, a.array->type, a.array->extents, {&operand, 1}, at, std::move(which));
  }
}

/// Whether the kernel may do more than its outputs tell.
bool has_effects(const raw_entry& e, std::span<const raw_argument> arguments) {
  return !e.program->declarations().variables.empty() ||
         std::ranges::none_of(arguments, [](const raw_argument& a) { return a.is_output(); });
}

void check_outputs(const raw_entry& e, std::span<const raw_argument> arguments, const place& at) {
  if (is_recording_body()) refuse_write_in_body(at);
  for (std::size_t k = 0; k < arguments.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (arguments[k].is_output() && arguments[j].is_output() && arguments[k].data == arguments[j].data)
        throw_type_error(fmt::format("{}: arguments {} and {} are one variable, and both are written", e.name, j, k),
                         at, "write to two variables; copies of an array are free");
}

}  // namespace

runtime::device& device_of(std::span<const raw_argument> arguments, std::string_view name, const place& at) {
  runtime::device* where = nullptr;
  for (const raw_argument& a : arguments) {
    if (!a.is_array() || !a.array->owner || a.array->owner == where) continue;
    if (where)
      throw device_error(
          error_text(fmt::format("{}: its arrays are on {} and on {}", name, where->name(), a.array->owner->name()), at,
                     "x.to(device) moves an array"));
    where = a.array->owner;
  }
  return where ? *where : runtime::default_device();
}

void launch_raw(raw_entry& e, const raw_shape& how, std::span<raw_argument> arguments) {
  check_arguments(e, arguments, how.at);
  check_outputs(e, arguments, how.at);
  const raw_dims dims = find_dims(e, how, arguments);
  if (dims.is_empty) return;
  const auto waits = [](const raw_argument& a) {
    if (!a.is_array()) return false;
    return is_recorded(a.array->values()) || (a.how != access::write && !a.array->values());
  };
  if (std::ranges::any_of(arguments, waits)) {
    if (!has_effects(e, arguments)) return record_launch(e, dims, arguments, how.at);
    std::vector<node*> pending;
    for (const raw_argument& a : arguments)
      if (waits(a)) pending.push_back(a.array);
    evaluate(pending, how.at);
    for (const node* n : pending) refuse_recorded(n, how.at);
  }
  launch_now(e, dims, arguments, how.at);
}

std::string_view raw_call::name() const { return entry->name; }

std::string raw_call::describe() const {
  return fmt::format("raw kernel {}, {} block(s) of {} threads", entry->name, dims.grid.count(), dims.block.count());
}

std::vector<reference<buffer>> raw_call::run(const node& n) const {
  runtime::device& where = *entry->where;
  argument_list list(arguments.size());
  std::vector<node_ref> held;
  std::vector<reference<buffer>> outputs;
  runtime::memory_use use(where);
  for (const argument& a : arguments) {
    if (a.how == access::null) list.add_memory(nullptr);
    else if (a.how < access::read) list.add(a.value.data());
    else if (a.how == access::write) {
      const auto bytes = static_cast<std::size_t>(checked_bytes(a.extents, a.type));
      outputs.push_back(new_memory(where, bytes, {a.type, a.extents, n.site}));
      use.writes(*outputs.back());
      list.add_memory(outputs.back()->data);
    } else {
      node* x = n.operands()[a.operand];
      const bool own = x->values()->owner == &where && is_own(x, x->values());
      buffer* b = memory_at(x, where, held, n.site);
      if (a.how == access::update) {
        outputs.push_back(own ? reference<buffer>::share(b) : copied(where, b, bytes_of(x)));
        b = outputs.back().get();
        use.writes(*b);
      } else {
        use.reads(*b);
      }
      list.add_memory(b->data);
    }
  }
  start(*entry, dims, list, use, n.site);
  use.finished();
  return outputs;
}

}  // namespace sinter::jit
