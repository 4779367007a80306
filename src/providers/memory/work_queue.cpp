#include "providers/memory/work_queue.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "model/planted_fault.h"
#include "providers/memory/work_selection.h"
#include "providers/store_errors.h"
#include "providers/times.h"

namespace perdure::memory {

namespace {

void lock_work(Store& store, Activity& activity, const WorkFetch& fetch, Timestamp now) {
  const auto& session = activity.record.session;
  activity.started = !is_expired(activity, now) || planted(PlantedFault::kExpiryForgotten);
  if (session && fetch.session && activity.started) store.sessions.claim(*session, *fetch.session, now);
  if (activity.lock) {
    store.activities.count_loss();
    activity.taken_over = activity.lock->token;
  }
  activity.lock = Lock{.token = store.tokens.make(TokenKind::kActivity, activity.position),
                       .until = shifted(now, fetch.lock_timeout),
                       .kept_by = {}};
  ++activity.attempts;
  store.activities.reindex(activity);
}

// A fetch with these options would take something that was queued before `first_own`.
bool is_older_work_waiting(const Store& store, Position first_own, const WorkFetch& fetch, Timestamp now) {
  WorkSelection selection(store.sessions, fetch, now);
  bool found = false;
  store.activities.visit_ready(now, [&](const Activity& activity) {
    found = activity.position < first_own && selection.take(activity);
    return !found;
  });
  return found;
}

bool is_busy(const Store& store, const std::string& instance, Timestamp now) {
  const KeyRow* const row = store.keys.find(instance);
  return row != nullptr && is_locked(row->lock, now);
}

bool may_end(const Activity& activity, const WorkAck& ack, Timestamp now) {
  if (planted(PlantedFault::kAckFenceIgnoresTime)) return is_current(activity.lock, ack.token);
  return holds(activity.lock, ack.token, now);
}

}  // namespace

WorkBatch fetch_work(Store& store, const WorkFetch& fetch, Timestamp now) {
  WorkBatch batch{.now = now, .items = {}};
  for (const Position position : find_activities(store, fetch, now).rows) {
    Activity& activity = *store.activities.find(position);
    const bool expired = is_expired(activity, now);
    lock_work(store, activity, fetch, now);
    batch.items.push_back({.token = activity.lock->token,
                           .locked_until = activity.lock->until,
                           .attempt_count = activity.attempts,
                           .expired = expired,
                           .heartbeat_details = activity.heartbeat_details,
                           .scheduled_at = activity.scheduled_at,
                           .record = activity.record});
    batch.items.back().record.visible_at.reset();
  }
  return batch;
}

std::vector<ClaimedActivity> claim_work(Store& store, const std::vector<Position>& queued, const TurnCommit& commit,
                                        Timestamp now) {
  const WorkFetch& fetch = *commit.claim;
  std::vector<ClaimedActivity> claimed;
  WorkSelection selection(store.sessions, fetch, now);
  if (queued.empty() || selection.full() || is_older_work_waiting(store, queued.front(), fetch, now)) return claimed;
  std::vector<std::size_t> taken;
  for (std::size_t index = 0; index < queued.size() && !selection.full(); ++index) {
    const Activity* const activity = store.activities.find(queued[index]);
    // One that is expired from the start is left to a fetch, which can say so; a claim cannot.
    if (activity == nullptr || activity->ready_at() > now || is_expired(*activity, now)) continue;
    if (selection.take(*activity)) taken.push_back(index);
  }
  for (const std::size_t index : taken) {
    Activity& activity = *store.activities.find(queued[index]);
    lock_work(store, activity, fetch, now);
    activity.lock->claimed_by = commit.commit_id;
    claimed.push_back({.index = index, .token = activity.lock->token, .locked_until = activity.lock->until});
  }
  return claimed;
}

std::vector<ClaimedActivity> still_claimed(Store& store, const std::string& instance, const TurnCommit& commit,
                                           Timestamp now) {
  std::vector<ClaimedActivity> claimed;
  if (!commit.claim) return claimed;
  for (std::size_t index = 0; index < commit.activities.size(); ++index) {
    const Activity* const activity = store.activities.find(Identity{
        .instance = instance, .execution = commit.execution_id, .activity_id = commit.activities[index].activity_id});
    if (activity == nullptr || !is_locked(activity->lock, now)) continue;
    if (activity->lock->claimed_by != commit.commit_id) continue;
    claimed.push_back({.index = index, .token = activity->lock->token, .locked_until = activity->lock->until});
  }
  return claimed;
}

ProviderResult<void> ack_work(Store& store, const WorkAck& ack, Timestamp now) {
  Activity* const activity = store.activity_of(ack.token);
  if (activity == nullptr || !may_end(*activity, ack, now)) return lock_lost(activity);
  const std::string instance = activity->record.instance;
  if (ack.completion && (!completes_activity(ack.completion->kind) || ack.completion->instance != instance)) {
    return not_its_completion(instance, activity->record.activity_id);
  }
  store.sessions.use(activity->record.session, now);
  const bool stays = planted(PlantedFault::kFailedActivityStays) && activity->attempts > 1 && ack.completion &&
                     ack.completion->kind == MessageKind::kActivityFailed;
  if (!stays) store.activities.erase(*activity);
  const bool lost = planted(PlantedFault::kCompletionLostWhileLocked) && is_busy(store, instance, now);
  if (ack.completion && !lost) store.enqueue_or_discard(*ack.completion, now);
  if (KeyRow* const row = store.keys.find(instance)) store.settle(*row);
  return {};
}

bool has_lost_any(const Store& store, std::span<const LockToken> held) {
  return std::any_of(held.begin(), held.end(), [&store](const LockToken& token) {
    const Activity* const activity = store.activity_of(token);
    return activity == nullptr || !is_current(activity->lock, token);
  });
}

void abandon_work(Store& store, const Abandon& abandon, Timestamp now) {
  Activity* const activity = store.activity_of(abandon.token);
  if (activity == nullptr) return;
  if (abandon.ignore_attempt && activity->taken_over == abandon.token) {
    activity->taken_over.reset();
    if (abandon.has_begun) activity->record.timeouts.schedule_to_start.reset();
    if (activity->attempts > 0) --activity->attempts;
    return;
  }
  if (!is_current(activity->lock, abandon.token)) return;
  activity->lock.reset();
  store.activities.count_loss();
  activity->visible_at = planted(PlantedFault::kWorkBackoffIgnored) ? now : shifted(now, abandon.delay);
  if (abandon.ignore_attempt && activity->attempts > 0) --activity->attempts;
  if (activity->attempts == 0) activity->started = false;
  if (abandon.has_begun) activity->record.timeouts.schedule_to_start.reset();
  store.activities.reindex(*activity);
}

ProviderResult<Timestamp> renew_work(Store& store, const LockToken& token, Milliseconds extend_for, Timestamp now) {
  return heartbeat(store, {.token = token, .details = {}, .extend_for = extend_for}, now);
}

ProviderResult<Timestamp> heartbeat(Store& store, const Heartbeat& heartbeat, Timestamp now) {
  Activity* const activity = store.activity_of(heartbeat.token);
  if (activity == nullptr || !holds(activity->lock, heartbeat.token, now)) return lock_lost(activity);
  const bool loses_details = planted(PlantedFault::kHeartbeatDetailsLost);
  if (heartbeat.details && !loses_details) activity->heartbeat_details = heartbeat.details;
  const Timestamp until = heartbeat.extend_for ? shifted(now, *heartbeat.extend_for) : activity->lock->until;
  if (!planted(PlantedFault::kWorkRenewalNotWritten)) activity->lock->until = until;
  store.activities.reindex(*activity);
  store.sessions.use(activity->record.session, now);
  return until;
}

ProviderResult<void> enqueue_activity(Store& store, const MessageRecord& activity, Timestamp now) {
  if (activity.kind != MessageKind::kExecuteActivity || activity.instance.empty() || !activity.execution) {
    return not_an_activity();
  }
  if (store.activities.find(identity_of(activity)) != nullptr) return queued_already(activity);
  store.enqueue_activity(activity, now);
  return {};
}

std::size_t cleanup_sessions(Store& store, Timestamp now) {
  std::set<std::string> needed;
  for (const auto& [position, activity] : store.activities.rows()) {
    if (activity.record.session) needed.insert(*activity.record.session);
  }
  return store.sessions.forget_unused([&](const std::string& session) { return needed.contains(session); }, now);
}

}  // namespace perdure::memory
