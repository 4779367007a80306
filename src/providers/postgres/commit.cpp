// A turn's commit. Sound ones go together in one round trip; what is wrong with one of them is found out by looking at
// it alone.
#include <set>
#include <string_view>
#include <utility>

#include "providers/commit_rules.h"
#include "providers/event_packing.h"
#include "providers/postgres/commit_pipeline.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/sql.h"
#include "providers/postgres/tokens.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr const char* kFindQueued =
    "SELECT a.activity_id FROM unnest($2::bigint[]) w(activity_id) JOIN activities a"
    " ON a.key = $1::bigint AND a.execution = $3::bigint AND a.activity_id = w.activity_id LIMIT 1";
constexpr const char* kStillClaimed =
    "SELECT a.id, a.activity_id, a.ready_at FROM unnest($3::bigint[]) WITH ORDINALITY w(activity_id, place)"
    " JOIN activities a ON a.key = $1::bigint AND a.execution = $2::bigint AND a.activity_id = w.activity_id"
    " WHERE a.token = $4::bigint AND a.attempts = 1 AND a.ready_at > now_ms() ORDER BY w.place";
constexpr const char* kCountWork =
    "SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) d(id, secret) JOIN activities a ON a.id = d.id"
    " WHERE a.token = d.secret AND a.key = $3::bigint AND a.ready_at > now_ms() AND a.attempts = 1";
constexpr const char* kLookAtExecution =
    "SELECT i.key, i.execution, (SELECT coalesce(max(h.first_event + h.events - 1), 0) FROM history h"
    " WHERE h.key = i.key AND h.execution = e.execution) FROM instances i JOIN executions e ON e.key = i.key"
    " WHERE i.id = $1::text AND i.created_at IS NOT NULL AND e.execution = $2::bigint";
// Fails if the history does not end any more where we have seen it end.
constexpr const char* kAppendHistory =
    "INSERT INTO history(key, execution, first_event, events, body_bytes, data)"
    " VALUES($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bytea)";
constexpr const char* kMoveLastEvent =
    "UPDATE instances i SET last_event = $3::bigint WHERE i.key = $1::bigint AND i.execution = $2::bigint";

struct TokenOrder {
  bool operator()(const LockToken& one, const LockToken& other) const { return one.value < other.value; }
};

// What a refused turn finds.
struct FoundRow {
  std::string id;
  bool is_instance = false;
  ExecutionId execution = kFirstExecutionId;
  EventId last_event = 0;
  CommitId commit_id = 0;
  std::optional<std::int64_t> token;
  std::optional<Timestamp> locked_until;
  std::optional<std::string> holder;
  std::optional<Timestamp> held_ready_at;
  std::optional<Timestamp> ready_at;
  Timestamp now;

  [[nodiscard]] bool is_locked() const noexcept { return token && locked_until && *locked_until > now; }
};

std::optional<FoundRow> read_found(const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return FoundRow{.id = rows.text(0, 0),
                  .is_instance = rows.boolean(0, 1),
                  .execution = rows.unsigned_integer(0, 2),
                  .last_event = rows.unsigned_integer(0, 3),
                  .commit_id = rows.unsigned_integer(0, 4),
                  .token = rows.optional_integer(0, 5),
                  .locked_until = rows.optional_time(0, 6),
                  .holder = rows.optional_text(0, 7),
                  .held_ready_at = rows.optional_time(0, 8),
                  .ready_at = rows.optional_time(0, 9),
                  .now = rows.time(0, 10)};
}

// How the instance stands for whoever has committed to it before.
CommitAnswer repeated_answer(const FoundRow& row, const TurnCommit& commit, std::int64_t secret) {
  CommitAnswer answer;
  answer.now = row.now;
  answer.repeated = true;
  const bool kept = row.holder && row.is_locked();
  if (kept && row.token == secret) answer.locked_until = row.locked_until;
  const std::optional<Timestamp>& due = kept && row.holder == commit.owner ? row.held_ready_at : row.ready_at;
  answer.more_messages = due && *due <= row.now;
  return answer;
}

bool concerns_one_turn(const PostgresError& error) {
  return error.state() == kTurnRefused || error.state() == kWorkLost || error.state() == kQueuedAlready ||
         as_provider_error(error).data_error();
}

}  // namespace

