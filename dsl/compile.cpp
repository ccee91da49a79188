#include "dsl/compile.hpp"

#include "dsl/record_internal.hpp"
#include "jit/compiled_function.hpp"
#include "runtime/foreign.hpp"

#include <atomic>
#include <memory>

namespace sinter::compiling {

namespace {

struct kept_pattern final : jit::kept_with_recording {
  std::unique_ptr<pattern> like;
};

/// The function as recorders see it.
class caller final : public jit::recorded_body {
 public:
  explicit caller(body f) : function_(f) {}
  void run(std::vector<jit::node_ref>&& arguments, std::vector<jit::node_ref>& results,
           std::unique_ptr<jit::kept_with_recording>& kept) override {
    std::vector<array> placeholders, given;
    for (jit::node_ref& n : arguments) placeholders.push_back(wrap(std::move(n)));
    arguments.clear();
    auto like = std::make_unique<kept_pattern>();
    like->like.reset(function_(placeholders, given));
    kept = std::move(like);
    for (array& x : given) results.push_back(unwrap(std::move(x)));
  }

 private:
  body function_;
};

/// What a call works with; each thread keeps one.
struct call_state {
  std::vector<jit::replay_argument> arguments;
  std::vector<jit::node_ref> fresh;
  std::vector<jit::node*> given;
  std::shared_ptr<jit::kept_with_recording> kept;
};

call_state& state_of_thread() {
  static thread_local call_state s;
  return s;
}

bool is_number(const jit::node* n) { return n->code == jit::op::scalar; }

/// All that is pending, together.
void evaluate_parts(std::span<const part> parts, const place& at) {
  const auto waits = [](const part& p) { return !p.value->node()->values() && !is_number(p.value->node()); };
  std::vector<jit::node*> pending;
  for (const part& p : parts)
    if (waits(p)) pending.push_back(p.value->node());
  if (!pending.empty()) jit::evaluate(pending, at);
}

/// Whether nobody but the holder of `x` sees its memory.
bool is_alone(const array& x) {
  const jit::node* n = x.node();
  return n->owner && n->values() && n->references.load(std::memory_order_acquire) == 1 &&
         runtime::is_exclusive(*n->values());
}

}  // namespace

struct recordings::shared {
  explicit shared(const place& at) : function(at) {}
  runtime::reference_count references;
  jit::compiled_function function;
};

recordings::recordings(const place& at) : shared_(new shared(at)) {}
recordings::recordings(const recordings& other) noexcept : shared_(other.shared_) { shared_->references.add(); }
recordings& recordings::operator=(const recordings& other) noexcept {
  other.shared_->references.add();
  if (shared_->references.drop()) delete shared_;
  shared_ = other.shared_;
  return *this;
}
recordings::~recordings() {
  if (shared_->references.drop()) delete shared_;
}

outcome recordings::call(std::span<const part> parts, std::span<const std::uint64_t> words, body record) {
  jit::compiled_function& f = shared_->function;
  evaluate_parts(parts, f.at());
  call_state& s = state_of_thread();
  const struct finally {
    call_state& s;
    ~finally() {
      s.arguments.clear();
      s.fresh.clear();
    }
  } at_the_end{s};
  for (const part& p : parts) {
    const bool donated = p.donated && is_alone(*p.value);
    if (donated) s.arguments.push_back({jit::node_ref(p.value->leave()), true});
    else s.arguments.push_back({jit::node_ref::share(p.value->node()), false});
  }
  caller function(record);
  auto [what, kept] = f.find(s.arguments, words, function);
  what->replay(s.arguments, s.fresh);
  f.note_replay();
  s.kept = std::move(kept);
  s.given.clear();
  for (jit::node_ref& n : s.fresh) s.given.push_back(n.leave());
  return {s.given, static_cast<const kept_pattern&>(*s.kept).like.get()};
}

void recordings::prepare(std::span<const part> parts, std::span<const std::uint64_t> words, body record) {
  std::vector<jit::replay_argument> arguments;
  for (const part& p : parts) arguments.push_back({jit::node_ref::share(p.value->node()), p.donated});
  caller function(record);
  shared_->function.find(arguments, words, function);
}

std::string recordings::explain() const { return shared_->function.explain(); }
std::uint64_t recordings::made() const { return shared_->function.recordings(); }
std::uint64_t recordings::replayed() const { return shared_->function.replays(); }

array number_of(const scalar& x, dtype type) { return wrap(jit::make_scalar(x, type, place{})); }

bool is_inlined() noexcept { return jit::is_part_of_recording(); }

}  // namespace sinter::compiling
