// The worker queue and its sessions.
#include <algorithm>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/sql.h"
#include "providers/postgres/tokens.h"
#include "providers/record_bytes.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

// What a fetch has locked whose answer never came.
constexpr const char* kReleaseActivities =
    "UPDATE activities a SET token = NULL, ready_at = now_ms(), attempts = greatest(a.attempts - 1, 0),"
    " expires_at = CASE WHEN a.attempts <= 1 THEN later(a.scheduled_at, a.schedule_to_start) ELSE a.expires_at END"
    " WHERE a.ready_at > now_ms() AND a.token = $1::bigint AND $2::bigint IS NOT NULL";

WorkItem read_item(const Rows& rows, int row, std::int64_t secret) {
  WorkItem item;
  item.token = make_token({.queue = 'a', .row = rows.integer(row, 0), .secret = secret});
  item.attempt_count = static_cast<std::uint32_t>(rows.integer(row, 1));
  item.locked_until = rows.time(row, 2);
  item.expired = rows.boolean(row, 3);
  item.record.kind = MessageKind::kExecuteActivity;
  item.record.instance = rows.text(row, 4);
  item.record.execution = rows.unsigned_integer(row, 5);
  item.record.activity_id = rows.unsigned_integer(row, 6);
  item.record.name = rows.text(row, 7);
  item.record.tag = tag_of(rows.bytes(row, 8));
  item.record.session = rows.optional_text(row, 9);
  item.scheduled_at = rows.time(row, 10);
  item.record.timeouts.start_to_close = rows.optional_duration(row, 11);
  item.record.timeouts.schedule_to_start = rows.optional_duration(row, 12);
  item.record.timeouts.heartbeat = rows.optional_duration(row, 13);
  item.heartbeat_details = rows.optional_text(row, 14);
  item.record.body = rows.text(row, 15);
  return item;
}

// What one of the calls that extend locks answers.
struct Renewals {
  List ids = bigints();
  List secrets = bigints();
  List extensions = bigints();
  List details = byte_strings();
  std::vector<std::optional<LockName>> names;

  void add(const LockToken& token, const std::optional<Milliseconds>& extension, const Payload& detail) {
    names.push_back(read_token(token, 'a'));
    if (!names.back()) return;
    ids.add(names.back()->row);
    secrets.add(names.back()->secret);
    extensions.add(extension);
    details.add(detail);
  }
  [[nodiscard]] std::vector<ProviderResult<Timestamp>> outcomes(const Rows& rows, const std::string& what) const {
    std::map<std::pair<std::int64_t, std::int64_t>, Timestamp> renewed;
    for (int row = 0; row < rows.size(); ++row) {
      renewed.emplace(std::pair(rows.integer(row, 0), rows.integer(row, 1)), rows.time(row, 2));
    }
    std::vector<ProviderResult<Timestamp>> outcomes;
    for (const std::optional<LockName>& name : names) {
      const auto found = name ? renewed.find({name->row, name->secret}) : renewed.end();
      outcomes.push_back(found != renewed.end() ? ProviderResult<Timestamp>(found->second) : lock_lost(what));
    }
    return outcomes;
  }
};

// A statement changes a row once, and the second one must see what the first has done.
bool names_activity_twice(std::span<const Abandon> abandons) {
  std::set<std::int64_t> rows;
  return std::any_of(abandons.begin(), abandons.end(), [&rows](const Abandon& abandon) {
    const std::optional<LockName> lock = read_token(abandon.token, 'a');
    return lock && !rows.insert(lock->row).second;
  });
}

bool exceeds_batch(std::span<const WorkAck> acks) {
  std::size_t bytes = 0;
  for (const WorkAck& ack : acks) bytes += bytes_of(ack);
  return bytes > kMaxBatchBytes;
}

}  // namespace