std::vector<ProviderResult<CommitAnswer>> PostgresStore::ack_orchestration_items(std::span<const TurnCommit> commits) {
  return contained<CommitAnswer>(commits.size(), [&] { return commit_all(commits); });
}

std::vector<ProviderResult<CommitAnswer>> PostgresStore::commit_all(std::span<const TurnCommit> commits) {
  if (!pool_.home().is_this()) return {commits.size(), ProviderResult<CommitAnswer>(used_by_child(pool_.home()))};
  const ProviderError not_run(ProviderErrorKind::kUnavailable, "the store returned no result");
  std::vector<ProviderResult<CommitAnswer>> outcomes(commits.size(), ProviderResult<CommitAnswer>(not_run));
  std::vector<std::size_t> together;
  std::optional<CommitPipeline> pipeline;
  const auto send = [&] {
    if (!together.empty()) commit_together(commits, together, *pipeline, outcomes);
    together.clear();
    pipeline.reset();
  };
  for (std::size_t index = 0; index < commits.size(); ++index) {
    const TurnCommit& commit = commits[index];
    const std::optional<InstanceLock> lock = instance_lock(commit.token);
    if (!lock || !is_sound(commit)) {
      send();
      outcomes[index] = commit_alone(commit);
      continue;
    }
    if (pipeline && !pipeline->fits(commit, *lock)) send();
    if (!pipeline) pipeline.emplace(options_.orphan_retention);
    pipeline->add(commit, *lock);
    together.push_back(index);
  }
  send();
  return outcomes;
}

void PostgresStore::commit_together(std::span<const TurnCommit> commits, const std::vector<std::size_t>& which,
                                    CommitPipeline& pipeline, std::vector<ProviderResult<CommitAnswer>>& outcomes) {
  try {
    const std::optional<Timestamp> known = pool_.latest();
    // A commit that is repeated because its answer was lost is refused, and then found to be done.
    const std::vector<Rows> answers = pool_.run(pipeline.calls(), Repeat::kIfLost);
    std::vector<CommitAnswer> done = pipeline.read(answers);
    for (std::size_t place = 0; place < which.size(); ++place) {
      done[place].now = pool_.see(done[place].now, known);
      outcomes[which[place]] = std::move(done[place]);
    }
    waker_->changed(pipeline.topics(answers));
    report(pipeline.discarded(answers));
  } catch (const PostgresError& error) {
    const ProviderError shown = as_provider_error(error);
    for (const std::size_t index : which) {
      outcomes[index] = concerns_one_turn(error) ? commit_alone(commits[index]) : ProviderResult<CommitAnswer>(shown);
    }
  }
}

void PostgresStore::report(const std::vector<DiscardedMessages>& discarded) const {
  for (const DiscardedMessages& each : discarded) each.report(options_.logger, options_.metrics);
}

// Whether the activities that a turn completes are all locked for it.
bool PostgresStore::has_work(const TurnCommit& commit, const InstanceLock& lock) {
  List ids = bigints();
  List secrets = bigints();
  const std::set<LockToken, TokenOrder> tokens(commit.completed_work.begin(), commit.completed_work.end());
  for (const LockToken& token : tokens) {
    const std::optional<LockName> work = read_token(token, 'a');
    if (!work) return false;
    ids.add(work->row);
    secrets.add(work->secret);
  }
  const Rows rows = pool_.run(kCountWork, Parameters(ids, secrets, lock.key), Repeat::kIfLost);
  return rows.unsigned_integer(0, 0) == tokens.size();
}

// What a commit that is repeated had claimed, as far as it still is.
std::vector<ClaimedActivity> PostgresStore::still_claimed(const TurnCommit& commit, const InstanceLock& lock) {
  std::vector<ClaimedActivity> claimed;
  if (commit.activities.empty()) return claimed;
  List ids = bigints();
  for (const MessageRecord& activity : commit.activities) ids.add(activity.activity_id);
  const Rows rows = pool_.run(
      kStillClaimed, Parameters(lock.key, commit.execution_id, ids, claim_secret(commit.commit_id)), Repeat::kIfLost);
  for (int row = 0; row < rows.size(); ++row) {
    claimed.push_back(claimed_activity(commit, rows.integer(row, 0), rows.unsigned_integer(row, 1), rows.time(row, 2)));
  }
  return claimed;
}

