#include "runtime/staging.hpp"

#include <algorithm>
#include <deque>

namespace sinter::runtime {

namespace {

/// How many elements a piece takes.
std::int64_t elements_of_piece(std::int64_t item) {
  const auto bytes = std::min(staging().piece_bytes.load(std::memory_order_relaxed), staging_size::most_piece_bytes);
  return std::max<std::int64_t>(static_cast<std::int64_t>(bytes) / item, 1);
}

std::size_t pieces_of(std::int64_t elements, std::int64_t per_piece) {
  return static_cast<std::size_t>((elements + per_piece - 1) / per_piece);
}

}  // namespace

staging_piece staging_pieces::make() {
  staging_piece p;
  p.idle = engine_.make_event();
  try {
    p.memory = engine_.allocate_pinned(staging_size::most_piece_bytes);
  } catch (...) {
    engine_.release_event(p.idle);
    throw;
  }
  return p;
}

void staging_pieces::destroy(const staging_piece& p) noexcept {
  engine_.release_pinned(p.memory, staging_size::most_piece_bytes);
  engine_.release_event(p.idle);
}

void staging_pieces::copy_in(void* to, const host_region& from) {
  const std::int64_t count = from.size(), step = elements_of_piece(from.item);
  const std::lock_guard lock(in_guard_);
  for (std::int64_t begin = 0; begin < count; begin += step) {
    if (ring_.size() < static_cast<std::size_t>(staging_size::pieces) && next_ == ring_.size()) ring_.push_back(make());
    const staging_piece& p = ring_[next_];
    engine_.wait(p.idle);
    const std::int64_t end = std::min(begin + step, count);
    pack(p.memory, from, begin, end);
    engine_.start(copy_engine::lane::in, static_cast<std::byte*>(to) + begin * from.item, p.memory,
                  static_cast<std::size_t>((end - begin) * from.item));
    engine_.mark(copy_engine::lane::in, p.idle);
    next_ = (next_ + 1) % static_cast<std::size_t>(staging_size::pieces);
  }
}

std::vector<staging_piece> staging_pieces::take(std::size_t wanted) {
  std::vector<staging_piece> taken;
  const std::lock_guard lock(out_guard_);
  constexpr std::size_t most = staging_size::pieces;
  while (taken.size() < wanted && (taken.empty() || !free_.empty() || in_hand_ < most)) {
    if (free_.empty()) {
      free_.reserve(in_hand_ + 1);  // so that giving it back can't fail
      try {
        taken.push_back(make());
      } catch (...) {
        if (taken.empty()) throw;
        break;  // it goes on with those there are
      }
    } else {
      taken.push_back(free_.back());
      free_.pop_back();
    }
    ++in_hand_;
  }
  return taken;
}

void staging_pieces::give(const staging_piece& p) noexcept {
  const std::lock_guard lock(out_guard_);
  --in_hand_;
  if (free_.size() < static_cast<std::size_t>(staging_size::pieces)) free_.push_back(p);
  else destroy(p);
}

void staging_pieces::trim() noexcept {
  {
    const std::lock_guard lock(in_guard_);
    for (const staging_piece& p : ring_) {
      try {
        engine_.wait(p.idle);
      } catch (...) {
        // The device is lost, and uses nothing any more.
      }
      destroy(p);
    }
    ring_.clear();
    next_ = 0;
  }
  const std::lock_guard lock(out_guard_);
  for (const staging_piece& p : free_) destroy(p);
  free_.clear();
}

// ---- Copies out ----

/// Pieces under way, the oldest first; each goes again, for a later part, once it has been emptied.
class staged_copy_out final : public transfer {
 public:
  staged_copy_out(staging_pieces& owner, const host_region& to, const void* from)
      : owner_(owner), to_(to), from_(static_cast<const std::byte*>(from)), count_(to.size()),
        step_(elements_of_piece(to.item)) {
    for (const staging_piece& p : owner_.take(std::min<std::size_t>(pieces_of(count_, step_), staging_size::pieces)))
      idle_.push_back(p);
    try {
      fill();
    } catch (...) {
      drain();
      throw;
    }
  }
  ~staged_copy_out() override { drain(); }

  bool is_done() override {
    while (!under_way_.empty() && owner_.engine_.is_done(under_way_.front().idle)) take_oldest();
    return under_way_.empty();
  }
  void wait() override {
    while (!under_way_.empty()) take_oldest();
  }
  /// What isn't started yet has the host wait: the device's work would change what it reads.
  void join() override {
    while (started_ < count_) take_oldest();
    if (!under_way_.empty()) owner_.engine_.join(under_way_.back().idle);
  }

 private:
  void fill() {
    while (started_ < count_ && !idle_.empty()) {
      const staging_piece p = idle_.front();
      const std::int64_t end = std::min(started_ + step_, count_);
      owner_.engine_.start(copy_engine::lane::out, p.memory, from_ + started_ * to_.item,
                           static_cast<std::size_t>((end - started_) * to_.item));
      idle_.pop_front();
      under_way_.push_back(p);
      started_ = end;
      owner_.engine_.mark(copy_engine::lane::out, p.idle);
    }
    if (started_ < count_) return;
    for (const staging_piece& p : idle_) owner_.give(p);
    idle_.clear();
  }

  void take_oldest() {
    const staging_piece p = under_way_.front();
    owner_.engine_.wait(p.idle);
    const std::int64_t end = std::min(emptied_ + step_, count_);
    unpack(to_, p.memory, emptied_, end);
    emptied_ = end;
    under_way_.pop_front();
    idle_.push_back(p);
    fill();
  }

  /// Everything back; nothing writes to the host's memory afterwards.
  void drain() noexcept {
    try {
      wait();
    } catch (...) {
      // The device is lost: what it was to copy never arrives.
    }
    for (const auto* list : {&under_way_, &idle_})
      for (const staging_piece& p : *list) owner_.give(p);
    under_way_.clear();
    idle_.clear();
  }

  staging_pieces& owner_;
  const host_region to_;
  const std::byte* const from_;
  const std::int64_t count_, step_;              ///< in elements
  std::int64_t started_ = 0, emptied_ = 0;       ///< likewise: what was given to the device, what has arrived
  std::deque<staging_piece> under_way_, idle_;
};

std::unique_ptr<transfer> staging_pieces::start_copy_out(const host_region& to, const void* from) {
  return std::make_unique<staged_copy_out>(*this, to, from);
}

}  // namespace sinter::runtime
