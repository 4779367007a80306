// Waiting for work, and for an instance to change.
#include <algorithm>

#include "providers/lock_names.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/sql.h"
#include "providers/postgres/versions.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

Call look_for(const OrchestrationFetch& fetch) {
  List oldest = texts();
  List newest = texts();
  for (const VersionRange& range : fetch.filter.engine_versions) {
    oldest.add(sortable(range.min));
    newest.add(sortable(range.max));
  }
  return {sql::kLookForInstances, Parameters(fetch.owner, texts(fetch.filter.orchestrations), oldest, newest,
                                             std::int64_t{fetch.suspects.from_attempts}, fetch.suspects.admit)};
}

Call look_for(const WorkFetch& fetch) {
  std::optional<std::string> owner;
  std::optional<std::int64_t> max_sessions;
  if (fetch.session) {
    owner = fetch.session->owner;
    max_sessions = bounded(fetch.session->max_sessions);
  }
  return {sql::kLookForActivities, Parameters(lanes_of(fetch.tags), texts(fetch.filter.activities), owner, max_sessions,
                                              std::int64_t{fetch.suspects.from_attempts}, fetch.suspects.admit)};
}

// A token that is not of this store stands for an activity that does not exist.
Call look_at(const std::vector<LockToken>& held) {
  List ids = bigints();
  List secrets = bigints();
  for (const LockToken& token : held) {
    const std::optional<LockName> lock = read_token(token, 'a');
    ids.add(lock ? lock->row : 0);
    secrets.add(lock ? lock->secret : 0);
  }
  return {sql::kHasLostAny, Parameters(ids, secrets)};
}

Milliseconds between(Timestamp from, Timestamp to) {
  // Deadlines of "never" must not wrap.
  if (to <= from) return Milliseconds(0);
  return from.time_since_epoch().count() < 0 ? Milliseconds::max() : to - from;
}

}  // namespace

// The steady time at which a wait ends that begins now.
Milliseconds PostgresStore::end_of_wait(Timestamp deadline) {
  constexpr int kTries = 3;  // to read both at one moment
  Milliseconds here{0};
  Milliseconds left{0};
  for (int tries = 0; tries < kTries; ++tries) {
    here = pool_.steady();
    left = between(now(), deadline);
    if (pool_.steady() == here) break;
  }
  return left > Milliseconds::max() - here ? Milliseconds::max() : here + left;
}

ProviderResult<bool> PostgresStore::wait_for_work(const WorkWait& wait, Timestamp deadline) {
  return guarded<bool>([&]() -> ProviderResult<bool> {
    const Milliseconds end = end_of_wait(deadline);
    std::vector<Call> calls;
    const bool instances = wait.orchestrations && wait.orchestrations->limit > 0;
    const bool activities = wait.activities && wait.activities->limit > 0;
    if (instances) calls.push_back(look_for(*wait.orchestrations));
    if (activities) calls.push_back(look_for(*wait.activities));
    if (!wait.held.empty()) calls.push_back(look_at(wait.held));
    const bool waits_for_nothing = calls.empty();
    if (calls.empty()) calls.push_back({sql::kNow, {}});
    std::optional<PostgresError> error;
    const bool found = waker_->wait(
        {.instances = instances, .activities = activities, .groups = wait.held.empty() ? 0 : kWithdrawals},
        [&] {
          Waker::Look look;
          try {
            const std::optional<Timestamp> known = pool_.latest();
            for (const Rows& rows : pool_.run(calls, Repeat::kRead)) {
              // Not what see() returns: if the clock was set back a little, that is ahead of the store, and this thread
              // would look every millisecond until the store has the same time.
              const Timestamp now = rows.time(0, 0);
              static_cast<void>(pool_.see(now, known));
              look.until_deadline = end - pool_.steady();
              if (waits_for_nothing) continue;
              look.satisfied = look.satisfied || rows.boolean(0, 1);
              if (const std::optional<Timestamp> again = rows.optional_time(0, 2)) {
                const Milliseconds left = between(now, *again);
                look.until_change = std::min(look.until_change.value_or(left), left);
              }
            }
          } catch (const PostgresError& failure) {
            error = failure;
            look.satisfied = true;
          }
          return look;
        },
        wait.stop);
    if (error) return as_provider_error(*error);
    return found;
  });
}

ProviderResult<bool> PostgresStore::wait_for_change(const std::string& instance, const InstanceChange& change,
                                                    Timestamp deadline) {
  return guarded<bool>([&]() -> ProviderResult<bool> {
    const Milliseconds end = end_of_wait(deadline);
    const Parameters parameters(instance, change.ended, change.custom_status_after, change.key_value,
                                change.incarnation_other_than);
    std::optional<PostgresError> error;
    const bool found = waker_->wait({.groups = change_group(instance)}, [&] {
      Waker::Look look;
      try {
        const std::optional<Timestamp> known = pool_.latest();
        const Rows rows = pool_.run(sql::kHasChanged, parameters, Repeat::kRead);
        static_cast<void>(pool_.see(rows.time(0, 0), known));
        look.until_deadline = end - pool_.steady();
        look.satisfied = rows.boolean(0, 1);
      } catch (const PostgresError& failure) {
        error = failure;
        look.satisfied = true;
      }
      return look;
    });
    if (error) return as_provider_error(*error);
    return found;
  });
}

}  // namespace perdure::postgres
