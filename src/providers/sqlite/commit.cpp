// A turn's commit: everything is checked, then everything is written.
#include <algorithm>
#include <set>
#include <type_traits>
#include <variant>

#include "providers/commit_rules.h"
#include "providers/event_packing.h"
#include "providers/sqlite/ready.h"
#include "providers/sqlite/sql.h"
#include "providers/sqlite/store.h"
#include "providers/store_errors.h"
#include "providers/times.h"

namespace perdure::sqlite {

ProviderResult<CommitAnswer> Store::commit(const TurnCommit& commit) {
  const std::optional<LockName> lock = read_token(commit.token, 'i');
  std::optional<InstanceRow> found;
  if (lock) found = load_instance(connection_, lock->row);
  if (!found) return lock_lost("commit");
  InstanceRow& row = *found;
  const InstanceRow before = row;
  if (commit.commit_id != 0 && row.progress.commit_id == commit.commit_id) {
    CommitAnswer answer = standing(row, commit);
    answer.repeated = true;
    answer.claimed = still_claimed(commit, row);
    return answer;
  }
  if (row.schedule.token != lock->secret || !row.locked_at(now_))
    return lock_lost("commit of instance '" + row.id + "'");
  const TurnTarget target{.id = row.id,
                          .is_instance = row.is_instance(),
                          .execution = row.identity.execution,
                          .last_event = row.progress.last_event};
  if (std::optional<ProviderError> error = check_turn(commit, target)) return *error;
  std::vector<LockedActivity> completed;
  if (std::optional<ProviderError> error = find_completed_work(commit, row, completed)) return *error;
  if (std::optional<ProviderError> error = check_identities(commit, row, completed)) return *error;

  for (const LockedActivity& activity : completed) {
    connection_.run(sql::kDeleteActivity, activity.id);
    use_session(activity.session);
  }
  for (const MessageId id : commit.consumed) {
    const bool is_start = row.progress.starts > 0 && connection_.query(sql::kIsStart, id, row.key).step();
    if (is_start) --row.progress.starts;
    row.progress.queued -= connection_.run(sql::kConsumeMessage, id, row.key);
  }
  begin_execution(commit, row);
  append_events(row, commit.execution_id, commit.events);
  if (commit.custom_status) connection_.run(sql::kChangeCustomStatus, row.key, blob(commit.custom_status->value));
  change_key_values(commit, row);
  if (commit.status) end_execution(*commit.status, row);
  std::vector<ClaimedActivity> claimed = schedule_activities(commit, row);
  send_messages(commit, row);
  row.progress.commit_id = commit.commit_id;
  if (row.is_instance()) row.progress.updated_at = now_;
  release_or_keep(commit, row);
  CommitAnswer answer;
  answer.now = now_;
  if (finish(row, before)) answer = standing(row, commit);
  answer.claimed = std::move(claimed);
  return answer;
}

// How the instance stands for whoever committed.
CommitAnswer Store::standing(const InstanceRow& row, const TurnCommit& commit) const {
  CommitAnswer answer;
  answer.now = now_;
  const std::optional<LockName> lock = read_token(commit.token, 'i');
  const bool kept = row.schedule.holder && row.locked_at(now_);
  if (kept && lock && row.schedule.token == lock->secret) answer.locked_until = row.progress.locked_until;
  const bool kept_for_owner = kept && row.schedule.holder == commit.owner;
  const std::optional<Timestamp>& due = kept_for_owner ? row.schedule.held_ready_at : row.schedule.ready_at;
  answer.more_messages = due && *due <= now_;
  return answer;
}

// That an activity is not queued already shows when it is inserted; one that this commit withdraws never is, and has to
// be looked for.
std::optional<ProviderError> Store::check_identities(const TurnCommit& commit, const InstanceRow& row,
                                                     const std::vector<LockedActivity>& completed) const {
  std::set<EventId> seen;
  for (const MessageRecord& activity : commit.activities) {
    if (commit.activities.size() > 1 && !seen.insert(activity.activity_id).second) return queued_already(activity);
    if (!withdraws(commit, activity)) continue;
    const bool is_queued =
        connection_.query(sql::kHasActivity, row.key, commit.execution_id, activity.activity_id).step();
    const bool is_completed = std::any_of(completed.begin(), completed.end(), [&activity](const LockedActivity& other) {
      return other.activity_id == activity.activity_id;
    });
    if (is_queued && !is_completed) return queued_already(activity);
  }
  return std::nullopt;
}

std::optional<ProviderError> Store::find_completed_work(const TurnCommit& commit, const InstanceRow& row,
                                                        std::vector<LockedActivity>& completed) const {
  for (auto token = commit.completed_work.begin(); token != commit.completed_work.end(); ++token) {
    if (std::find(commit.completed_work.begin(), token, *token) != token) continue;
    const std::optional<LockedActivity> activity = find_locked(*token);
    if (!activity || activity->key != row.key || !holds_lock(*activity) || activity->attempts != 1) {
      return lock_lost("direct completion in a turn of instance '" + row.id + "'");
    }
    completed.push_back(*activity);
  }
  return std::nullopt;
}

void Store::begin_execution(const TurnCommit& commit, InstanceRow& row) {
  const bool is_new_instance = commit.started && !row.is_instance();
  const bool is_next = commit.execution_id > row.identity.execution;
  if (is_next) {
    row.identity.execution = commit.execution_id;
    row.identity.status = ExecutionStatus::kRunning;
    row.identity.completed_at.reset();
    row.identity.pin.reset();
    row.progress.last_event = 0;
  }
  if (commit.started) {
    const StartedMetadata& started = *commit.started;
    row.identity.name = started.name;
    row.identity.version = version_text(started.version);
    if (!row.identity.parent.parent) row.identity.parent = stored_link(started.parent);
    if (started.pinned_version) row.identity.pin = version_text(started.pinned_version);
    if (is_new_instance) {
      row.identity.created_at = now_;
      row.identity.incarnation = commit.commit_id;
    }
  }
  const std::uint64_t carry_forward = commit.started ? commit.started->carry_forward : 0;
  if (is_new_instance || (is_next && row.is_instance())) {
    connection_.run(sql::kInsertExecution, row.key, row.identity.execution, row.identity.pin, carry_forward, now_);
  } else if (commit.started) {
    connection_.run(sql::kStartExecution, row.key, row.identity.execution, row.identity.pin, carry_forward);
  }
}

void Store::append_events(InstanceRow& row, ExecutionId execution, std::span<const EventRecord> events) {
  if (events.empty()) return;
  std::uint64_t body_bytes = 0;
  for (const EventRecord& event : events) body_bytes += event.body.size();
  const std::string data = pack_events(events);
  connection_.run(sql::kInsertHistory, row.key, execution, events.front().event_id, std::uint64_t{events.size()},
                  body_bytes, blob(data));
  if (execution == row.identity.execution) row.progress.last_event = events.back().event_id;
}

void Store::end_execution(const StatusChange& change, InstanceRow& row) {
  row.identity.status = change.status;
  row.identity.completed_at.reset();
  if (is_terminal(change.status)) row.identity.completed_at = now_;
  const Payload output = is_terminal(change.status) ? change.output : std::nullopt;
  connection_.run(sql::kEndExecution, row.key, row.identity.execution, static_cast<int>(change.status), blob(output),
                  row.identity.completed_at);
  if (!is_terminal(change.status)) return;
  connection_.run(sql::kMergeClearedKeyValues, row.key);
  connection_.run(sql::kMergeKeyValues, row.key);
  connection_.run(sql::kDropKeyValueChanges, row.key);
}

void Store::change_key_values(const TurnCommit& commit, const InstanceRow& row) {
  for (const KeyValueMutation& mutation : commit.key_values) {
    if (const auto* set = std::get_if<SetKeyValue>(&mutation)) {
      connection_.run(sql::kChangeKeyValue, row.key, set->key, blob(set->value), set->updated_at);
    } else if (const auto* clear = std::get_if<ClearKeyValue>(&mutation)) {
      connection_.run(sql::kChangeKeyValue, row.key, clear->key, nullptr, now_);
    } else {
      connection_.run(sql::kClearKeyValueChanges, row.key);
      connection_.run(sql::kClearKeyValues, row.key, now_);
    }
  }
}

void Store::send_messages(const TurnCommit& commit, InstanceRow& row) {
  for (const MessageRecord& message : commit.messages) {
    if (message.instance == row.id) {
      // The row is still ours: it is stored once, at the end.
      if (message.must_exist && row.is_orphan()) {
        discard({.instance = message.instance});
      } else {
        insert_message(row, message);
      }
      continue;
    }
    std::optional<InstanceRow> other = find_instance(connection_, message.instance);
    if (message.must_exist && (!other || other->is_orphan())) {
      discard({.instance = message.instance});
      continue;
    }
    if (!other) other = insert_instance(connection_, message.instance);
    const InstanceRow before = *other;
    insert_message(*other, message);
    finish(*other, before);
  }
}

// Withdrawing comes behind queueing: what is both queued and withdrawn in one turn is never there.
std::vector<ClaimedActivity> Store::schedule_activities(const TurnCommit& commit, const InstanceRow& row) {
  for (const EventId id : commit.cancelled_activities) {
    if (connection_.run(sql::kCancelActivity, row.key, commit.execution_id, id) > 0) changes_.withdrawals = true;
  }
  std::vector<ClaimedActivity> claimed;
  if (commit.activities.empty()) return claimed;
  const WorkFetch* const claim = commit.claim && !is_other_work_waiting(*commit.claim) ? &*commit.claim : nullptr;
  const std::size_t limit = claim != nullptr ? claim_limit(*claim) : 0;
  std::optional<SessionGate> sessions;
  if (claim != nullptr) sessions.emplace(connection_, claim->session, now_);
  for (std::size_t index = 0; index < commit.activities.size(); ++index) {
    const MessageRecord& activity = commit.activities[index];
    if (withdraws(commit, activity)) continue;
    const bool is_claimed = claim != nullptr && claimed.size() < limit && is_claimable(*claim, activity, now_) &&
                            sessions->admits(activity.session);
    const LockName lock = insert_activity(row.key, activity, is_claimed ? &commit : nullptr);
    if (!is_claimed) continue;
    sessions->take(activity.session);
    if (activity.session) claim_session(*activity.session, *claim->session);
    claimed.push_back({.index = index, .token = make_token(lock), .locked_until = shifted(now_, claim->lock_timeout)});
  }
  return claimed;
}

// Whoever fetched one since has locked it with another secret.
std::vector<ClaimedActivity> Store::still_claimed(const TurnCommit& commit, const InstanceRow& row) const {
  std::vector<ClaimedActivity> claimed;
  if (!commit.claim) return claimed;
  const std::int64_t secret = claim_secret(commit.commit_id);
  for (std::size_t index = 0; index < commit.activities.size(); ++index) {
    Query query = connection_.query(sql::kFindClaimed, row.key, commit.execution_id,
                                    commit.activities[index].activity_id, secret, now_);
    if (!query.step()) continue;
    const LockName lock{.queue = 'a', .row = query.integer(0), .secret = secret};
    claimed.push_back({.index = index, .token = make_token(lock), .locked_until = query.time(1)});
  }
  return claimed;
}

bool Store::is_other_work_waiting(const WorkFetch& claim) {
  if (nothing_waits_for_ == claim) return false;
  WorkFetch one = claim;
  one.limit = 1;
  if (!ready_activities(connection_, one, now_).rows.empty()) return true;
  nothing_waits_for_ = claim;
  return false;
}

void Store::release_or_keep(const TurnCommit& commit, InstanceRow& row) {
  row.progress.attempts = 0;
  row.schedule.not_before.reset();
  if (commit.keep_lock && !ends_execution(commit)) {
    row.schedule.holder = commit.owner;
    const Milliseconds left = *row.progress.locked_until - now_;
    if (left < *commit.keep_lock / 2) row.progress.locked_until = shifted(now_, *commit.keep_lock);
    return;
  }
  row.schedule.token.reset();
  row.schedule.process.reset();
  row.schedule.holder.reset();
  row.progress.locked_until.reset();
}

ProviderResult<void> Store::append_history(const std::string& instance, ExecutionId execution,
                                           std::span<const EventRecord> events) {
  std::optional<InstanceRow> row = find_instance(connection_, instance);
  if (!row || !row->is_instance() || !connection_.query(sql::kReadExecution, row->key, execution).step()) {
    return no_such_execution(instance, execution);
  }
  const auto last = static_cast<EventId>(connection_.integer(
      "SELECT coalesce(max(first_event + events - 1), 0) FROM history WHERE key = ?1 AND execution = ?2", row->key,
      execution));
  if (std::optional<ProviderError> error = check_event_ids(instance, events, last)) return *error;
  const InstanceRow before = *row;
  append_events(*row, execution, events);
  finish(*row, before);
  return {};
}

}  // namespace perdure::sqlite
