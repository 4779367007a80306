// What a commit may be, as far as it shows from the commit and the row of its instance.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <perdure/provider_error.h>
#include <perdure/turn_commit.h>

namespace perdure {

// The instance that a turn is committed to.
struct TurnTarget {
  const std::string& id;
  bool is_instance = false;
  ExecutionId execution = kFirstExecutionId;
  EventId last_event = 0;
};

// Whether these events may follow those up to `last`.
[[nodiscard]] std::optional<ProviderError> check_event_ids(const std::string& instance,
                                                           std::span<const EventRecord> events, EventId last);
// Of a commit whose token is good.
[[nodiscard]] std::optional<ProviderError> check_turn(const TurnCommit& commit, const TurnTarget& target);
// It writes what only an instance has.
[[nodiscard]] bool changes_instance(const TurnCommit& commit) noexcept;
[[nodiscard]] bool ends_execution(const TurnCommit& commit) noexcept;
// It withdraws an activity that it schedules.
[[nodiscard]] bool withdraws(const TurnCommit& commit, const MessageRecord& activity);

// How many of its activities a commit may claim at the most.
[[nodiscard]] std::size_t claim_limit(const WorkFetch& claim) noexcept;
// Whether the worker could take a new activity, as far as sessions do not matter.
[[nodiscard]] bool is_claimable(const WorkFetch& claim, const MessageRecord& activity, Timestamp now);

[[nodiscard]] bool lists(const std::vector<std::string>& names, const std::string& name);

}  // namespace perdure
