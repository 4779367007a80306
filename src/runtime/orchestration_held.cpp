// Instances that the orchestration dispatcher holds between turns, and turns that begin under a lock that was kept.
#include <algorithm>
#include <iterator>
#include <utility>

#include "providers/times.h"
#include "runtime/orchestration_dispatcher.h"

namespace perdure::runtime {

namespace {

bool same_state(const OrchestrationItem& one, const OrchestrationItem& other) {
  return one.incarnation == other.incarnation && one.execution_id == other.execution_id &&
         one.last_event_id == other.last_event_id;
}

}  // namespace

// ---- a turn under a kept lock --------------------------------------------------------------------------------------

// The clock of a turn is the store's: what it said last, and the time that has passed here since.
void OrchestrationDispatcher::begin_held(Here& here, Timestamp now) {
  KeptLock lock = std::move(*std::exchange(here.lock, std::nullopt));
  take_on(std::move(lock.item), lock.as_of + std::max(now - lock.heard_at, Milliseconds(0)), true);
  const JobId id = *here.job;
  if (lock.messages_with == 0 || to_run_.empty() || to_run_.back() != id) return;
  // Messages that are there already come first, or a stream of completions could keep them waiting.
  to_run_.pop_back();
  to_join_.push_back(id);
  jobs_.at(id).joins_fetch = lock.messages_with;
}

// Those whose messages no fetch will bring soon run without them.
void OrchestrationDispatcher::join_or_run(Timestamp now) {
  if (to_join_.empty()) return;
  const bool wait = search_.is_looking(now, room()) && now < renew_at_;
  std::erase_if(to_join_, [&](JobId id) {
    const bool missed = jobs_.at(id).joins_fetch <= fetches_ && !search_.fetching();
    if (wait && !missed) return false;
    to_run_.push_back(id);
    return true;
  });
}

// What is pending belongs to the execution that scheduled it, and to its latest turn. The instance may have been
// deleted and started again since, so the number of the execution is not enough.
void OrchestrationDispatcher::hand_completions(JobId id) {
  Job& job = jobs_.at(id);
  job.phase = Phase::kTurn;
  const auto found = here_.find(job.instance);
  if (found == here_.end() || found->second.job != id) return;
  Here& here = found->second;
  const bool running = job.basis.metadata && job.basis.metadata->status == ExecutionStatus::kRunning;
  for (LocalCompletion& completion : std::exchange(here.pending, {})) {
    if (running && is_of(job.basis, completion.incarnation, completion.execution)) {
      job.completions.push_back(std::move(completion));
    } else {
      effects_.verdicts.push_back({completion.run, false});
    }
  }
  job.task.completions = job.completions;
}

// ---- fetched meanwhile ---------------------------------------------------------------------------------------------

// The store has given the instance a new lock, so the one that was kept is gone. A turn that has not begun takes the
// messages along; one that has cannot, and goes on as it is.
void OrchestrationDispatcher::arrived(OrchestrationItem item, Timestamp now) {
  const auto found = places_ ? here_.find(item.instance) : here_.end();
  if (found == here_.end()) return take_on(std::move(item), now);
  Here& here = found->second;
  here.lock.reset();
  Job* const job_here = here.job ? &jobs_.at(*here.job) : nullptr;
  // The store knows a commit again, and what it claimed, only until the next one: a commit in doubt comes first.
  const bool waits =
      job_here && (job_here->held || job_here->repeats.failures() > 0) && job_here->phase != Phase::kGivenBack;
  if (!waits) return take_on(std::move(item), now);
  const JobId id = *here.job;
  Job& job = *job_here;
  if (job.phase != Phase::kQueued) {
    job.lease = Lease(item.token, item.locked_until, lock_timeout_);
    renew_at_ = std::min(renew_at_, job.lease.renew_at());
    job.overtaken_by = FetchedItem{std::move(item), now};
    return;
  }
  for (auto* queue : {&to_run_, &to_read_, &to_join_}) std::erase(*queue, id);
  keep(job.instance, std::exchange(job.task.kept, std::nullopt));
  jobs_.erase(id);
  here.job.reset();
  take_on(std::move(item), now);
}

// The lock that the turn began under is lost; the new one serves as well if nothing was committed in between. What came
// with it stays queued.
bool OrchestrationDispatcher::moves_to_new_lock(Job& job, TurnCommit& commit) {
  if (!job.held || !job.overtaken_by || !same_state(job.basis, job.overtaken_by->item)) return false;
  commit.token = job.lease.token();
  job.overtaken_by.reset();
  job.held = false;
  return true;
}

// The turn was computed from a state that is not the store's any more: it is taken again, with what was fetched.
void OrchestrationDispatcher::start_over(JobId id, Timestamp now) {
  Job& job = jobs_.at(id);
  std::vector<LocalCompletion>& pending = here_[job.instance].pending;
  pending.insert(pending.begin(), std::make_move_iterator(job.completions.begin()),
                 std::make_move_iterator(job.completions.end()));
  job.completions.clear();
  finish(id, now);
}

// ---- holding and letting go ----------------------------------------------------------------------------------------

void OrchestrationDispatcher::finished(JobId id, Job job, Timestamp now) {
  if (const auto here = here_.find(job.instance); here != here_.end() && here->second.job == id) {
    here->second.job.reset();
  }
  if (job.overtaken_by) take_on(std::move(job.overtaken_by->item), job.overtaken_by->now);
  look_after(job.instance, now);
}

// An instance with which nothing is being done: the next turn begins, or its lock is kept for what still runs, or it is
// let go.
void OrchestrationDispatcher::look_after(const std::string& instance, Timestamp now) {
  const auto found = here_.find(instance);
  if (found == here_.end()) return;
  Here& here = found->second;
  if (here.lock) {
    decline_foreign(here.pending, here.lock->item);
    const bool runs = std::any_of(here.running.begin(), here.running.end(), [&](const ActivityOfInstance& activity) {
      return is_of(here.lock->item, activity.incarnation, activity.execution);
    });
    if (draining_ || (!runs && here.pending.empty())) {
      let_go(*std::exchange(here.lock, std::nullopt));
    } else if (!here.pending.empty()) {
      begin_held(here, now);
    }
  }
  if (!here.job && !here.lock) decline(here.pending);
  if (!here.job && !here.lock && here.running.empty()) here_.erase(found);
}

// What no turn under this lock could use, because an earlier execution or incarnation has scheduled it.
void OrchestrationDispatcher::decline_foreign(std::vector<LocalCompletion>& pending, const OrchestrationItem& item) {
  std::erase_if(pending, [&](const LocalCompletion& completion) {
    if (is_of(item, completion.incarnation, completion.execution)) return false;
    effects_.verdicts.push_back({completion.run, false});
    return true;
  });
}

void OrchestrationDispatcher::let_go(const KeptLock& lock) {
  const JobId id = ++last_job_;
  jobs_.emplace(id, Job{.lease = Lease(lock.item.token, lock.item.locked_until, lock_timeout_),
                        .task = {},
                        .decision = {},
                        .instance = lock.item.instance,
                        .basis = lock.item});
  give_back_later(id, Milliseconds(0), true);
}

void OrchestrationDispatcher::let_all_go() {
  std::vector<std::string> instances;
  for (auto& [instance, here] : here_) {
    decline(here.pending);
    instances.push_back(instance);
  }
  for (const std::string& instance : instances) look_after(instance, {});
}

// A lock lasts for a duration, so its end moves along. Leases that are due are renewed at once, and the others at their
// time: that shows whether the store still has the locks.
void OrchestrationDispatcher::clock_jumped(Milliseconds by) {
  for (auto& [id, job] : jobs_) {
    job.lease.clock_jumped(by);
    if (job.overtaken_by) {
      OrchestrationItem& item = job.overtaken_by->item;
      item.locked_until = shifted(item.locked_until, by);
    }
  }
  for (auto& [instance, here] : here_) {
    if (here.lock) here.lock->item.locked_until = shifted(here.lock->item.locked_until, by);
  }
  lapse_at_ = shifted(lapse_at_, by);
}

// Nobody is told: completions go through the queue from now on.
void OrchestrationDispatcher::forget_lapsed_locks(Timestamp now) {
  lapse_at_ = Timestamp::max();
  for (auto& [instance, here] : here_) {
    if (here.lock && here.lock->item.locked_until <= now) here.lock.reset();
    if (here.lock) lapse_at_ = std::min(lapse_at_, here.lock->item.locked_until);
  }
  std::erase_if(here_, [](const auto& entry) {
    const Here& here = entry.second;
    return !here.job && !here.lock && here.running.empty();
  });
}

}  // namespace perdure::runtime
