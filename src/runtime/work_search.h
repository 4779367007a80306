// WorkSearch: how a dispatcher looks for work: fetch while there is some, then wait to be woken, and leave a store that
// answers errors alone for a while.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <perdure/types.h>
#include "runtime/error_backoff.h"

namespace perdure::runtime {

class WorkSearch {
 public:
  enum class Step : std::uint8_t { kNothing, kFetch, kAwait, kEndWait };

  // `wake_ups`: the store ends waits by itself. `min_poll`: how often one is asked that does not.
  WorkSearch(bool wake_ups, Milliseconds min_poll) : wake_ups_(wake_ups), min_poll_(min_poll) {}

  // next() is going to answer kFetch if there is room.
  [[nodiscard]] bool will_fetch(Timestamp now) const noexcept {
    return expect_work_ && !awaiting_ && !stopped_ && !fetching_ && now >= look_at_;
  }
  // What to do now. `room` is how many items could be taken; `suspects` whether a suspect may be among them.
  [[nodiscard]] Step next(Timestamp now, std::size_t room, bool suspects) {
    if (awaiting_) {
      if (!is_stale(suspects) || ending_) return Step::kNothing;
      ending_ = true;
      return Step::kEndWait;
    }
    if (stopped_ || fetching_ || room == 0 || now < look_at_) return Step::kNothing;
    if (expect_work_) {
      fetching_ = true;
      expected_meanwhile_ = false;
      limit_ = room;
      return Step::kFetch;
    }
    if (!wake_ups_) {
      rests_ = false;
      look_at_ = now + min_poll_;
      expect_work_ = true;
      return Step::kNothing;
    }
    awaiting_ = true;
    awaits_suspects_ = suspects;
    wait_ = std::stop_source();
    return Step::kAwait;
  }
  // Ends the wait that kAwait began and kEndWait is for.
  [[nodiscard]] const std::stop_source& wait() const noexcept { return wait_; }
  // When next() may say something else, answers aside.
  [[nodiscard]] Timestamp wake_at(std::size_t room, bool suspects) const noexcept {
    if (awaiting_) return is_stale(suspects) && !ending_ ? Timestamp::min() : Timestamp::max();
    return stopped_ || fetching_ || room == 0 ? Timestamp::max() : look_at_;
  }

  // The fetch has brought so many items. A suspect comes alone, whatever else there is.
  void fetched(std::size_t items, bool with_suspect) noexcept {
    fetching_ = false;
    expect_work_ = items >= limit_ || with_suspect || expected_meanwhile_;
  }
  // Answers how long the store is left alone.
  Milliseconds fetch_failed(Timestamp now) noexcept {
    fetching_ = false;
    return rest(now);
  }
  // The wait is over, for whatever reason: time to look.
  void awaited() noexcept {
    awaiting_ = false;
    ending_ = false;
    expect_work_ = true;
  }
  Milliseconds await_failed(Timestamp now) noexcept {
    awaited();
    return rest(now);
  }
  // The store delivers work and refuses the results: the next fetch is a probe, with a longer delay each time.
  void hold_off(Timestamp now) noexcept {
    if (look_at_ <= now) static_cast<void>(rest(now));
  }
  // The store works again.
  void resume() noexcept {
    errors_.succeeded();
    if (std::exchange(rests_, false)) look_at_ = Timestamp::min();
  }

  // There is more, somebody says; perhaps too late for the fetch that is under way.
  void expect_work() noexcept {
    expect_work_ = true;
    expected_meanwhile_ = true;
  }
  // Looks no further; a wait that goes on is ended.
  void stop() noexcept { stopped_ = true; }
  [[nodiscard]] bool awaiting() const noexcept { return awaiting_; }
  [[nodiscard]] bool fetching() const noexcept { return fetching_; }
  // How many items the fetch that is under way may bring.
  [[nodiscard]] std::size_t being_fetched() const noexcept { return fetching_ ? limit_ : 0; }
  // A fetch is under way, or will be without anything else happening here.
  [[nodiscard]] bool is_looking(Timestamp now, std::size_t room) const noexcept {
    return fetching_ || awaiting_ || (!stopped_ && expect_work_ && room > 0 && now >= look_at_);
  }

 private:
  // It goes on although nobody wants its answer, or it would not end for everything that could be taken.
  [[nodiscard]] bool is_stale(bool suspects) const noexcept { return stopped_ || (suspects && !awaits_suspects_); }
  Milliseconds rest(Timestamp now) noexcept {
    const Milliseconds time = errors_.failed();
    look_at_ = now + time;
    rests_ = true;
    return time;
  }

  bool wake_ups_;
  Milliseconds min_poll_;
  ErrorBackoff errors_;
  std::size_t limit_ = 0;  // of the fetch that is under way
  bool fetching_ = false;
  bool awaiting_ = false;
  bool ending_ = false;  // the wait was told to end
  bool awaits_suspects_ = false;
  bool expect_work_ = true;
  bool expected_meanwhile_ = false;  // since the latest fetch began
  bool stopped_ = false;
  bool rests_ = false;                    // because of errors
  Timestamp look_at_ = Timestamp::min();  // not before
  std::stop_source wait_;
};

}  // namespace perdure::runtime
