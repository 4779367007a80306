#include "providers/memory/commit_check.h"

#include <algorithm>
#include <set>

#include "providers/store_errors.h"

namespace perdure::memory {

namespace {

std::string named(const KeyRow& row) {
  return "instance '" + row.id + "'";
}

std::optional<ProviderError> check_execution(const KeyRow& row, ExecutionId execution) {
  const ExecutionId current = row.instance ? row.instance->current_id() : 0;
  if (execution == current + 1 || (row.instance && execution == current)) return std::nullopt;
  return invalid_argument(named(row) + ": execution " + std::to_string(execution) +
                          " is neither the current execution, " + std::to_string(current) + ", nor the next");
}

std::optional<ProviderError> check_records(const KeyRow& row, const TurnCommit& commit) {
  for (const MessageRecord& activity : commit.activities) {
    if (activity.kind != MessageKind::kExecuteActivity || activity.instance != row.id ||
        activity.execution != commit.execution_id) {
      return refused_turn(
          row.id, "TurnCommit::activities has a message that is not an activity of this instance and execution");
    }
  }
  for (const MessageRecord& message : commit.messages) {
    if (message.kind == MessageKind::kExecuteActivity || message.instance.empty()) {
      return refused_turn(row.id,
                          "TurnCommit::messages has an activity, or a message without an instance id; put activities "
                          "into TurnCommit::activities");
    }
  }
  return std::nullopt;
}

// What the commit completes is not queued any more.
bool completes(const TurnCommit& commit, const Activity& activity) {
  return activity.lock && std::find(commit.completed_work.begin(), commit.completed_work.end(), activity.lock->token) !=
                              commit.completed_work.end();
}

std::optional<ProviderError> check_identities(Store& store, const TurnCommit& commit) {
  std::set<EventId> ids;
  for (const MessageRecord& activity : commit.activities) {
    const bool repeated = !ids.insert(activity.activity_id).second;
    const Activity* const queued = store.activities.find(identity_of(activity));
    if (repeated || (queued != nullptr && !completes(commit, *queued))) {
      return queued_already(activity);
    }
  }
  return std::nullopt;
}

std::optional<ProviderError> check_completed_work(Store& store, const KeyRow& row, const TurnCommit& commit,
                                                  Timestamp now) {
  for (const LockToken& token : commit.completed_work) {
    const Activity* const activity = store.activity_of(token);
    if (activity == nullptr || !holds(activity->lock, token, now)) return lock_lost(activity);
    if (activity->record.instance != row.id || activity->attempts != 1) {
      return ProviderError(ProviderErrorKind::kLockLost,
                           named(row) + ": " + described(activity->record) + ", attempt " +
                               std::to_string(activity->attempts) +
                               ", cannot be completed by this commit; acknowledge it through the worker queue");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProviderError> check_events(std::span<const EventRecord> events, EventId last, const std::string& what) {
  const EventId stored = last;
  for (const EventRecord& event : events) {
    if (event.event_id == last + 1) {
      ++last;
      continue;
    }
    const std::string which = what + ": event " + std::to_string(event.event_id);
    const bool first = &event == &events.front();
    if (first && event.event_id != 0 && event.event_id <= stored) {
      return ProviderError(ProviderErrorKind::kDuplicateEvent, which + " is already in the history, which ends at " +
                                                                   std::to_string(stored) + "; read the history again");
    }
    return invalid_argument(which + " does not follow event " + std::to_string(last) + "; number events without gaps");
  }
  return std::nullopt;
}

std::optional<ProviderError> check_commit(Store& store, const KeyRow& row, const TurnCommit& commit, Timestamp now) {
  if (commit.commit_id == 0) return invalid_argument(named(row) + ": commit_id must not be 0");
  if (auto error = check_execution(row, commit.execution_id)) return error;
  const bool continues = row.instance && commit.execution_id == row.instance->current_id();
  const EventId last = continues ? row.instance->current().events.size() : 0;
  if (auto error = check_events(commit.events, last, named(row))) return error;
  if (auto error = check_records(row, commit)) return error;
  if (commit.keep_lock && commit.owner.empty()) {
    return invalid_argument(named(row) + ": keep_lock requires TurnCommit::owner");
  }
  const bool writes = !commit.events.empty() || commit.status || commit.custom_status || !commit.key_values.empty();
  if (!row.instance && !commit.started && writes) {
    return invalid_argument(named(row) + ": the first commit of an instance requires TurnCommit::started");
  }
  if (auto error = check_completed_work(store, row, commit, now)) return error;
  return check_identities(store, commit);
}

}  // namespace perdure::memory
