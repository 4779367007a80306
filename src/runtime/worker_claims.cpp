// Activities that commits of this node claimed for it, and their outcomes, which the turns here may take (the fast
// path).
#include <algorithm>
#include <utility>

#include "providers/times.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

void WorkerDispatcher::hear(NewsForWorker news, Timestamp now) {
  const std::size_t claimed = news.claimed.size();
  for (ClaimedWork& each : news.claimed) {
    if (!is_running(each)) take_on(std::move(each.item), now, each.incarnation);
  }
  if (places_ && claimed > 0) {
    publish_places();  // first: a place that is neither free nor reserved is nobody's
    places_->release(claimed);
  }
  for (const Verdict& verdict : news.verdicts) judged(verdict, now);
  for (const WithdrawnActivity& activity : news.withdrawn) withdrawn(activity, now);
  sweep();
}

// The same lock, not just the same activity: a later one may come while a run that has lost its lock still goes on.
bool WorkerDispatcher::is_running(const ClaimedWork& claimed) const {
  const MessageRecord& record = claimed.item.record;
  const auto run = by_identity_.find(
      {record.instance, claimed.incarnation, record.execution.value_or(kFirstExecutionId), record.activity_id});
  return run != by_identity_.end() && runs_.at(run->second).lease.token() == claimed.item.token;
}

// A function that has come to an outcome is about to return. Its place is then free for what the next turn schedules,
// which would else find none on a busy node. One that goes on all the same does not keep its outcome waiting.
void WorkerDispatcher::offer_when_returned(Run& run, Timestamp now) {
  constexpr Milliseconds kAboutToReturn{10};
  if (!run.claimed || run.returned) return;
  run.offer_at = shifted(now, kAboutToReturn);
  check_at_ = std::min(check_at_, *run.offer_at);
}

void WorkerDispatcher::offer(RunId id, Run& run) {
  run.offer_at.reset();
  run.claimed = false;
  run.offered = true;
  news_.offered.push_back({.run = id,
                           .work = run.lease.token(),
                           .incarnation = run.incarnation,
                           .execution = run.record.execution.value_or(kFirstExecutionId),
                           .activity_id = run.record.activity_id,
                           .message = run.ack->completion.value()});
}

void WorkerDispatcher::judged(const Verdict& verdict, Timestamp now) {
  const auto run = runs_.find(verdict.run);
  if (run == runs_.end() || !std::exchange(run->second.offered, false)) return;
  if (verdict.settled) {
    use_session(run->second, now);
    settle(verdict.run);
  } else if (repeating_stopped_ && gate_.probes()) {
    abandon_unstored(verdict.run);
  } else {
    to_ack_.push_back(verdict.run);  // a lock that was lost meanwhile is found out by this
  }
}

void WorkerDispatcher::offers_nothing(Run& run) {
  if (!std::exchange(run.claimed, false)) return;
  news_.over.push_back(identity_of(run));
}

}  // namespace perdure::runtime
