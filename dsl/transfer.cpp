#include "dsl/transfer.hpp"

#include "dsl/transfer_internal.hpp"
#include "jit/faults.hpp"
#include "jit/transfers.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace sinter {

// ---- Views ----

const_host_memory::const_host_memory(const void* data, dtype type, const shape& extents, place at)
    : data_(data), type_(type), extents_(extents) {
  static_cast<void>(checked_bytes(extents, type, at));
  contiguous_strides(extents, steps_);
}

const_host_memory::const_host_memory(const void* data, dtype type, const shape& extents,
                                 std::span<const std::int64_t> steps, place at)
    : data_(data), type_(type), extents_(extents) {
  static_cast<void>(checked_bytes(extents, type, at));
  if (static_cast<int>(steps.size()) != extents.rank())
    throw_shape_error(fmt::format("host memory of shape {}: {} steps for {} axes", to_string(extents), steps.size(),
                                  extents.rank()),
                      at);
  std::copy(steps.begin(), steps.end(), steps_);
}

const void* const_host_memory::checked(const void* data, std::size_t count, const shape& extents, const place& at) {
  if (static_cast<std::uint64_t>(checked_bytes(extents, boolean, at)) != count)
    throw_shape_error(fmt::format("host memory of {} values for shape {} ({} elements)", count, to_string(extents),
                                  extents.size()),
                      at);
  return data;
}

const_host_memory const_host_memory::rows(std::int64_t first, std::int64_t last) const {
  const_host_memory part = *this;
  part.extents_[0] = last - first;
  if (extents_.size() > 0)
    part.data_ = static_cast<const std::byte*>(data_) + first * steps_[0] * size_of(type_);
  return part;
}

void host_memory::check_steps(const place& at) const {
  for (int k = 0; k < extents().rank(); ++k)
    if (step(k) == 0 && extents()[k] > 1 && extents().size() > 0)
      throw_shape_error(fmt::format("host memory of shape {} is to be written, but all elements along axis {} are at "
                                    "the same place", to_string(extents()), k), at, "its step is 0");
}

namespace {

runtime::host_region checked_region(const array& from, const host_memory& to, const place& at) {
  if (to.type() != from.type() && !(from.type() == boolean && to.type() == u8))
    throw_type_error(fmt::format("copying elements of {} to host memory of {}", to_string(from.type()),
                                 to_string(to.type())),
                     at, fmt::format("x.astype({}) converts", to_string(to.type())));
  if (to.extents() != from.extents())
    throw_shape_error(fmt::format("copying an array of shape {} to host memory of shape {}", to_string(from.extents()),
                                  to_string(to.extents())),
                      at);
  return region_of(to);
}

}  // namespace

runtime::host_region region_of(const const_host_memory& v) {
  std::int64_t strides[max_rank];
  for (int k = 0; k < v.extents().rank(); ++k) strides[k] = v.step(k) * size_of(v.type());
  return runtime::strided_region(v.data(), v.type(), v.extents(),
                                 {strides, static_cast<std::size_t>(v.extents().rank())});
}

// ---- Transfers ----

struct transfer::state {
  jit::started_copy copy;
};

transfer::transfer(transfer&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
transfer& transfer::operator=(transfer&& other) noexcept {
  delete std::exchange(state_, std::exchange(other.state_, nullptr));
  return *this;
}
transfer::~transfer() { delete state_; }

bool transfer::is_done() { return state_ == nullptr || !state_->copy.copy || state_->copy.copy->is_done(); }

void transfer::wait() {
  if (state_ == nullptr) return;
  runtime::bump(runtime::count().synchronizations);
  if (state_->copy.copy) state_->copy.copy->wait();
  runtime::device& where = *state_->copy.memory->owner;
  delete std::exchange(state_, nullptr);
  jit::throw_on_fault(where);
}

array from_host(const const_host_memory& from, place at) { return from_host(from, default_device(), at); }

array from_host(const const_host_memory& from, const device& where, place at) {
  return array::adopt(jit::copy_in(where.impl(), region_of(from), from.type(), from.extents(), at).leave());
}

incoming from_host_async(const const_host_memory& from, place at) {
  return from_host_async(from, default_device(), at);
}

incoming from_host_async(const const_host_memory& from, const device& where, place at) {
  jit::started_copy copy;
  jit::node_ref n = jit::start_copy_in(where.impl(), region_of(from), from.type(), from.extents(), at, copy);
  jit::note_copy_in(where.impl(), copy.memory->bytes, at);
  if (copy.copy) copy.copy->join();
  return {array::adopt(n.leave()), transfer(new transfer::state{std::move(copy)})};
}

void copy_to(const array& from, const host_memory& to, place at) {
  jit::copy_out(from.node(), checked_region(from, to, at), at);
}

transfer copy_to_async(const array& from, const host_memory& to, place at) {
  jit::started_copy copy = jit::start_copy_out(from.node(), checked_region(from, to, at), at);
  return copy.memory ? transfer(new transfer::state{std::move(copy)}) : transfer();
}

// ---- Pinned memory ----

pinned_memory::pinned_memory(std::size_t bytes, const device& where)
    : owner_(&where.impl()), data_(bytes == 0 ? nullptr : owner_->allocate_host(bytes)), bytes_(bytes) {
  if (bytes != 0) std::memset(data_, 0, bytes);
}

pinned_memory::pinned_memory(pinned_memory&& other) noexcept
    : owner_(other.owner_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

pinned_memory& pinned_memory::operator=(pinned_memory&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

pinned_memory::~pinned_memory() {
  if (data_ != nullptr) owner_->release_host(data_, bytes_);
}

}  // namespace sinter
