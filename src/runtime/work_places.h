// WorkPlaces: what a turn's commit may claim for the worker of the same node: places that are free there now, and
// activities that it would fetch.
//
// Both dispatchers hold it, under locks of their own, so its numbers are atomic. They may be a moment old: at the worst
// an activity waits for a thread, or goes through the queue.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include <perdure/fetch.h>

namespace perdure::runtime {

class WorkPlaces {
 public:
  // `fetch` is how the worker fetches; `runs_here` whether there is code for an activity of that name.
  WorkPlaces(WorkFetch fetch, std::function<bool(const std::string& name)> runs_here)
      : fetch_(std::move(fetch)), runs_here_(std::move(runs_here)) {}

  // ---- the worker ----

  // Places without an activity that no fetch is about to fill.
  void publish(std::size_t free, bool admits_suspects) noexcept {
    free_ = free;
    admits_suspects_ = admits_suspects;
  }
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }
  // There is more work in the queue than was fetched, or there is not.
  void queue_seen(bool more) noexcept { backed_up_ = more; }

  // ---- the turns ----

  // A fetch of the worker could take it, sessions aside.
  [[nodiscard]] bool fits(const MessageRecord& activity, Timestamp now) const {
    const auto& names = fetch_.filter.activities;
    return fetch_.tags.matches(activity.tag) && (!activity.visible_at || *activity.visible_at <= now) &&
           (names.empty() || std::find(names.begin(), names.end(), activity.name) != names.end());
  }
  [[nodiscard]] bool runs_here(const std::string& name) const { return runs_here_(name); }
  // Keeps up to `wanted` places; none while other work waits for them.
  [[nodiscard]] std::size_t reserve(std::size_t wanted) noexcept {
    if (backed_up_) return 0;
    const std::size_t free = free_;
    const std::size_t places = std::min(wanted, free - std::min<std::size_t>(free, reserved_));
    reserved_ += places;
    return places;
  }
  // Never below nothing, whatever a store claims.
  void release(std::size_t places) noexcept {
    std::size_t reserved = reserved_;
    while (!reserved_.compare_exchange_weak(reserved, reserved - std::min(reserved, places))) {
    }
  }
  // A commit was refused a claim: other work is ahead.
  void refused() noexcept { backed_up_ = true; }
  [[nodiscard]] WorkFetch claim(std::size_t limit) const {
    WorkFetch claim = fetch_;
    claim.limit = limit;
    claim.suspects.admit = admits_suspects_;
    return claim;
  }

 private:
  WorkFetch fetch_;
  std::function<bool(const std::string& name)> runs_here_;
  std::atomic<std::size_t> free_{0};
  std::atomic<std::size_t> reserved_{0};
  std::atomic<bool> admits_suspects_{true};
  std::atomic<bool> backed_up_{false};
};

}  // namespace perdure::runtime
