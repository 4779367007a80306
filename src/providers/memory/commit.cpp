#include "providers/memory/commit.h"

#include <optional>
#include <vector>

#include "model/planted_fault.h"
#include "providers/memory/commit_check.h"
#include "providers/memory/work_queue.h"
#include "providers/times.h"

namespace perdure::memory {

namespace {

// Steps 7 and 8: the instance and the execution that the turn belongs to.
Execution& begin_or_continue(Store& store, KeyRow& row, const TurnCommit& commit, Timestamp now) {
  if (!row.instance) {
    row.instance.emplace();
    row.instance->created_at = now;
    row.instance->incarnation = commit.commit_id;
  }
  Instance& instance = *row.instance;
  const auto [entry, is_new] = instance.executions.try_emplace(commit.execution_id);
  Execution& execution = entry->second;
  if (is_new) execution.started_at = now;
  if (const auto& started = commit.started) {
    instance.name = started->name;
    instance.version = started->version;
    if (started->parent && !instance.parent) store.keys.set_parent(row, *started->parent);
    if (started->pinned_version) execution.pinned_version = started->pinned_version;
    execution.carried_forward = started->carry_forward;
  }
  return execution;
}

// For planted faults.
bool continues(const TurnCommit& commit) {
  return commit.status && commit.status->status == ExecutionStatus::kContinuedAsNew;
}

// Steps 7 to 12: what the turn says about the instance itself.
void write_instance(Store& store, KeyRow& row, const TurnCommit& commit, Timestamp now) {
  Execution& execution = begin_or_continue(store, row, commit, now);
  Instance& instance = *row.instance;
  for (const EventRecord& event : commit.events) execution.append(event);
  if (commit.status) {
    const bool ends = is_terminal(commit.status->status);
    execution.status = commit.status->status;
    execution.output = ends ? commit.status->output : std::nullopt;
    execution.completed_at = ends ? std::optional(now) : std::nullopt;
  }
  if (commit.custom_status && !(planted(PlantedFault::kStatusResetLost) && !commit.custom_status->value)) {
    instance.custom_status = commit.custom_status->value;
    ++instance.custom_status_version;
  }
  for (const KeyValueMutation& mutation : commit.key_values) instance.key_values.apply(mutation);
  const bool merges = !(planted(PlantedFault::kKeyValuesNotMerged) && continues(commit));
  if (commit.status && is_terminal(commit.status->status) && merges) instance.key_values.merge();
  instance.updated_at = now;
}

// The fast path's (a).
void remove_completed_work(Store& store, const TurnCommit& commit, Timestamp now) {
  for (const LockToken& token : commit.completed_work) {
    Activity* const activity = store.activity_of(token);
    if (activity == nullptr) continue;  // named twice
    store.sessions.use(activity->record.session, now);
    store.activities.erase(*activity);
  }
}

// Steps 13 and 14, and the fast path's (b).
std::vector<ClaimedActivity> queue_activities(Store& store, const KeyRow& row, const TurnCommit& commit,
                                              Timestamp now) {
  std::vector<Position> queued;
  queued.reserve(commit.activities.size());
  for (const MessageRecord& activity : commit.activities) {
    queued.push_back(store.enqueue_activity(activity, now).position);
  }
  for (const EventId id : commit.cancelled_activities) {
    const Identity identity{.instance = row.id, .execution = commit.execution_id, .activity_id = id};
    Activity* const activity = store.activities.find(identity);
    if (activity == nullptr) continue;
    if (planted(PlantedFault::kRunningActivityNotWithdrawn) && activity->lock) continue;
    store.activities.erase(*activity);
    store.activities.count_loss();
  }
  if (!commit.claim) return {};
  return claim_work(store, queued, commit, now);
}

// Unlocks, or the fast path's (c).
void release_or_keep(KeyRow& row, const TurnCommit& commit, Timestamp now) {
  const bool ends = commit.status && is_terminal(commit.status->status);
  if (!commit.keep_lock || ends) {
    if (planted(PlantedFault::kLockStaysAfterCommit) && !row.mailbox.empty() &&
        *row.mailbox.first_visible_at() <= now) {
      return;
    }
    row.lock.reset();
    return;
  }
  const Milliseconds left = row.lock->until - now;
  const Milliseconds keep = *commit.keep_lock;
  if (left < keep && left < keep - left) row.lock->until = shifted(now, keep);
  row.lock->kept_by = commit.owner;
}

// How the row stands for the committer.
CommitAnswer answer_of(const KeyRow& row, const TurnCommit& commit, Timestamp now) {
  CommitAnswer answer;
  answer.now = now;
  if (holds(row.lock, commit.token, now) && !row.lock->kept_by.empty()) answer.locked_until = row.lock->until;
  answer.more_messages = is_ready_for(row, commit.owner, now);
  return answer;
}

CommitAnswer apply(Store& store, KeyRow& row, const TurnCommit& commit, Timestamp now) {
  const bool keeps_messages = planted(PlantedFault::kEmptyTurnConsumesNothing) && commit.events.empty();
  for (const MessageId id : commit.consumed) {
    if (!keeps_messages) row.mailbox.remove(id);
  }
  remove_completed_work(store, commit, now);
  if (row.instance || commit.started) write_instance(store, row, commit, now);
  std::vector<ClaimedActivity> claimed = queue_activities(store, row, commit, now);
  for (const MessageRecord& message : commit.messages) {
    if (planted(PlantedFault::kContinueAsNewSendsNothing) && continues(commit) && message.instance != row.id) continue;
    store.enqueue_or_discard(message, now);
  }
  row.last_commit = commit.commit_id;
  if (!(planted(PlantedFault::kAttemptsSurviveContinueAsNew) && continues(commit))) row.attempts = 0;
  row.not_before.reset();
  release_or_keep(row, commit, now);

  CommitAnswer answer;
  answer.now = now;
  if (store.settle(row)) answer = answer_of(row, commit, now);
  answer.claimed = std::move(claimed);
  return answer;
}

bool may_commit(const KeyRow& row, const TurnCommit& commit, Timestamp now) {
  if (planted(PlantedFault::kCommitFenceIgnoresToken)) return is_locked(row.lock, now);
  if (planted(PlantedFault::kCommitFenceIgnoresTime)) return is_current(row.lock, commit.token);
  return holds(row.lock, commit.token, now);
}

void send_all(Store& store, const TurnCommit& commit, Timestamp now) {
  for (const MessageRecord& message : commit.messages) store.enqueue(message, now);
}

}  // namespace

ProviderResult<CommitAnswer> commit_turn(Store& store, const TurnCommit& commit, Timestamp now) {
  KeyRow* const row = store.instance_of(commit.token);
  // Before the lock is looked at: what was lost is the answer, not the commit, and the lock went with the commit.
  const bool known = row != nullptr && row->last_commit == commit.commit_id;
  if (known && !planted(PlantedFault::kCommitIdForgotten)) {
    if (planted(PlantedFault::kRepeatedCommitSends)) send_all(store, commit, now);
    CommitAnswer answer = answer_of(*row, commit, now);
    answer.repeated = true;
    answer.claimed = still_claimed(store, row->id, commit, now);
    return answer;
  }
  if (row == nullptr || !may_commit(*row, commit, now)) {
    if (planted(PlantedFault::kRefusedCommitSends)) send_all(store, commit, now);
    return lock_lost(row);
  }
  if (auto error = check_commit(store, *row, commit, now)) return *error;
  return apply(store, *row, commit, now);
}

}  // namespace perdure::memory
