#include "dsl/stream.hpp"

#include "jit/faults.hpp"
#include "runtime/counters.hpp"
#include "runtime/error.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace sinter {

namespace {

/// What the device says, told with the user's line.
template <class F>
auto at_line(const char* what, const place& at, F&& f) {
  try {
    return f();
  } catch (const device_error& e) {
    throw device_error(error_text(fmt::format("{}: {}", what, e.what()), at), e.code());
  }
}

}  // namespace

// ---- Streams ----

stream::stream(const stream_options& how, place at) : stream(default_device(), how, at) {}

stream::stream(const sinter::device& d, const stream_options& how, place at)
    : impl_(at_line("stream", at, [&] { return &d.impl().make_stream(how.priority); })) {}

stream stream::wrap(const sinter::device& d, void* native, place at) {
  return stream(at_line("stream::wrap", at, [&] { return &d.impl().wrap_stream(native); }));
}

stream::stream(const stream& other) noexcept : impl_(other.impl_) { impl_->hold(); }

stream& stream::operator=(const stream& other) noexcept {
  other.impl_->hold();
  std::exchange(impl_, other.impl_)->let_go();
  return *this;
}

stream::~stream() { impl_->let_go(); }

device stream::device() const { return sinter::device(impl_->where()); }
int stream::priority() const { return impl_->priority(); }
void* stream::native() const { return impl_->native(); }

bool stream::query(place at) const {
  return at_line("stream::query", at, [&] { return impl_->is_idle(); });
}

void stream::synchronize(place at) const {
  runtime::bump(runtime::count().synchronizations);
  at_line("stream::synchronize", at, [&] { impl_->synchronize(); });
  const runtime::stream_scope on(*impl_);
  jit::throw_on_fault(impl_->where());
}

namespace {

stream handle_of(runtime::stream& s) {
  s.hold();
  return stream::adopt(s);
}

}  // namespace

stream current_stream() { return current_stream(default_device()); }
stream current_stream(const device& d) { return handle_of(runtime::current_stream(d.impl())); }
stream default_stream() { return default_stream(default_device()); }
stream default_stream(const device& d) { return handle_of(d.impl().default_stream()); }

// ---- The current one ----

scoped_stream::scoped_stream(const stream& s, place at) {
  static_assert(sizeof scope_ >= sizeof(runtime::stream_scope) && alignof(void*) >= alignof(runtime::stream_scope));
  at_line("scoped_stream", at, [&] { s.impl().check_usable(); });
  new (scope_) runtime::stream_scope(s.impl());
}

scoped_stream::~scoped_stream() { std::launder(reinterpret_cast<runtime::stream_scope*>(scope_))->~stream_scope(); }

// ---- Events ----

struct event::state {
  std::unique_ptr<runtime::moment> when;
  runtime::reference<runtime::stream> of;
};

event::event(event&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

event& event::operator=(event&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

event::~event() { delete state_; }

void event::record(place at) { record(current_stream(), at); }

void event::record(const stream& s, place at) {
  at_line("event::record", at, [&] {
    auto fresh = std::make_unique<state>();
    fresh->of = runtime::reference<runtime::stream>::share(&s.impl());
    const bool again = state_ && &state_->of->where() == &s.impl().where();
    fresh->when = again ? std::move(state_->when) : s.impl().where().make_moment(true);
    delete std::exchange(state_, nullptr);
    fresh->when->record(s.impl());
    state_ = fresh.release();
  });
}

const event::state& event::recorded(const char* what, const place& at) const {
  if (!state_)
    throw device_error(error_text(fmt::format("{}: the event is not recorded", what), at,
                                  "e.record(stream) makes it a point in the stream's work"));
  return *state_;
}

bool event::query(place at) const {
  const state& s = recorded("event::query", at);
  return at_line("event::query", at, [&] { return s.when->has_come(); });
}

void event::synchronize(place at) const {
  const state& s = recorded("event::synchronize", at);
  runtime::bump(runtime::count().synchronizations);
  at_line("event::synchronize", at, [&] { s.when->await(); });
}

double event::milliseconds_since(const event& start, place at) const {
  constexpr const char* what = "event::milliseconds_since";
  const state &from = start.recorded(what, at), &to = recorded(what, at);
  const runtime::device &first = from.of->where(), &second = to.of->where();
  if (&first != &second)
    throw device_error(error_text(fmt::format("{}: events of {} and of {}", what, first.name(), second.name()), at,
                                  "the clocks of different devices can't be compared"));
  return at_line(what, at, [&] {
    from.when->await();
    to.when->await();
    return to.when->milliseconds_since(*from.when);
  });
}

void stream::wait(const event& e, place at) const {
  const event::state& s = e.recorded("stream::wait", at);
  at_line("stream::wait", at, [&] {
    if (&s.of->where() != &impl_->where()) return s.when->await();
    if (s.of.get() == impl_) return;
    impl_->inherit_faults(*s.of);
    impl_->wait_for(*s.when);
  });
}

}  // namespace sinter
