// The worker queue and the sessions that tie activities to a worker.
#include <set>

#include "providers/sqlite/ready.h"
#include "providers/sqlite/sql.h"
#include "providers/sqlite/store.h"
#include "providers/store_errors.h"
#include "providers/times.h"

namespace perdure::sqlite {

namespace {

std::optional<Milliseconds> optional_duration(const Query& query, int column) {
  if (query.is_null(column)) return std::nullopt;
  return Milliseconds(query.integer(column));
}

}  // namespace

WorkBatch Store::fetch_activities(const WorkFetch& fetch) {
  WorkBatch batch{.now = now_, .items = {}};
  for (const ReadyActivity& ready : ready_activities(connection_, fetch, now_).rows) {
    WorkItem item = lock_activity(ready.id, fetch.lock_timeout, ready.expired);
    if (ready.session && !ready.expired) claim_session(*ready.session, *fetch.session);
    batch.items.push_back(std::move(item));
  }
  return batch;
}

WorkItem Store::lock_activity(std::int64_t id, Milliseconds lock_timeout, bool expired) {
  const LockName lock{.queue = 'a', .row = id, .secret = secrets_.next()};
  WorkItem item;
  item.token = make_token(lock);
  item.locked_until = shifted(now_, lock_timeout);
  item.expired = expired;
  connection_.run(sql::kLockActivity, id, lock.secret, process_, item.locked_until, expired);
  Query query = connection_.query(sql::kReadActivity, id);
  query.step();
  item.record.kind = MessageKind::kExecuteActivity;
  item.record.instance = query.text(0);
  item.record.execution = query.unsigned_integer(1);
  item.record.activity_id = query.unsigned_integer(2);
  item.record.name = query.text(3);
  item.record.tag = query.optional_text(4);
  item.record.session = query.optional_text(5);
  item.attempt_count = static_cast<std::uint32_t>(query.integer(6));
  item.scheduled_at = query.time(7);
  item.record.timeouts.start_to_close = optional_duration(query, 8);
  item.record.timeouts.schedule_to_start = optional_duration(query, 9);
  item.record.timeouts.heartbeat = optional_duration(query, 10);
  item.heartbeat_details = query.optional_text(11);
  item.record.body = query.text(12);
  return item;
}

std::optional<Store::LockedActivity> Store::find_locked(const LockToken& token) const {
  const std::optional<LockName> lock = read_token(token, 'a');
  if (!lock) return std::nullopt;
  Query query = connection_.query(sql::kLoadActivity, lock->row);
  if (!query.step() || query.optional_integer(5) != lock->secret) return std::nullopt;
  return LockedActivity{.id = lock->row,
                        .key = query.integer(0),
                        .activity_id = query.unsigned_integer(2),
                        .attempts = static_cast<std::uint32_t>(query.integer(3)),
                        .ready_at = query.time(4),
                        .session = query.optional_text(6)};
}

ProviderResult<void> Store::ack_activity(const WorkAck& ack) {
  const std::optional<LockedActivity> activity = find_locked(ack.token);
  if (!activity || !holds_lock(*activity)) return lock_lost("acknowledging an activity");
  InstanceRow row = load_instance(connection_, activity->key).value();
  if (ack.completion && (!completes_activity(ack.completion->kind) || ack.completion->instance != row.id)) {
    return not_its_completion(row.id, activity->activity_id);
  }
  const InstanceRow before = row;
  connection_.run(sql::kDeleteActivity, activity->id);
  use_session(activity->session);
  if (ack.completion) {
    if (ack.completion->must_exist && row.is_orphan()) {
      discard({.instance = ack.completion->instance});
    } else {
      insert_message(row, *ack.completion);
    }
  }
  if (ack.completion || !row.is_instance()) finish(row, before);
  return {};
}

ProviderResult<void> Store::abandon_activity(const Abandon& abandon) {
  const std::optional<LockedActivity> activity = find_locked(abandon.token);
  if (!activity) {
    const std::optional<LockName> lock = read_token(abandon.token, 'a');
    if (lock && abandon.ignore_attempt) {
      const bool counted = connection_.run(sql::kTakeFetchBack, lock->row, lock->secret) > 0;
      if (counted && abandon.has_begun) connection_.run(sql::kForgetStartTimeout, lock->row);
      worth_a_look();  // an activity with fewer attempts may no longer be a suspect
    }
    return {};
  }
  const bool take_back = abandon.ignore_attempt && activity->attempts > 0;
  connection_.run(sql::kUnlockActivity, activity->id, activity->attempts - (take_back ? 1U : 0U),
                  shifted(now_, abandon.delay));
  if (abandon.has_begun) connection_.run(sql::kForgetStartTimeout, activity->id);
  worth_a_look();
  return {};
}

ProviderResult<Timestamp> Store::renew_activity(const LockToken& token, Milliseconds extend_for) {
  const std::optional<LockedActivity> activity = find_locked(token);
  if (!activity || !holds_lock(*activity)) return lock_lost("renewing the lock of an activity");
  use_session(activity->session);
  return extend_lock(*activity, extend_for);
}

Timestamp Store::extend_lock(const LockedActivity& activity, Milliseconds extend_for) {
  const Timestamp until = shifted(now_, extend_for);
  connection_.run(sql::kRenewActivity, activity.id, until);
  if (until < activity.ready_at) worth_a_look();
  return until;
}

ProviderResult<Timestamp> Store::heartbeat(const Heartbeat& heartbeat) {
  const std::optional<LockedActivity> activity = find_locked(heartbeat.token);
  if (!activity || !holds_lock(*activity)) return lock_lost("heartbeat of an activity");
  if (heartbeat.details) connection_.run(sql::kStoreDetails, activity->id, blob(heartbeat.details));
  use_session(activity->session);
  if (!heartbeat.extend_for) return activity->ready_at;
  return extend_lock(*activity, *heartbeat.extend_for);
}

ProviderResult<void> Store::enqueue_activity(const MessageRecord& activity) {
  if (activity.kind != MessageKind::kExecuteActivity || activity.instance.empty() || !activity.execution) {
    return not_an_activity();
  }
  insert_activity(find_or_insert(activity.instance).key, activity, nullptr);
  return {};
}

LockName Store::insert_activity(std::int64_t key, const MessageRecord& activity, const TurnCommit* claimant) {
  std::optional<Timestamp> expires_at;
  if (activity.timeouts.schedule_to_start) expires_at = shifted(now_, *activity.timeouts.schedule_to_start);
  LockName lock{.queue = 'a', .row = 0, .secret = claimant != nullptr ? claim_secret(claimant->commit_id) : 0};
  Timestamp ready_at = activity.visible_at.value_or(now_);
  std::optional<std::int64_t> token;
  std::optional<std::int64_t> process;
  if (claimant != nullptr) {
    ready_at = shifted(now_, claimant->claim->lock_timeout);
    expires_at.reset();
    token = lock.secret;
    process = process_;
    changes_.due(ready_at);
  } else {
    worth_a_look();
  }
  try {
    connection_.run(sql::kInsertActivity, key, activity.execution, activity.activity_id, activity.name, activity.tag,
                    activity.session, ready_at, now_, expires_at, activity.timeouts.start_to_close,
                    activity.timeouts.schedule_to_start, activity.timeouts.heartbeat, blob(activity.body), token,
                    process, claimant != nullptr ? 1 : 0);
  } catch (const SqliteError& error) {
    if (is_duplicate(error)) throw OperationFailed(queued_already(activity));
    throw;
  }
  lock.row = connection_.last_insert_id();
  return lock;
}

void Store::claim_session(const std::string& session, const SessionFetch& fetch) {
  const Timestamp until = shifted(now_, fetch.lock_timeout);
  {
    // Its owner's other workers may take more of a session that is new; all may take it if it ends sooner.
    Query before = connection_.query(sql::kLoadSession, session);
    if (!before.step() || before.time(1) <= now_ || before.time(1) > until) worth_a_look();
  }
  connection_.run(sql::kClaimSession, session, fetch.owner, until, now_, process_);
}

void Store::use_session(const std::optional<std::string>& session) {
  if (session) connection_.run(sql::kUseSession, *session, now_);
}

std::size_t Store::renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                  Milliseconds idle_timeout) {
  const Timestamp until = shifted(now_, extend_for);
  const Timestamp used_after = shifted(now_, -idle_timeout);
  std::size_t renewed = 0;
  for (const std::string& owner : std::set<std::string>(owners.begin(), owners.end())) {
    // Sessions were released, or are held for less time than waiters assume.
    const bool released = connection_.run(sql::kReleaseIdleSessions, owner, now_, used_after) > 0;
    if (released || connection_.query(sql::kHasLongerSession, owner, until, used_after).step()) worth_a_look();
    renewed += static_cast<std::size_t>(connection_.run(sql::kRenewSessions, owner, now_, until, used_after));
  }
  return renewed;
}

std::size_t Store::cleanup_sessions() {
  return static_cast<std::size_t>(
      connection_.run("DELETE FROM sessions WHERE locked_until <= ?1 AND NOT EXISTS"
                      " (SELECT 1 FROM activities WHERE activities.session = sessions.session)",
                      now_));
}

}  // namespace perdure::sqlite
