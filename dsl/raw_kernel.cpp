#include "dsl/raw_kernel.hpp"

#include "dsl/device.hpp"
#include "dsl/record_internal.hpp"
#include "jit/engine.hpp"
#include "jit/raw/call.hpp"
#include "runtime/counters.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace sinter {

namespace {

// The library's own enumeration is not in public headers; these keep both spelt alike.
using access = raw_operand::access;
static_assert(static_cast<int>(access::number) == static_cast<int>(jit::raw_argument::access::number));
static_assert(static_cast<int>(access::read) == static_cast<int>(jit::raw_argument::access::read));
static_assert(static_cast<int>(access::read_or_update) == static_cast<int>(jit::raw_argument::access::read_or_update));

void copy(const launch_extents& from, std::int64_t (&to)[3]) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

jit::raw_shape shape_of(const launch_shape& s) {
  jit::raw_shape r;
  copy(s.grid, r.grid);
  copy(s.block, r.block);
  r.shared_bytes = s.shared_bytes;
  r.cooperative = s.cooperative;
  r.elements = s.elements;
  r.is_chosen = s.is_chosen;
  r.at = s.at;
  return r;
}

void set_argument(jit::raw_argument& a, const raw_operand& o) {
  a.how = static_cast<jit::raw_argument::access>(o.how());
  a.type = o.type();
  a.data = o.data();
  a.bytes = o.bytes();
  a.at = o.at();
  if (a.is_array()) a.array = o.values().node();
}

jit::raw_source source_of(std::string_view name, std::string_view text, const raw_options& how, const place& at) {
  jit::raw_source s{std::string(name), std::string(text), how.options, {}, at};
  for (const std::string& folder : how.include_paths) s.options.push_back("-I" + folder);
  return s;
}

runtime::device& usual_device() { return runtime::default_device(); }

kernel_attributes attributes_of(const runtime::kernel_facts& f) {
  kernel_attributes a;
  a.registers = f.registers;
  a.shared_bytes = f.shared_bytes;
  a.constant_bytes = f.constant_bytes;
  a.local_bytes = f.local_bytes;
  a.max_threads = f.max_threads;
  a.max_dynamic_bytes = f.max_dynamic_bytes;
  a.ptx_version = f.ptx_version;
  a.binary_version = f.binary_version;
  return a;
}

}  // namespace

// ---- Operands ----

void raw_operand::check_type(dtype wanted) const {
  if (values().type() == wanted) return;
  throw_type_error(fmt::format("a raw kernel's argument is an array of {}, but its signature says {}",
                               to_string(values().type()), to_string(wanted)),
                   at_, fmt::format("convert it: x.astype({})", to_string(wanted)));
}

void raw_operand::check_bytes(std::size_t element_bytes) const {
  const std::int64_t bytes = values().size() * size_of(values().type());
  if (bytes % static_cast<std::int64_t>(element_bytes) == 0) return;
  throw_shape_error(
      fmt::format("a raw kernel's argument has shape {}, whose {} bytes are not a multiple of the {} that an "
                  "element of its signature has",
                  to_string(values().extents()), bytes, element_bytes),
      at_);
}

// ---- Kernels ----

struct raw_kernel_base::named {
  jit::raw_program* program;
  std::string name;
  mutable std::atomic<jit::raw_entry*> last{nullptr};  ///< of the device it was launched on last

  jit::raw_entry& on(runtime::device& d) const {
    jit::raw_entry* e = last.load(std::memory_order_acquire);
    if (e && e->where == &d) return *e;
    e = &program->entry(name, d);
    last.store(e, std::memory_order_release);
    return *e;
  }

  static const named* find(jit::raw_program& program, std::string_view name) {
    static auto* const mutex = new std::mutex;
    static auto* const known = new std::map<std::pair<const jit::raw_program*, std::string>, std::unique_ptr<named>>;
    const std::lock_guard lock(*mutex);
    std::unique_ptr<named>& slot = (*known)[{&program, std::string(name)}];
    if (!slot) slot.reset(new named{&program, std::string(name)});
    return slot.get();
  }
};

raw_kernel_base::raw_kernel_base(jit::raw_program& program, std::string_view name)
    : kernel_(named::find(program, name)) {}

