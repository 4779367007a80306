#include "providers/commit_rules.h"

#include <algorithm>

#include "providers/store_errors.h"

namespace perdure {

namespace {

std::optional<ProviderError> check_records(const TurnCommit& commit, const std::string& instance) {
  for (const MessageRecord& message : commit.messages) {
    if (message.kind == MessageKind::kExecuteActivity || message.instance.empty()) {
      return refused_turn(instance,
                          "TurnCommit::messages has an activity, or a message without an instance id; put activities "
                          "into TurnCommit::activities");
    }
  }
  for (const MessageRecord& activity : commit.activities) {
    if (activity.kind != MessageKind::kExecuteActivity || activity.instance != instance ||
        activity.execution != commit.execution_id) {
      return refused_turn(
          instance, "TurnCommit::activities has a message that is not an activity of this instance and execution");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProviderError> check_event_ids(const std::string& instance, std::span<const EventRecord> events,
                                             EventId last) {
  for (const EventRecord& event : events) {
    if (event.event_id != 0 && event.event_id <= last && &event == events.data()) {
      return ProviderError(ProviderErrorKind::kDuplicateEvent, "instance '" + instance + "': event " +
                                                                   std::to_string(event.event_id) +
                                                                   " is already in the history, which ends at " +
                                                                   std::to_string(last) + "; read the history again");
    }
    if (event.event_id != last + 1) {
      return refused_turn(instance, "event " + std::to_string(event.event_id) + " does not follow event " +
                                        std::to_string(last) + "; number events without gaps");
    }
    last = event.event_id;
  }
  return std::nullopt;
}

std::optional<ProviderError> check_turn(const TurnCommit& commit, const TurnTarget& target) {
  if (commit.commit_id == 0) return refused_turn(target.id, "commit_id must not be 0");
  const bool may_be_next = target.is_instance && commit.execution_id == target.execution + 1;
  if (commit.execution_id != target.execution && !may_be_next) {
    return refused_turn(target.id, "execution " + std::to_string(commit.execution_id) +
                                       " is neither the current execution, " + std::to_string(target.execution) +
                                       ", nor the next");
  }
  const EventId last = commit.execution_id == target.execution ? target.last_event : 0;
  if (std::optional<ProviderError> error = check_event_ids(target.id, commit.events, last)) return error;
  if (!target.is_instance && !commit.started && changes_instance(commit)) {
    return refused_turn(target.id, "the first commit of an instance requires TurnCommit::started");
  }
  if (commit.keep_lock && commit.owner.empty()) return refused_turn(target.id, "keep_lock requires TurnCommit::owner");
  return check_records(commit, target.id);
}

bool changes_instance(const TurnCommit& commit) noexcept {
  return !commit.events.empty() || commit.status || commit.custom_status || !commit.key_values.empty();
}

bool ends_execution(const TurnCommit& commit) noexcept {
  return commit.status && is_terminal(commit.status->status);
}

bool withdraws(const TurnCommit& commit, const MessageRecord& activity) {
  return std::find(commit.cancelled_activities.begin(), commit.cancelled_activities.end(), activity.activity_id) !=
         commit.cancelled_activities.end();
}

// New activities were never fetched: with a rule that suspects even those, they come one at a time or not at all.
std::size_t claim_limit(const WorkFetch& claim) noexcept {
  if (claim.suspects.from_attempts > 0) return claim.limit;
  return claim.suspects.admit ? std::min<std::size_t>(claim.limit, 1) : 0;
}

bool is_claimable(const WorkFetch& claim, const MessageRecord& activity, Timestamp now) {
  const bool is_expired = activity.timeouts.schedule_to_start && activity.timeouts.schedule_to_start->count() <= 0;
  return !is_expired && activity.visible_at.value_or(now) <= now && claim.tags.matches(activity.tag) &&
         lists(claim.filter.activities, activity.name);
}

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace perdure
