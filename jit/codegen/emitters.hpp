// One emitter for each way that a kernel's work lies over threads.
#pragma once

#include "jit/codegen/statements.hpp"

#include <memory>
#include <string>

namespace sinter::jit {

class kernel_emitter : public statements {
 public:
  using statements::statements;
  virtual ~kernel_emitter() = default;
  /// A function of its own: what the device, or the host's loader, calls by `name`.
  virtual void whole(const std::string& name) = 0;
  /// A function that one for all parts calls.
  virtual void part(const std::string& name) = 0;
  /// Whether a cuda part is told its block's number and how many blocks it has; others are told their threads' places.
  virtual bool takes_blocks() const { return false; }
};

/// distribution::rows and ::columns.
std::unique_ptr<kernel_emitter> make_row_emitter(const kernel& k, const user_code& users, writer& w);
std::unique_ptr<kernel_emitter> make_column_emitter(const kernel& k, const user_code& users, writer& w);
/// distribution::tiles.
std::unique_ptr<kernel_emitter> make_tile_emitter(const kernel& k, const user_code& users, writer& w);
/// distribution::steps and ::transposed.
std::unique_ptr<kernel_emitter> make_step_emitter(const kernel& k, const user_code& users, writer& w);
std::unique_ptr<kernel_emitter> make_transpose_emitter(const kernel& k, const user_code& users, writer& w);
/// distribution::rows and ::columns for the host.
std::unique_ptr<kernel_emitter> make_host_loop_emitter(const kernel& k, const user_code& users, writer& w);
/// distribution::elements for the host, where elements run loops of their own and neighbours can do so as vectors.
std::unique_ptr<kernel_emitter> make_host_lane_emitter(const kernel& k, const user_code& users, writer& w);
bool runs_in_lanes(const kernel& k);

/// A user's kernel with code around the loop over its elements, which nothing is fused with.
std::unique_ptr<kernel_emitter> make_own_loop_emitter(const kernel& k, const user_code& users, dialect d, writer& w);
bool has_own_loop(const kernel& k);

}  // namespace sinter::jit