raw_kernel_base::raw_kernel_base(std::string_view name, std::string_view source, const raw_options& how,
                                 const place& at)
    : raw_kernel_base(jit::find_program(source_of(name, source, how, at)), name) {
  kernel_->program->want({kernel_->name});
}

const std::string& raw_kernel_base::name() const { return kernel_->name; }

kernel_attributes raw_kernel_base::attributes() const { return attributes_of(kernel_->on(usual_device()).facts); }
kernel_attributes raw_kernel_base::attributes(const sinter::device& d) const {
  return attributes_of(kernel_->on(d.impl()).facts);
}

std::string raw_kernel_base::compile_log() const {
  static_cast<void>(kernel_->on(usual_device()));
  return kernel_->program->compile(usual_device());
}

void raw_kernel_base::launch(const launch_shape& how, std::span<const raw_operand* const> operands) const {
  static thread_local std::vector<jit::raw_argument> room;  // its memory is kept: a launch takes no longer than it must
  std::vector<jit::raw_argument> arguments = std::move(room);
  struct finally {
    std::vector<jit::raw_argument>& list;
    ~finally() {
      list.clear();
      room = std::move(list);
    }
  } keep{arguments};
  arguments.resize(operands.size());
  for (std::size_t k = 0; k < operands.size(); ++k) set_argument(arguments[k], *operands[k]);
  runtime::device& where = jit::device_of(arguments, kernel_->name, how.at);
  jit::launch_raw(kernel_->on(where), shape_of(how), arguments);
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (arguments[k].fresh) operands[k]->variable() = array::adopt(arguments[k].fresh.leave());
}

// ---- Modules ----

raw_module::raw_module(std::string_view name, std::string_view source, const raw_options& how,
                       const std::vector<std::string>& kernels, place at)
    : program_(&jit::find_program(source_of(name, source, how, at))) {
  program_->want(kernels);
}

raw_module raw_module::from_file(const std::string& path, place at) { return raw_module(jit::load_program(path, at)); }

const std::string& raw_module::name() const { return program_->name(); }

jit::raw_program& raw_module::checked(std::string_view name) const {
  static_cast<void>(program_->entry(std::string(name), usual_device()));
  return *program_;
}

raw_kernel<> raw_module::get_function(std::string_view name) const { return raw_kernel<>(checked(name), name); }

std::size_t raw_module::size_of_global(std::string_view name, place at) const {
  return program_->variable(std::string(name), usual_device(), at).bytes;
}

void raw_module::set_global(std::string_view name, const array& values, place at) const {
  const std::int64_t bytes = values.size() * size_of(values.type());
  std::vector<unsigned char> host(static_cast<std::size_t>(bytes));
  jit::read(values.node(), host.data(), host.size(), at);
  write_global(name, host.data(), host.size(), at);
}

void raw_module::write_global(std::string_view name, const void* values, std::size_t bytes, const place& at) const {
  runtime::device& d = usual_device();
  const jit::raw_global g = program_->variable(std::string(name), d, at);
  if (g.bytes != bytes)
    throw_shape_error(fmt::format("{}: variable {} has {} bytes, {} given", program_->name(), name, g.bytes, bytes),
                      at);
  if (bytes == 0) return;
  runtime::memory_use use(d);
  use.writes(*g.order);
  d.copy_from_host(g.address, values, bytes);
  use.finished();
}

std::size_t raw_module::count_in_global(std::string_view name, std::size_t element_bytes, const place& at) const {
  const std::size_t bytes = size_of_global(name, at);
  if (bytes % element_bytes != 0)
    throw_shape_error(fmt::format("{}: variable {} has {} bytes, which elements of {} don't fill", program_->name(),
                                  name, bytes, element_bytes),
                      at);
  return bytes / element_bytes;
}

void raw_module::read_global(std::string_view name, void* values, const place& at) const {
  runtime::device& d = usual_device();
  const jit::raw_global g = program_->variable(std::string(name), d, at);
  if (g.bytes == 0) return;
  runtime::memory_use use(d);
  use.reads(*g.order);
  d.copy_to_host(values, g.address, g.bytes);
  use.started();
}

}  // namespace sinter