ProviderResult<CommitAnswer> PostgresStore::commit_alone(const TurnCommit& commit) {
  const std::optional<InstanceLock> lock = instance_lock(commit.token);
  if (!lock) return lock_lost("commit");
  const auto queued = [&](const FoundRow& row) -> std::optional<ProviderError> {
    List ids = bigints();
    for (const MessageRecord& activity : commit.activities) ids.add(activity.activity_id);
    const Rows found = pool_.run(kFindQueued, Parameters(lock->key, ids, row.execution), Repeat::kIfLost);
    for (const MessageRecord& activity : commit.activities) {
      if (!found.empty() && activity.activity_id == found.unsigned_integer(0, 0)) return queued_already(activity);
    }
    return std::nullopt;
  };
  return guarded<CommitAnswer>([&]() -> ProviderResult<CommitAnswer> {
    // Others may change what we see until the pipeline has locked it: then we look again.
    constexpr int kLooks = 5;
    for (int looks = 1; looks <= kLooks; ++looks) {
      const std::optional<FoundRow> row =
          read_found(pool_.run(sql::kLookAtTurn, Parameters(lock->key), Repeat::kIfLost));
      if (!row) return lock_lost("commit");
      if (commit.commit_id != 0 && row->commit_id == commit.commit_id) {
        CommitAnswer answer = repeated_answer(*row, commit, lock->secret);
        answer.claimed = still_claimed(commit, *lock);
        waker_->changed(kAllTopics);  // whoever made it may have died, or lost its connection, before it told anybody
        return answer;
      }
      if (row->token != lock->secret || !row->is_locked()) return lock_lost("commit of instance '" + row->id + "'");
      const TurnTarget target{
          .id = row->id, .is_instance = row->is_instance, .execution = row->execution, .last_event = row->last_event};
      if (std::optional<ProviderError> error = check_turn(commit, target)) return *error;
      if (!is_sound(commit)) {
        // All that is left: an activity that it schedules twice. What it completes counts first.
        if (!has_work(commit, *lock)) return lock_lost("direct completion in a turn of instance '" + row->id + "'");
        return queued(*row).value_or(queued_already(commit.activities.front()));
      }
      CommitPipeline pipeline(options_.orphan_retention, CommitPipeline::LockRows::kFirst);
      pipeline.add(commit, *lock);
      try {
        const std::vector<Rows> answers = pool_.run(pipeline.calls(), Repeat::kIfLost);
        waker_->changed(pipeline.topics(answers));
        report(pipeline.discarded(answers));
        return pipeline.read(answers).front();
      } catch (const PostgresError& error) {
        if (error.state() == kWorkLost) return lock_lost("direct completion in a turn of instance '" + row->id + "'");
        if (error.state() == kQueuedAlready || error.state() == kDuplicate) {
          if (std::optional<ProviderError> refused = queued(*row)) return *refused;
          if (looks == kLooks) throw;
        } else if (error.state() != kTurnRefused) {
          throw;
        }
      }
    }
    return lock_lost("commit");
  });
}

ProviderResult<void> PostgresStore::append_history(const std::string& instance, ExecutionId execution,
                                                   std::span<const EventRecord> events) {
  return guarded<void>([&]() -> ProviderResult<void> {
    const Rows found = pool_.run(kLookAtExecution, Parameters(instance, execution), Repeat::kIfLost);
    if (found.empty()) return no_such_execution(instance, execution);
    const EventId last = found.unsigned_integer(0, 2);
    if (std::optional<ProviderError> error = check_event_ids(instance, events, last)) return *error;
    if (events.empty()) return {};
    std::uint64_t body_bytes = 0;
    for (const EventRecord& event : events) body_bytes += event.body.size();
    const std::int64_t key = found.integer(0, 0);
    const std::vector<Call> calls{
        {kAppendHistory, Parameters(key, execution, events.front().event_id, std::uint64_t{events.size()}, body_bytes,
                                    pack_events(events))},
        {kMoveLastEvent, Parameters(key, execution, events.back().event_id)}};
    try {
      static_cast<void>(pool_.run(calls, Repeat::kNever));
    } catch (const PostgresError& error) {
      if (error.state() != kDuplicate) throw;
      return check_event_ids(instance, events, events.front().event_id).value();  // somebody was faster
    }
    waker_->changed({.groups = change_group(instance)});
    return {};
  });
}

}  // namespace perdure::postgres
