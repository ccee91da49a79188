// Starts launches whose numbers are complete: of an evaluation, or of a recording (jit/replay.hpp).
#pragma once

#include "jit/cache/memory.hpp"
#include "jit/interpret.hpp"
#include "jit/lower.hpp"
#include "jit/schedule.hpp"
#include "jit/scratch.hpp"
#include "jit/steps.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace sinter::jit {

/// One part of a launch: what it runs, and with which numbers.
struct bound_part {
  const kernel* ir;
  arguments* numbers;
};

/// Keeps its storage from one launch to the next, so that a warm one allocates nothing.
class launcher {
 public:
  using device = runtime::device;

  runtime::launch_list* list = nullptr;  ///< where launches go; null: to the device

  /// Scratch memory for the parts whose loops are split; held until release_scratch().
  void bind_scratch(device& where, std::span<const bound_part> parts) {
    const bool waits = where.kind() == runtime::device_kind::cuda && has_stages(parts);
    std::size_t workspace = 0, tickets = 0;
    for (const bound_part& p : parts) {
      workspace += workspace_of(*p.numbers);
      tickets += p.numbers->ticket_count;
    }
    if (workspace + tickets == 0 && !waits) return;
    if (!scratch_.held.owns_lock()) scratch_ = scratch_of(where, workspace, tickets);
    auto* at = static_cast<std::byte*>(scratch_.workspace);
    auto* ticket = static_cast<std::uint32_t*>(scratch_.tickets);
    for (const bound_part& p : parts) {
      for (std::size_t k = 0; k < p.ir->parameters.size(); ++k) {
        slot& s = p.numbers->slots[k];
        if (p.ir->parameters[k].kind == parameter_kind::workspace) s.as_pointer = at;
        if (p.ir->parameters[k].kind == parameter_kind::tickets) s.as_pointer = ticket;
      }
      at += workspace_of(*p.numbers);
      if (ticket) ticket += p.numbers->ticket_count;
    }
  }
  /// What bind_scratch takes for a part.
  static std::size_t workspace_of(const arguments& a) { return (a.workspace_bytes + 63) / 64 * 64; }
  static bool has_stages(std::span<const bound_part> parts) { return parts.back().ir->stage != 0; }
  /// For several launches that are asked for together, before the first: as much as each of them needs.
  void hold_scratch(device& where, std::size_t workspace_bytes, std::size_t ticket_count) {
    scratch_ = scratch_of(where, workspace_bytes, ticket_count);
  }
  void release_scratch() { scratch_ = {}; }

  void start(device& where, const cached_kernel& kernel, std::span<const bound_part> parts) {
    if (kernel.function && where.kind() == runtime::device_kind::cuda && parts.size() > 1)
      return start_parts(where, kernel, parts);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const bound_part& part = parts[k];
      auto number = static_cast<std::int64_t>(k);
      pointers_.clear();
      if (kernel.function && parts.size() > 1) pointers_.push_back(&number);
      for (slot& s : part.numbers->slots) pointers_.push_back(&s);
      const runtime::launch_shape shape = shape_of(part);
      if (!kernel.function) start_interpreter(kernel.parts[k], shape);
      else if (part.ir->split && where.kind() == runtime::device_kind::cpu) start_pieces(where, kernel, part, shape);
      else issue(where, *kernel.function, shape);
    }
  }

 private:
  void issue(device& where, runtime::function& f, const runtime::launch_shape& shape) {
    if (list) list->add(f, pointers_, shape);
    else where.launch(f, pointers_, shape);
  }

  static runtime::launch_shape shape_of(const bound_part& p) {
    const arguments& a = *p.numbers;
    if (p.ir->over == distribution::steps) return schedule_steps(a, window_of(*p.ir));
    if (!p.ir->tables.empty()) {
      runtime::launch_shape s = schedule_loops(a, p.ir->threads);
      s.resident = true;
      return s;
    }
    if (p.ir->over == distribution::elements)
      return schedule(a.rows, a.inner + a.lead, p.ir->lanes, a.cost, 0, a.blocks_over);
    return schedule_loops(a, p.ir->threads);
  }

  /// Host: the pieces first, beside each other, then what needs them all.
  void start_pieces(device& where, const cached_kernel& kernel, const bound_part& p,
                    const runtime::launch_shape& shape) {
    const arguments& a = *p.numbers;
    runtime::launch_shape pieces = shape;
    pieces.cost = static_cast<int>(std::max<std::int64_t>(shape.cost / a.pieces, 1));
    pieces.rows = shape.rows * a.pieces;
    if (p.ir->over == distribution::rows) {
      pieces.rows *= shape.inner;
      pieces.inner = 1;
    }
    slot* phase = nullptr;
    for (std::size_t k = 0; k < p.ir->parameters.size(); ++k)
      if (p.ir->parameters[k].kind == parameter_kind::phase) phase = &p.numbers->slots[k];
    phase->as_i64 = static_cast<std::int64_t>(launch_phase::piece);
    where.launch(*kernel.function, pointers_, pieces);
    phase->as_i64 = static_cast<std::int64_t>(launch_phase::rest);
    where.launch(*kernel.function, pointers_, shape);
  }

  void start_interpreter(const kernel& ir, const runtime::launch_shape& shape) {
    void* const* arguments = pointers_.data();
    runtime::parallel_for(shape, [&ir, arguments](std::int64_t r0, std::int64_t r1, std::int64_t i0, std::int64_t i1) {
      interpret(ir, arguments, r0, r1, i0, i1);
    });
  }

  /// One cuda launch: every part has blocks of its own, and is told how they lie over its domain. With stages, blocks
  /// that run at the same time take turns at each stage's.
  void start_parts(device& where, const cached_kernel& kernel, std::span<const bound_part> parts) {
    constexpr int threads = 256;
    shapes_.assign(parts.size() * 3, 0);
    pointers_.clear();
    runtime::launch_shape all;
    all.block[0] = threads;
    all.grid[0] = 0;
    all.resident = all.cooperative = has_stages(parts);
    if (all.cooperative) pointers_.push_back(&scratch_.arrivals);
    std::uint32_t of_stage = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const bound_part& part = parts[k];
      if (k > 0 && part.ir->stage != parts[k - 1].ir->stage) of_stage = 0;
      const arguments& a = *part.numbers;
      const bool loops = part.ir->over != distribution::elements;
      const runtime::launch_shape own =
          loops ? schedule_loops(a, threads)
                : schedule(a.rows, a.inner + a.lead, part.ir->lanes, a.cost, threads, a.blocks_over);
      const int numbers[] = {static_cast<int>(own.grid[0]), static_cast<int>(own.grid[1]),
                             std::countr_zero(own.block[0])};
      for (std::size_t j = 0; j < 3; ++j) {
        shapes_[3 * k + j] = numbers[j];
        pointers_.push_back(&shapes_[3 * k + j]);
      }
      for (slot& s : part.numbers->slots) pointers_.push_back(&s);
      of_stage += own.grid[0] * own.grid[1];
      all.grid[0] = std::max(all.grid[0], of_stage);
    }
    issue(where, *kernel.function, all);
  }

  std::vector<void*> pointers_;
  std::vector<int> shapes_;  ///< of the parts of one cuda launch
  scratch scratch_;          ///< of the launch about to be asked for
};

}  // namespace sinter::jit