ProviderResult<WorkBatch> PostgresStore::fetch_work_items(const WorkFetch& fetch) {
  return guarded<WorkBatch>([&]() -> ProviderResult<WorkBatch> {
    const std::int64_t secret = next_secret();
    Parameters parameters(bounded(fetch.tags.takes_nothing() ? 0 : fetch.limit), fetch.lock_timeout, secret,
                          lanes_of(fetch.tags), texts(fetch.filter.activities));
    if (fetch.session) {
      parameters.add(fetch.session->owner);
      parameters.add(fetch.session->lock_timeout);
      parameters.add(bounded(fetch.session->max_sessions));
    } else {
      for (int parameter = 0; parameter < 3; ++parameter) parameters.add(std::nullopt);
    }
    parameters.add(std::int64_t{fetch.suspects.from_attempts});
    parameters.add(fetch.suspects.admit);
    try {
      const std::optional<Timestamp> known = pool_.latest();
      const Rows rows = pool_.run(sql::kFetchActivities, parameters, Repeat::kNever);
      WorkBatch batch{.now = pool_.see(rows.time(0, 1), known), .items = {}};
      bool any_sessions = false;
      for (int row = 1; row < rows.size(); ++row) {
        batch.items.push_back(read_item(rows, row, secret));
        any_sessions = any_sessions || batch.items.back().record.session.has_value();
      }
      // Its owner's other workers may take more of a session that is new; all may take it if it ends sooner.
      if (any_sessions) waker_->changed({.activities = true});
      return batch;
    } catch (const PostgresError& error) {
      if (error.connection_lost()) release_lost_fetch(kReleaseActivities, secret);
      throw;
    } catch (const std::bad_alloc&) {
      release_lost_fetch(kReleaseActivities, secret);
      throw;
    }
  });
}

std::vector<ProviderResult<void>> PostgresStore::ack_work_items(std::span<const WorkAck> acks) {
  return contained<void>(acks.size(), [&] { return acknowledge(acks); });
}

std::vector<ProviderResult<void>> PostgresStore::acknowledge(std::span<const WorkAck> acks) {
  if (!pool_.home().is_this()) return {acks.size(), ProviderResult<void>(used_by_child(pool_.home()))};
  std::vector<ProviderResult<void>> outcomes(acks.size(), ProviderResult<void>(lock_lost("acknowledging an activity")));
  const auto one_by_one = [&] {
    for (std::size_t index = 0; index < acks.size(); ++index) {
      outcomes[index] = ack_work_items(acks.subspan(index, 1)).front();
    }
    return outcomes;
  };
  if (acks.size() > 1 && (repeats(acks) || exceeds_batch(acks))) return one_by_one();
  List ids = bigints();
  List secrets = bigints();
  List completed = texts();
  MessageLists completions;
  std::vector<std::size_t> sent;
  bool all_valid = true;
  for (std::size_t index = 0; index < acks.size(); ++index) {
    const WorkAck& ack = acks[index];
    const std::optional<LockName> lock = read_token(ack.token, 'a');
    if (!lock) continue;
    sent.push_back(index);
    ids.add(lock->row);
    secrets.add(lock->secret);
    if (ack.completion) {
      all_valid = all_valid && completes_activity(ack.completion->kind);
      completed.add(ack.completion->instance);
      completions.add(*ack.completion);
    } else {
      completed.add_null();
    }
  }
  if (sent.empty()) return outcomes;
  try {
    if (!all_valid) throw PostgresError(std::string(kWorkLost), "the message is not an activity completion");
    std::vector<Call> calls{{sql::kRemoveWork, Parameters(ids, secrets, completed)}};
    if (!completions.empty()) completions.append_calls(calls, options_.orphan_retention);
    completions.append_forgetting(calls);
    const std::vector<Rows> answers = pool_.run(calls, Repeat::kNever);
    for (const std::size_t index : sent) outcomes[index] = ProviderResult<void>();
    waker_->changed(completions.topics());
    report(completions.discarded(answers));
  } catch (const PostgresError& error) {
    const bool one_is_wrong = error.state() == kWorkLost || as_provider_error(error).data_error();
    if (one_is_wrong && acks.size() > 1) return one_by_one();
    if (error.state() == kWorkLost) {
      outcomes.front() = explain_lost_work(acks.front());
    } else {
      for (const std::size_t index : sent) outcomes[index] = as_provider_error(error);
    }
  }
  return outcomes;
}

// Either the lock is lost, or the completion is not one of this activity.
ProviderResult<void> PostgresStore::explain_lost_work(const WorkAck& ack) {
  return guarded<void>([&]() -> ProviderResult<void> {
    const LockName lock = read_token(ack.token, 'a').value();
    const Rows found = pool_.run(sql::kLookAtWork, Parameters(lock.row, lock.secret), Repeat::kIfLost);
    if (found.empty()) return lock_lost("acknowledging an activity");
    return not_its_completion(found.text(0, 0), found.unsigned_integer(0, 1));
  });
}

