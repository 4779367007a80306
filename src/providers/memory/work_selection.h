// Which activities a fetch takes: the one place that knows tags, names, sessions, expiry and suspects.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/types.h>
#include "providers/memory/fetch_limit.h"
#include "providers/memory/store.h"

namespace perdure::memory {

// Nobody started it in time. Any worker may take it, to fail it.
[[nodiscard]] inline bool is_expired(const Activity& activity, Timestamp now) {
  return activity.expires_at() <= now;
}

// Is offered one activity after the other and changes nothing, so that waits and commits can ask what a fetch would do.
class WorkSelection {
 public:
  // Borrows both.
  WorkSelection(const Sessions& sessions, const WorkFetch& fetch, Timestamp now);

  [[nodiscard]] bool full() const noexcept { return limit_.full(); }
  // Whether the fetch takes this activity, which is ready.
  [[nodiscard]] bool take(const Activity& activity);
  // When time alone might change an answer that was no.
  [[nodiscard]] Timestamp look_again_at() const noexcept { return look_again_at_; }

 private:
  [[nodiscard]] bool accepts(const Activity& activity);
  [[nodiscard]] bool accepts_session(const std::string& session);
  void look_again(Timestamp at);

  const Sessions& sessions_;
  const WorkFetch& fetch_;
  Timestamp now_;
  FetchLimit limit_;
  Sessions::Holding held_;         // by the session owner of the fetch, before it
  std::set<std::string> claimed_;  // sessions that the fetch would claim for what it has taken so far
  Timestamp look_again_at_ = Timestamp::max();
};

// What a fetch would take, and when to look again if that is nothing and nothing changes.
struct FoundActivities {
  std::vector<Position> rows;
  Timestamp look_again_at = Timestamp::max();
};
[[nodiscard]] FoundActivities find_activities(const Store& store, const WorkFetch& fetch, Timestamp now);

}  // namespace perdure::memory
