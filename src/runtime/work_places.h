// WorkPlaces: what a turn's commit may claim for the worker of the same node: places that are free there now, and
// activities that it would fetch.
//
// Both dispatchers hold it, under locks of their own, so it is atomic. The places that are free and those that are
// reserved are one value: a place goes to a turn or to a fetch in one step, and never to both. What the turns see may
// be a moment old: at the worst an activity goes through the queue.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
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
    change([&](Numbers& numbers) { numbers.free = narrowed(free); });
    admits_suspects_ = admits_suspects;
  }
  // Reserves for a fetch those of the `free` slots that no claim has reserved, and returns their number. Call
  // publish() again if the fetch is not issued.
  [[nodiscard]] std::size_t take_for_fetch(std::size_t free) noexcept {
    std::size_t taken = 0;
    change([&](Numbers& numbers) {
      taken = free - std::min<std::size_t>(free, numbers.reserved);
      numbers.free = narrowed(free - taken);
    });
    return taken;
  }
  [[nodiscard]] std::size_t reserved() const noexcept { return numbers_.load().reserved; }
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
    std::size_t places = 0;
    change([&](Numbers& numbers) {
      places = std::min<std::size_t>(wanted, numbers.free - std::min(numbers.free, numbers.reserved));
      numbers.reserved += narrowed(places);
    });
    return places;
  }
  // Never below nothing, whatever a store claims.
  void release(std::size_t places) noexcept {
    change([&](Numbers& numbers) { numbers.reserved -= std::min(numbers.reserved, narrowed(places)); });
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
  // Small enough to be exchanged without a lock.
  struct Numbers {
    std::uint32_t free;
    std::uint32_t reserved;
  };
  static std::uint32_t narrowed(std::size_t places) noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(places, std::numeric_limits<std::uint32_t>::max()));
  }
  // Repeated if somebody else was faster.
  template <class F>
  void change(F step) noexcept {
    Numbers before = numbers_;
    for (;;) {
      Numbers after = before;
      step(after);
      if (numbers_.compare_exchange_weak(before, after)) return;
    }
  }

  WorkFetch fetch_;
  std::function<bool(const std::string& name)> runs_here_;
  std::atomic<Numbers> numbers_{Numbers{0, 0}};
  std::atomic<bool> admits_suspects_{true};
  std::atomic<bool> backed_up_{false};
};

}  // namespace perdure::runtime
