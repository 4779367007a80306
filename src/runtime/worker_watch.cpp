// How the worker learns that an activity it runs was cancelled or deleted by another node or by a client.
//
// The store only ends a wait. A renewal then shows which locks are lost, so one piece of code decides about a loss.
#include <algorithm>
#include <utility>

#include "model/planted_fault.h"
#include "providers/times.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

std::optional<worker::Request> WorkerDispatcher::watch(Timestamp now) {
  if (watch_.is_watching()) {
    const bool in_vain = draining_ && by_identity_.empty();
    if (!watch_.may_end() || !(in_vain || (watch_.is_due(now) && must_watch_more(now)))) return std::nullopt;
    watch_.end();
    return request(worker::EndWait{watch_.wait()});
  }
  if (!watch_.is_due(now) || !must_watch_more(now)) return std::nullopt;
  watch_.begin(now);
  std::vector<LockToken> held;
  std::vector<RunId> watched;
  for (auto& [id, run] : runs_) {
    if (!run.wanted || run.lease.lost()) continue;
    if (now < shifted(run.started_at, HeldWatch::kWatchAfter)) {
      watch_.runs_since(run.started_at);  // joins later, if it still runs
      continue;
    }
    run.watched = true;
    held.push_back(run.lease.token());
    watched.push_back(id);
  }
  return request(worker::Watch{std::move(held), now + long_poll_, watch_.wait().get_token()}, std::move(watched));
}

// Whether an activity that is not watched has run for long enough. Sets when to look again.
bool WorkerDispatcher::must_watch_more(Timestamp now) {
  watch_.rest();
  if (planted(PlantedFault::kHeldActivitiesNotWatched)) return false;
  for (const auto& [id, run] : runs_) {
    if (run.wanted && !run.watched && !run.lease.lost()) watch_.runs_since(run.started_at);
  }
  return watch_.is_due(now);
}

void WorkerDispatcher::watched(const Outstanding& request, const ProviderResult<bool>& lost, Timestamp now) {
  bool ended_here = false;
  std::vector<Run*> held;
  for (const RunId id : request.runs) {
    const auto found = runs_.find(id);
    if (found != runs_.end()) found->second.watched = false;
    if (found == runs_.end() || !found->second.wanted) {
      ended_here = true;
    } else {
      held.push_back(&found->second);
    }
  }
  if (!lost) {
    const Milliseconds pause = watch_.failed(now);
    return report_backoff("running activities cannot be watched; trying again later", lost.error(), pause);
  }
  // The token of an activity that ended here is gone as well.
  if (!watch_.responded(*lost, ended_here, now)) return;
  for (Run* const run : held) run->lease.renew_by(now);
  check_at_ = std::min(check_at_, now);
}

}  // namespace perdure::runtime
