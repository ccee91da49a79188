// Streams of any device: points, waits, and what memory remembers of them. Locks are taken in the order: uses of
// memory, what a stream knows, its points; never those of two streams.
#include "runtime/stream.hpp"

#include "runtime/error.hpp"

#include <algorithm>

namespace sinter::runtime {

constinit thread_local const stream_scope* this_threads_stream = nullptr;

namespace {

constinit std::mutex uses_guard;  // of every buffer's uses

}  // namespace

// ---- Which stream is current ----

stream_scope::stream_scope(stream& s) noexcept : current_(s), outer_(this_threads_stream) {
  current_.hold();
  this_threads_stream = this;
}

stream_scope::~stream_scope() {
  this_threads_stream = outer_;
  current_.let_go();
}

stream& current_stream(device& d) {
  for (const stream_scope* s = this_threads_stream; s; s = s->outer())
    if (&s->current().where() == &d) return s->current();
  return d.default_stream();
}

// ---- The life of a stream ----

void release(stream* s) noexcept {
  if (s->references.drop()) delete s;
}

bool stream::try_to_hold() noexcept {
  std::uint32_t now = handles_.load(std::memory_order_relaxed);
  while (now != 0)
    if (handles_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  return false;
}

void stream::let_go() noexcept {
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const auto held = reference<stream>::share(this);  // once it has ended, others may let it go
  try {
    const std::lock_guard lock(points_guard_);
    open_has_uses_ = true;  // so that the last point says when all is done
    close_point_locked();
  } catch (const std::exception&) {
    // Nothing can be asked of the device any more: it ended, or failed.
  }
  release_scratch();
  ended_.store(true, std::memory_order_release);
  end();
}

void stream::release_scratch() noexcept {
  const std::lock_guard lock(scratch_.guard);
  std::vector<stream_scratch::block> all = std::move(scratch_.outgrown);
  for (stream_scratch::block* b : {&scratch_.workspace, &scratch_.tickets})
    if (b->memory) all.push_back(std::exchange(*b, {}));
  for (const stream_scratch::block& b : all) where_.release(b.memory, b.bytes);
}

bool stream::is_over() {
  const std::lock_guard lock(points_guard_);
  return has_ended() && (points_.empty() || points_.back().at->has_come());
}

void stream::await_end() {
  std::shared_ptr<moment> last;
  {
    const std::lock_guard lock(points_guard_);
    if (!points_.empty()) last = points_.back().at;
  }
  if (last) last->await();
}

// ---- Points ----

std::uint64_t stream::note_use() noexcept {
  const std::lock_guard lock(points_guard_);
  open_has_uses_ = true;
  return open_;
}

void stream::close_point() {
  const std::lock_guard lock(points_guard_);
  close_point_locked();
}

void stream::close_point_locked() {
  if (!open_has_uses_ || has_ended()) return;
  std::shared_ptr<moment> now = where_.make_moment(false);
  now->record(*this);
  if (points_.size() == most_points) points_.erase(points_.begin(), points_.begin() + most_points / 2);
  points_.push_back({open_, std::move(now)});
  ++open_;
  open_has_uses_ = false;
}

/// The first that covers what was noted under `number`.
stream::point stream::point_of(std::uint64_t number) {
  const std::lock_guard lock(points_guard_);
  if (number == everything) open_has_uses_ = true;
  if (number >= open_) close_point_locked();
  const auto found =
      std::ranges::lower_bound(points_, std::min(number, open_ - 1), {}, [](const point& p) { return p.number; });
  return found == points_.end() ? point{number, nullptr} : *found;
}

// ---- Waiting for each other ----

bool stream::knows(const stream& other, std::uint64_t number) {
  if (&other == this) return true;
  const std::lock_guard lock(known_guard_);
  return std::ranges::any_of(known_,
                             [&](const known_point& k) { return k.of.get() == &other && k.number >= number; });
}

void stream::wait_for(stream& other, std::uint64_t number) {
  if (number == 0 || knows(other, number)) return;
  const point p = other.point_of(number);
  inherit_faults(other);
  if (!p.at) return;
  const std::lock_guard lock(known_guard_);
  wait_for(*p.at);
  waits_.fetch_add(1, std::memory_order_relaxed);
  std::erase_if(known_, [](const known_point& k) { return k.of->is_over(); });
  const auto known = std::ranges::find(known_, &other, [](const known_point& k) { return k.of.get(); });
  if (known == known_.end()) known_.push_back({reference<stream>::share(&other), p.number});
  else known->number = std::max(known->number, p.number);
}

void stream::inherit_faults(stream& other) {
  std::vector<reference<stream>> above;
  {
    const std::lock_guard lock(other.known_guard_);
    above = other.upstream_;
  }
  above.push_back(reference<stream>::share(&other));
  const std::lock_guard lock(known_guard_);
  std::erase_if(upstream_, [](const auto& s) { return !s->may_have_fault() && s->is_over(); });
  for (reference<stream>& s : above) {
    if (s.get() == this) continue;
    const bool is_there = std::ranges::any_of(upstream_, [&](const auto& u) { return u.get() == s.get(); });
    if (!is_there) upstream_.push_back(std::move(s));
  }
}

void stream::forget_upstream() noexcept {
  const std::lock_guard lock(known_guard_);
  upstream_.clear();
  known_.clear();
}

bool stream::take_any_fault(index_fault& out) {
  if (take_fault(out)) return true;
  if (!where_.has_streams()) return false;
  std::vector<reference<stream>> above;
  {
    const std::lock_guard lock(known_guard_);
    above = upstream_;
  }
  for (const reference<stream>& s : above) {
    const bool was_over = s->is_over();
    if (s->take_fault(out)) return true;
    if (!was_over) continue;
    const std::lock_guard lock(known_guard_);
    std::erase_if(upstream_, [&](const auto& u) { return u.get() == s.get(); });
  }
  return false;
}

// ---- What memory remembers ----

namespace {

buffer& root_of(buffer& b) {
  buffer* root = &b;
  while (root->whole && root->whole != root) root = root->whole;  // foreign memory is its own
  return *root;
}

stream_users::use* find_use(stream_users& uses, const stream& s) {
  const auto found = std::ranges::find(uses.all, &s, [](const stream_users::use& u) { return u.by.get(); });
  return found == uses.all.end() ? nullptr : &*found;
}

/// Memory that no use of was noted had the default stream alone. Nothing says when that last read it; it was written
/// before now, since whoever wrote it has let others have it.
stream_users& uses_of(buffer& root) {
  if (!root.users) {
    auto fresh = std::make_unique<stream_users>();
    stream& usual = root.owner->default_stream();
    fresh->all.push_back({reference<stream>::share(&usual), stream::everything, usual.note_use()});
    root.users = fresh.release();
  }
  return *root.users;
}

}  // namespace

/// Makes room for the note first, so that note() can't fail.
void memory_use::add(buffer& b, bool writes) {
  buffer& root = root_of(b);
  if (!root.data) return;
  std::vector<stream_users::use> others;
  {
    const std::lock_guard lock(uses_guard);
    stream_users& uses = uses_of(root);
    for (const stream_users::use& u : uses.all)
      if (u.by.get() != stream_.get()) others.push_back(u);
    if (!find_use(uses, *stream_)) uses.all.push_back({stream_, 0, 0});
    all_.push_back({&root, writes});
  }
  for (const stream_users::use& u : others) {
    stream_->wait_for(*u.by, u.written);
    if (writes) stream_->wait_for(*u.by, u.read);
  }
}

void memory_use::note() noexcept {
  const std::lock_guard lock(uses_guard);
  const std::uint64_t now = stream_->note_use();
  for (const used& x : all_) {
    stream_users& uses = *x.memory->users;
    stream_users::use& mine = *find_use(uses, *stream_);
    (x.written ? mine.written : mine.read) = now;
    if (!x.written || uses.all.size() == 1) continue;
    // What came before is done when this is. Those without numbers are about to begin, elsewhere in this memory.
    std::erase_if(uses.all, [&](const stream_users::use& u) {
      const std::uint64_t last = std::max(u.read, u.written);
      return u.by.get() != stream_.get() && last != 0 && last != stream::everything && stream_->knows(*u.by, last);
    });
  }
}

void memory_use::finish() noexcept {
  note();
  try {
    stream_->close_point();
  } catch (const std::exception&) {
    // Whoever waits for the uses tries again, and is told.
  }
}

std::unique_ptr<stream_users> users_of_new_memory(device& d) {
  auto uses = std::make_unique<stream_users>();
  uses->all.push_back({reference<stream>::share(&current_stream(d)), 0, 0});
  return uses;
}

void note_new_memory(buffer& b, std::unique_ptr<stream_users> uses) noexcept {
  uses->all.front().written = uses->all.front().by->note_use();
  b.users = uses.release();
}

void release_in_order(buffer& b) noexcept {
  device& d = *b.owner;
  const std::unique_ptr<stream_users> uses(std::exchange(b.users, nullptr));
  if (!uses) {
    const stream_scope on(d.default_stream());
    return d.release(b.data, b.bytes);
  }
  if (stream* s = uses->all.front().by.get(); uses->all.size() == 1 && s->try_to_hold()) {
    {
      const stream_scope on(*s);
      d.release(b.data, b.bytes);
    }
    return s->let_go();
  }
  const stream_scope on(d.releasing_stream());
  try {
    for (const stream_users::use& u : uses->all) on.current().wait_for(*u.by, std::max(u.read, u.written));
  } catch (const std::exception&) {
    // The device can't be waited for: nothing runs on it any more that could be disturbed.
  }
  d.release(b.data, b.bytes);
}

void copy_from_host(buffer& to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  memory_use use(*to.owner);
  use.writes(to);
  to.owner->copy_from_host(to.data, from, bytes);
  use.finished();
}

void copy_to_host(void* to, buffer& from, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  memory_use use(*from.owner);
  use.reads(from);
  from.owner->copy_to_host(to, static_cast<const std::byte*>(from.data) + offset, bytes);
  use.started();
}

void copy_on_device(buffer& to, buffer& from, std::size_t bytes) {
  if (bytes == 0) return;
  memory_use use(*to.owner);
  use.reads(from);
  use.writes(to);
  to.owner->copy_on_device(to.data, from.data, bytes);
  use.started();
}

// ---- The streams of a device ----

struct device::streams {
  std::mutex guard;
  std::vector<reference<stream>> all;  ///< but the default one
  stream* releasing = nullptr;
};

device::device() : streams_(std::make_unique<streams>()) {}
device::~device() = default;

stream& device::enter(std::unique_ptr<stream> s) {
  stream& made = *s;
  made.hold();
  const std::lock_guard lock(streams_->guard);
  std::vector<reference<stream>>& all = streams_->all;
  std::erase_if(all, [](const reference<stream>& x) {
    if (x->may_have_fault() || !x->is_over()) return false;
    x->forget_upstream();
    return true;
  });
  if (!has_streams()) {
    all.push_back(reference<stream>(new_stream(0).release()));
    all.back()->hold();
    streams_->releasing = all.back().get();
    default_stream().note_use();  // whatever it was asked while nothing was noted
    has_streams_.store(true, std::memory_order_release);
  }
  all.push_back(reference<stream>(s.release()));
  return made;
}

stream& device::make_stream(int priority) { return enter(new_stream(priority)); }
stream& device::wrap_stream(void* native) { return enter(foreign_stream(native)); }
stream& device::releasing_stream() { return *streams_->releasing; }

void device::synchronize_streams() {
  std::vector<reference<stream>> all;
  {
    const std::lock_guard lock(streams_->guard);
    all = streams_->all;
  }
  for (const reference<stream>& s : all) {
    if (!s->try_to_hold()) {
      s->await_end();
      continue;
    }
    const struct let_go {
      stream& held;
      ~let_go() { held.let_go(); }
    } at_the_end{*s};
    s->synchronize();
  }
}

index_fault* device::fault_address() { return current_stream(*this).fault_address(); }
bool device::take_fault(index_fault& out) { return current_stream(*this).take_any_fault(out); }

bool device::take_fault_of_any(index_fault& out) {
  if (default_stream().take_fault(out)) return true;
  if (!has_streams()) return false;
  std::vector<reference<stream>> all;
  {
    const std::lock_guard lock(streams_->guard);
    all = streams_->all;
  }
  for (const reference<stream>& s : all) {
    const bool was_over = s->is_over();
    if (s->take_fault(out)) return true;
    if (!was_over) continue;
    s->forget_upstream();
    const std::lock_guard lock(streams_->guard);
    std::erase_if(streams_->all, [&](const auto& x) { return x.get() == s.get(); });
  }
  return false;
}

}  // namespace sinter::runtime
