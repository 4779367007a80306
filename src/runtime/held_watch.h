// HeldWatch: when the worker of a node asks the store to report that an activity it runs was cancelled or deleted.
//
// | state    | event                                              | next     |
// |----------|----------------------------------------------------|----------|
// | idle     | due, and an activity has run for kWatchAfter       | watching |
// | watching | due, and an activity that is not watched has run so | ending   |
// | watching | the node drains and runs nothing any more          | ending   |
// | watching | the store responds: lost, deadline or error        | idle     |
// | ending   | the store responds                                 | idle     |
//
// Short activities are not watched: most end before a cancellation could reach them, and each watch costs a call. For
// the same reason kWatchAfter lies between the beginnings of two watches, however many activities begin and end.
//
// A watch also reports the end of an activity on this node. On a busy node that is almost every report, so the second
// loss in a row is confirmed by a renewal, whatever ended here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <perdure/types.h>
#include "providers/times.h"
#include "runtime/error_backoff.h"

namespace perdure::runtime {

class HeldWatch {
 public:
  // A quarter of the time in which a cancellation reaches an activity.
  static constexpr Milliseconds kWatchAfter{250};

  // `wake_ups`: the store ends waits by itself. Without that, renewals show what was cancelled.
  explicit HeldWatch(bool wake_ups) : wake_ups_(wake_ups) {}

  [[nodiscard]] bool is_watching() const noexcept { return state_ != State::kIdle; }
  [[nodiscard]] bool may_end() const noexcept { return state_ == State::kWatching; }
  [[nodiscard]] bool is_due(Timestamp now) const noexcept { return now >= wake_at(); }
  [[nodiscard]] Timestamp wake_at() const noexcept {
    return state_ == State::kEnding ? Timestamp::max() : std::max(due_, not_before_);
  }
  [[nodiscard]] const std::stop_source& wait() const noexcept { return wait_; }

  // An activity that is not watched has run since then.
  void runs_since(Timestamp started_at) noexcept {
    if (wake_ups_) due_ = std::min(due_, shifted(started_at, kWatchAfter));
  }
  // Everything is watched, or nothing runs.
  void rest() noexcept { due_ = Timestamp::max(); }

  void begin(Timestamp now) {
    state_ = State::kWatching;
    rest();
    not_before_ = shifted(now, kWatchAfter);
    wait_ = std::stop_source();
  }
  void end() noexcept { state_ = State::kEnding; }

  // The store has reported a loss, or the wait has ended. Returns whether a renewal must confirm the loss;
  // `ended_here`: a watched activity ended on this node, which may be the loss. The pause collects other losses of the
  // same time.
  [[nodiscard]] bool responded(bool lost, bool ended_here, Timestamp now) noexcept {
    state_ = State::kIdle;
    errors_.succeeded();
    due_ = now;
    const bool again = std::exchange(lost_, lost);
    if (!lost || (ended_here && !again)) return false;
    not_before_ = shifted(now, kWatchAfter);
    return true;
  }
  // Returns the pause before the next watch.
  Milliseconds failed(Timestamp now) noexcept {
    state_ = State::kIdle;
    const Milliseconds pause = errors_.failed();
    due_ = now;
    not_before_ = shifted(now, pause);
    return pause;
  }

 private:
  enum class State : std::uint8_t { kIdle, kWatching, kEnding };

  bool wake_ups_;
  State state_ = State::kIdle;
  Timestamp due_ = Timestamp::max();         // an activity must be watched from then on
  Timestamp not_before_ = Timestamp::min();  // a pause: an activity that begins does not make it shorter
  bool lost_ = false;                        // the latest response reported a loss
  ErrorBackoff errors_;
  std::stop_source wait_;
};

}  // namespace perdure::runtime
