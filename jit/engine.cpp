#include "jit/engine.hpp"

#include "jit/evaluation.hpp"
#include "jit/flushes.hpp"
#include "jit/fold/batch.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/recorder.hpp"
#include "runtime/own.hpp"
#include "runtime/stream.hpp"

namespace sinter::jit {

constinit options shared_options;

bool compiles_later(const options& how) {
  if (how.compiling != compile_mode::automatic) return how.compiling == compile_mode::async;
  return runtime::environment().compile_mode == "async";
}

namespace {

/// Of roots in which nothing is left to fold.
void evaluate_folded(std::span<node* const> roots, const place& at) {
  run_opaque(roots, current_options(), at);
  evaluation& e = runtime::own_of_thread<evaluation>();
  struct finally {
    evaluation& e;
    ~finally() { e.reset(); }
  } reset_at_the_end{e};
  if (runtime::wants(runtime::dump::graph)) runtime::log(runtime::level::silent, "\n" + to_string(roots));
  const options how = current_options();
  if (!e.plan(roots, how)) return;
  runtime::bump(runtime::count().evaluations);
  e.prepare(how);
  e.launch();
  e.publish();
}

}  // namespace

void evaluate(std::span<node* const> roots, const place& at) {
  bool pending = false;
  for (const node* r : roots) pending |= !r->values();
  if (!pending) return;
  if (recorder* to = recorder::current()) return to->evaluate(roots, at);
  resolve(roots);
  batched_roots batched(roots);
  evaluate_folded(batched.roots(), at);
  if (const std::vector<node*> left = batched.hand_out(); !left.empty()) evaluate_folded(left, at);
}

void precompile(std::span<node* const> roots, const place& at) {
  resolve(roots);
  const batched_roots batched(roots);
  run_opaque(batched.roots(), current_options(), at);
  evaluation e;
  options how = current_options();
  how.compiling = compile_mode::sync;
  if (e.plan(batched.roots(), how)) e.prepare(how);
}

void synchronize(device& d) {
  runtime::bump(runtime::count().synchronizations);
  d.synchronize();
  throw_on_fault_of_any(d);
}

void read(node* n, void* to, std::size_t bytes, const place& at) {
  if (!n->values()) note_flush(at);
  evaluate({&n, 1}, at);
  refuse_recorded(n, at);
  if (bytes == 0) return;
  buffer* b = n->values();
  SINTER_CHECK(b && b->bytes >= bytes);
  runtime::bump(runtime::count().synchronizations);
  runtime::count_copy_out(bytes);
  runtime::copy_to_host(to, *b, 0, bytes);
  throw_on_fault(*b->owner);
}

}  // namespace sinter::jit
