// What the two dispatchers of a node tell each other: activities that a commit here claimed for the worker here, and
// completions that reach their turn without the queue (the fast path).
#pragma once

#include <compare>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/records.h>
#include <perdure/types.h>

namespace perdure::runtime {

// One attempt at an activity on this node.
using RunId = std::uint64_t;

// An activity by its identity. A restarted instance reuses execution and activity ids, and updates of its predecessor
// may arrive after its own. Only the incarnation distinguishes the activities of the two.
struct ActivityOfInstance {
  std::string instance;
  std::uint64_t incarnation = 0;  // 0: unknown, because an engine without this field wrote the activity
  ExecutionId execution = kFirstExecutionId;
  EventId activity_id = 0;

  auto operator<=>(const ActivityOfInstance&) const = default;
};
// One that a committed turn withdrew.
using WithdrawnActivity = ActivityOfInstance;

// One that a commit of this node claimed. The instance's incarnation is known even if the item is never decoded.
struct ClaimedWork {
  WorkItem item;
  std::uint64_t incarnation = 0;
};

// The outcome of a claimed activity, offered to the turn that waits for it. Its work item stays locked until a verdict.
struct LocalCompletion {
  RunId run = 0;
  LockToken work;
  std::uint64_t incarnation = 0;
  ExecutionId execution = kFirstExecutionId;
  EventId activity_id = 0;
  MessageRecord message;  // as the queue would carry it
};

// What became of an offer.
struct Verdict {
  RunId run = 0;
  // The store has the outcome, or does not want it any more. False: it goes through the queue.
  bool settled = false;
};

struct NewsForWorker {
  std::vector<ClaimedWork> claimed;  // to be run
  std::vector<Verdict> verdicts;
  std::vector<WithdrawnActivity> withdrawn;  // to be stopped if they run here
  bool places_freed = false;                 // that were kept for activities which were not claimed

  [[nodiscard]] bool empty() const noexcept {
    return claimed.empty() && verdicts.empty() && withdrawn.empty() && !places_freed;
  }
};

struct NewsForTurns {
  std::vector<LocalCompletion> offered;
  std::vector<ActivityOfInstance> over;  // claimed activities that will offer nothing

  [[nodiscard]] bool empty() const noexcept { return offered.empty() && over.empty(); }
};

template <class Element>
void move_behind(std::vector<Element>& list, std::vector<Element>& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}
// Adds what is newer. The order of the lists is that in which a dispatcher takes them, so that an activity is known
// before it is withdrawn.
inline void append(NewsForWorker& news, NewsForWorker more) {
  move_behind(news.claimed, more.claimed);
  move_behind(news.verdicts, more.verdicts);
  move_behind(news.withdrawn, more.withdrawn);
  news.places_freed = news.places_freed || more.places_freed;
}
inline void append(NewsForTurns& news, NewsForTurns more) {
  move_behind(news.offered, more.offered);
  move_behind(news.over, more.over);
}

}  // namespace perdure::runtime