std::vector<ProviderResult<void>> PostgresStore::abandon_work_items(std::span<const Abandon> abandons) {
  return batch<void>(abandons, names_activity_twice(abandons), [this](std::span<const Abandon> elements) {
    List ids = bigints();
    List secrets = bigints();
    List delays = bigints();
    List ignore_attempts = booleans();
    List have_begun = booleans();
    for (const Abandon& abandon : elements) {
      const std::optional<LockName> lock = read_token(abandon.token, 'a');
      if (!lock) continue;
      ids.add(lock->row);
      secrets.add(lock->secret);
      delays.add(abandon.delay);
      ignore_attempts.add(abandon.ignore_attempt);
      have_begun.add(abandon.has_begun);
    }
    static_cast<void>(
        pool_.run(sql::kAbandonWork, Parameters(ids, secrets, delays, ignore_attempts, have_begun), Repeat::kNever));
    waker_->changed({.activities = true});
    return std::vector<ProviderResult<void>>(elements.size());
  });
}

std::vector<ProviderResult<Timestamp>> PostgresStore::renew_work_locks(std::span<const LockToken> tokens,
                                                                       Milliseconds extend_for) {
  return batch<Timestamp>(tokens, repeats(tokens), [this, extend_for](std::span<const LockToken> elements) {
    Renewals renewals;
    for (const LockToken& token : elements) renewals.add(token, extend_for, std::nullopt);
    const Rows rows =
        pool_.run(sql::kRenewWork, Parameters(renewals.ids, renewals.secrets, renewals.extensions, renewals.details),
                  Repeat::kIfLost);
    waker_->changed({.activities = true});  // a lock may end sooner than those who wait were told
    return renewals.outcomes(rows, "renewing the lock of an activity");
  });
}

std::vector<ProviderResult<Timestamp>> PostgresStore::heartbeat(std::span<const Heartbeat> heartbeats) {
  return batch<Timestamp>(heartbeats, repeats(heartbeats), [this](std::span<const Heartbeat> elements) {
    Renewals renewals;
    for (const Heartbeat& beat : elements) renewals.add(beat.token, beat.extend_for, beat.details);
    const Rows rows =
        pool_.run(sql::kRenewWork, Parameters(renewals.ids, renewals.secrets, renewals.extensions, renewals.details),
                  Repeat::kIfLost);
    waker_->changed({.activities = true});
    return renewals.outcomes(rows, "heartbeat of an activity");
  });
}

std::vector<ProviderResult<void>> PostgresStore::enqueue_activities(std::span<const MessageRecord> activities) {
  std::vector<ProviderResult<void>> outcomes;
  outcomes.reserve(activities.size());
  // For tools and tests: one after the other will do.
  for (const MessageRecord& activity : activities) {
    outcomes.push_back(guarded<void>([&]() -> ProviderResult<void> {
      if (activity.kind != MessageKind::kExecuteActivity || activity.instance.empty() || !activity.execution) {
        return ProviderError(ProviderErrorKind::kInvalidArgument,
                             "the worker queue takes activities with an instance and an execution");
      }
      List instances = texts();
      instances.add(activity.instance);
      const std::vector<Call> calls{
          {sql::kLockOrMake, Parameters(instances, bigints())},
          {sql::kEnqueueActivity,
           Parameters(activity.instance, *activity.execution, activity.activity_id, activity.name,
                      lane_of(activity.tag), activity.session, activity.visible_at, activity.timeouts.start_to_close,
                      activity.timeouts.schedule_to_start, activity.timeouts.heartbeat, activity.body)},
          {sql::kRescheduleById, Parameters(instances, options_.orphan_retention)}};
      try {
        static_cast<void>(pool_.run(calls, Repeat::kNever));
      } catch (const PostgresError& error) {
        if (error.state() == kDuplicate) return queued_already(activity);
        throw;
      }
      waker_->changed({.activities = true});
      return {};
    }));
  }
  return outcomes;
}

ProviderResult<std::size_t> PostgresStore::renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                                          Milliseconds idle_timeout) {
  return guarded<std::size_t>([&]() -> ProviderResult<std::size_t> {
    List list = texts();
    for (const std::string& owner : owners) list.add(owner);
    const Rows rows = pool_.run(sql::kRenewSessions, Parameters(list, extend_for, idle_timeout), Repeat::kIfLost);
    waker_->changed({.activities = true});  // given up, or held for less long than those who wait were told
    return static_cast<std::size_t>(rows.integer(0, 0));
  });
}

ProviderResult<std::size_t> PostgresStore::cleanup_sessions() {
  return guarded<std::size_t>([&]() -> ProviderResult<std::size_t> {
    const Rows rows = pool_.run(sql::kCleanUpSessions, Parameters(), Repeat::kIfLost);
    return static_cast<std::size_t>(rows.integer(0, 0));
  });
}

}  // namespace perdure::postgres
