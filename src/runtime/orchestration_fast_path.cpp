// The fast path of the orchestration dispatcher: what a commit asks for beside its turn, what it gets, and completions
// that come without the queue.
#include <algorithm>
#include <utility>

#include <perdure/engine_metrics.h>
#include "runtime/orchestration_dispatcher.h"

namespace perdure::runtime {

namespace {

bool contains(const std::vector<EventId>& ids, EventId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// As the store has it after the commit.
InstanceMetadata metadata_after(const std::optional<InstanceMetadata>& before, const TurnCommit& commit) {
  InstanceMetadata metadata = before.value_or(InstanceMetadata());
  metadata.status = ExecutionStatus::kRunning;
  if (!commit.started) return metadata;
  metadata.name = commit.started->name;
  metadata.version = commit.started->version;
  if (!metadata.parent) metadata.parent = commit.started->parent;
  if (commit.started->pinned_version) metadata.pinned_version = commit.started->pinned_version;
  return metadata;
}

// What the next turn starts from, if nobody else commits one before it.
OrchestrationItem item_after(const OrchestrationItem& before, const TurnCommit& commit, std::uint64_t incarnation,
                             Timestamp locked_until) {
  return {.instance = before.instance,
          .token = commit.token,
          .locked_until = locked_until,
          .attempt_count = 1,
          .metadata = metadata_after(before.metadata, commit),
          .incarnation = incarnation,
          .execution_id = commit.execution_id,
          .last_event_id = commit.events.empty() ? before.last_event_id : commit.events.back().event_id,
          .messages = {},
          .history = {}};
}

ActivityOfInstance activity_of(const LocalCompletion& completion) {
  return {completion.message.instance, completion.incarnation, completion.execution, completion.activity_id};
}

WorkItem claimed_item(const TurnCommit& commit, const ClaimedActivity& claimed, Timestamp now) {
  WorkItem item;
  item.token = claimed.token;
  item.locked_until = claimed.locked_until;
  item.attempt_count = 1;
  item.scheduled_at = now;
  item.record = commit.activities.at(claimed.index);
  item.record.visible_at.reset();
  return item;
}

}  // namespace

// Activities are claimed if there are places for them now, and all that would be claimed have their code here. The lock
// is kept if one of the instance will run here, or runs already, or has ended meanwhile. A commit that ends the
// execution, or leaves nothing in memory to go on with, asks for nothing.
void OrchestrationDispatcher::ask_for_fast_path(Job& job, TurnCommit& commit, Timestamp now) {
  if (draining_ || commit.keep_lock || !job.decision.kept || commit.status) return;
  if (!job.basis.metadata && !commit.started) return;
  std::size_t fitting = 0;
  bool all_run_here = true;
  for (const MessageRecord& activity : commit.activities) {
    if (!places_->fits(activity, now) || contains(commit.cancelled_activities, activity.activity_id)) continue;
    ++fitting;
    all_run_here = all_run_here && places_->runs_here(activity.name);
  }
  if (fitting > 0 && all_run_here) job.reserved = places_->reserve(fitting);
  if (job.reserved > 0) commit.claim = places_->claim(job.reserved);

  bool wanted = commit.claim.has_value();
  if (const auto found = here_.find(job.instance); found != here_.end() && !wanted) {
    const Here& here = found->second;
    const auto concerns = [&, incarnation = incarnation_after(job.basis, commit)](const auto& activity) {
      return activity.incarnation == incarnation && activity.execution == commit.execution_id &&
             !contains(commit.cancelled_activities, activity.activity_id);
    };
    wanted = std::any_of(here.running.begin(), here.running.end(), concerns) ||
             std::any_of(here.pending.begin(), here.pending.end(), concerns);
  }
  if (!wanted) return;
  commit.keep_lock = lock_timeout_;
  commit.owner = owner_;
}

// A repeated commit answers as it did when it was made, as far as that still holds, so it is taken like any other.
void OrchestrationDispatcher::take_fast_answer(JobId id, const TurnCommit& commit, const CommitAnswer& answer,
                                               Timestamp now) {
  Job& job = jobs_.at(id);
  Here& here = here_[job.instance];
  const std::uint64_t incarnation = incarnation_after(job.basis, commit);
  for (const LocalCompletion& completion : std::exchange(job.completions, {})) {
    const bool consumed = std::find(commit.completed_work.begin(), commit.completed_work.end(), completion.work) !=
                          commit.completed_work.end();
    effects_.verdicts.push_back({completion.run, consumed});
    if (consumed) metrics_.add(metric::kFastPathCompletions);
  }
  if (!answer.claimed.empty()) metrics_.add(metric::kFastPathClaims, {}, answer.claimed.size());
  for (const EventId withdrawn : commit.cancelled_activities) {
    const ActivityOfInstance activity{job.instance, incarnation, commit.execution_id, withdrawn};
    here.running.erase(activity);
    std::erase_if(here.pending, [&](const LocalCompletion& completion) {
      if (activity_of(completion) != activity) return false;
      effects_.verdicts.push_back({completion.run, true});
      return true;
    });
  }
  for (const ClaimedActivity& claimed : answer.claimed) {
    effects_.claimed.push_back({claimed_item(commit, claimed, answer.now), incarnation});
    here.running.insert(
        {job.instance, incarnation, commit.execution_id, commit.activities.at(claimed.index).activity_id});
  }
  // Sessions may be a reason of their own, and what a repeated commit had claimed may be gone.
  if (commit.claim && answer.claimed.empty() && !answer.repeated &&
      std::any_of(commit.activities.begin(), commit.activities.end(), [&](const MessageRecord& activity) {
        return !activity.session && places_->fits(activity, answer.now);
      })) {
    places_->refused();
  }
  job.reserved -= std::min(job.reserved, answer.claimed.size());  // those are the worker's now
  unreserve(job);
  if (!answer.locked_until || here.job != id || job.overtaken_by) return;
  here.lock = KeptLock{.item = item_after(job.basis, commit, incarnation, *answer.locked_until),
                       .as_of = answer.now,
                       .heard_at = now,
                       .messages_with = answer.more_messages ? fetches_ + 1 : 0};
  lapse_at_ = std::min(lapse_at_, *answer.locked_until);
}

void OrchestrationDispatcher::unreserve(Job& job) {
  if (job.reserved == 0) return;
  places_->release(std::exchange(job.reserved, 0));
  effects_.places_freed = true;
}

// ---- what the worker says ------------------------------------------------------------------------------------------

void OrchestrationDispatcher::hear(NewsForTurns news, Timestamp now) {
  for (LocalCompletion& completion : news.offered) offered(std::move(completion), now);
  for (const ActivityOfInstance& activity : news.over) {
    const auto here = here_.find(activity.instance);
    if (here == here_.end()) continue;
    here->second.running.erase(activity);
    look_after(activity.instance, now);
  }
}

// Taken if there is a turn under way whose commit will keep the lock for it, or a lock that holds long enough for a
// turn; what is taken and cannot be used after all is declined later.
void OrchestrationDispatcher::offered(LocalCompletion completion, Timestamp now) {
  const std::string instance = completion.message.instance;
  const auto found = here_.find(instance);
  const bool known = found != here_.end() && found->second.running.erase(activity_of(completion)) > 0 && !draining_;
  const auto can_be_used = [&](const Here& here) {
    if (here.job) return true;
    return here.lock && is_of(here.lock->item, completion.incarnation, completion.execution) &&
           here.lock->item.locked_until - now > lock_timeout_ / 4;
  };
  if (known && can_be_used(found->second)) {
    found->second.pending.push_back(std::move(completion));
  } else {
    effects_.verdicts.push_back({completion.run, false});
  }
  look_after(instance, now);
}

void OrchestrationDispatcher::decline(std::vector<LocalCompletion>& completions) {
  for (const LocalCompletion& completion : std::exchange(completions, {})) {
    effects_.verdicts.push_back({completion.run, false});
  }
}

}  // namespace perdure::runtime
