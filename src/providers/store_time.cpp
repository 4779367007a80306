#include "providers/store_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "providers/times.h"

namespace perdure {

namespace {

constexpr Milliseconds kForever = Milliseconds::max();
// Far beyond every duration in use, and small enough to be multiplied.
constexpr Milliseconds kLongest{1'000'000'000'000'000};

// From an earlier time to a later one, at most kLongest.
Milliseconds between(Timestamp from, Timestamp to) noexcept {
  if (to <= from) return Milliseconds(0);
  return shifted(from, kLongest) <= to ? kLongest : to - from;
}

}  // namespace

Milliseconds saturating_sum(Milliseconds time, Milliseconds by) noexcept {
  return by > kForever - time ? kForever : time + by;
}

StoreTime::StoreTime(std::shared_ptr<Clock> clock, Logger logger)
    : clock_(std::move(clock)), logger_(std::move(logger)), last_(read()), now_(last_.source) {}

// The two clocks cannot be read at once. A thread that is stopped in between would see a jump.
StoreTime::Reading StoreTime::read() const {
  constexpr int kTries = 10;
  Reading reading;
  for (int i = 0; i < kTries; ++i) {
    reading.steady = clock_->steady();
    reading.source = clock_->now();
    if (clock_->steady() == reading.steady) break;
  }
  return reading;
}

void StoreTime::update() {
  const Reading reading = read();
  const Milliseconds passed = std::clamp(reading.steady - last_.steady, Milliseconds(0), kLongest);
  const Milliseconds::rep tenths = passed.count() * 9 + tenths_;
  now_ = shifted(now_, Milliseconds(tenths / 10));
  tenths_ = static_cast<int>(tenths % 10);
  if (reading.source >= now_) {
    now_ = reading.source;
    tenths_ = 0;
  }
  // A clock that is disciplined runs a little faster or slower: that is not a jump.
  const Milliseconds tolerance = Milliseconds(1'000) + passed / 1'000;
  const Timestamp expected = shifted(last_.source, passed);
  last_ = reading;
  if (reading.source > shifted(expected, tolerance)) note_jump(between(expected, reading.source));
  if (reading.source < shifted(expected, -tolerance)) note_jump(-between(reading.source, expected));
}

void StoreTime::note_jump(Milliseconds by) noexcept {
  last_jump_ = last_.steady;
  try {
    jumps_.push_back(by);
    has_jumps_ = true;
  } catch (const std::bad_alloc&) {
    // Only a line of the log is lost.
  }
}

void StoreTime::report_jumps() noexcept {
  if (!has_jumps_) return;
  std::vector<Milliseconds> jumps;
  {
    const std::scoped_lock guard(mutex_);
    jumps.swap(jumps_);
    has_jumps_ = false;
  }
  for (const Milliseconds by : jumps) {
    log_jump(logger_, by, "the clock was set forward; timers that are due fire now",
             "the clock was set back; store time advances at nine tenths until the clock has caught up");
  }
  if (jumped_) jumped_();
}

void log_jump(const Logger& logger, Milliseconds by, std::string_view forward, std::string_view back) noexcept {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), by.count()).ptr;
  const std::string_view size(digits.data(), static_cast<std::size_t>(end - digits.data()));
  logger.warn(by.count() > 0 ? forward : back, {{"jump_ms", size}});
}

StoreTime::Moment StoreTime::moment() {
  const std::scoped_lock guard(mutex_);
  update();
  return {.now = now_, .steady = last_.steady, .source = last_.source, .last_jump = last_jump_};
}

bool StoreTime::is_ahead() {
  const std::scoped_lock guard(mutex_);
  update();
  return now_ > last_.source;
}

void StoreTime::reach(Timestamp time) {
  const std::scoped_lock guard(mutex_);
  update();
  if (time <= now_) return;
  now_ = time;
  tenths_ = 0;
}

// While store time is ahead it needs ten ninths of the duration, unless the source catches up before.
Milliseconds StoreTime::steady_at(Timestamp time) {
  const std::scoped_lock guard(mutex_);
  update();
  const Milliseconds left = between(now_, time);
  if (left >= kLongest) return kForever;
  const Milliseconds slewed{(left.count() * 10 + 8) / 9};
  return saturating_sum(last_.steady, std::min(slewed, between(last_.source, time)));
}

Milliseconds StoreTime::end_of_wait(Timestamp deadline) {
  const std::scoped_lock guard(mutex_);
  update();
  const Milliseconds left = between(now_, deadline);
  return left >= kLongest ? kForever : saturating_sum(last_.steady, left);
}

}  // namespace perdure
