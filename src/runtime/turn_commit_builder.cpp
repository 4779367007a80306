#include "runtime/turn_commit_builder.h"

#include <variant>

#include "model/error_codec.h"
#include "model/event_codec.h"
#include "model/message_codec.h"
#include "model/planted_fault.h"

namespace perdure::runtime {

namespace {

void add_effect(TurnCommit& commit, const Event& event, const std::optional<SemanticVersion>& pin) {
  if (const auto* started = std::get_if<events::OrchestrationStarted>(&event.body)) {
    commit.started = StartedMetadata{
        .name = started->name,
        .version = started->version,
        .parent = started->parent,
        .pinned_version = pin ? *pin : event.engine_version,
        .carry_forward = started->carry_forward.size(),
    };
  } else if (const auto* status = std::get_if<events::CustomStatusUpdated>(&event.body)) {
    if (planted(PlantedFault::kFirstStatusOfTurnWins) && commit.custom_status) return;
    commit.custom_status = CustomStatusChange{status->status};
  } else if (const auto* set = std::get_if<events::KeyValueSet>(&event.body)) {
    commit.key_values.emplace_back(SetKeyValue{set->key, set->value, event.time});
  } else if (const auto* cleared = std::get_if<events::KeyValueCleared>(&event.body)) {
    commit.key_values.emplace_back(ClearKeyValue{cleared->key});
  } else if (std::holds_alternative<events::KeyValuesCleared>(event.body)) {
    commit.key_values.emplace_back(ClearAllKeyValues{});
  }
}

}  // namespace

void add_outcome(TurnCommit& commit, const TurnOutcome& outcome, const std::optional<SemanticVersion>& pin) {
  commit.events.reserve(outcome.events.size());
  for (const Event& event : outcome.events) {
    add_effect(commit, event, pin);
    commit.events.push_back(encode_event(event));
  }
  if (outcome.status != ExecutionStatus::kRunning) {
    commit.status = StatusChange{outcome.status, outcome.error ? encode_error(*outcome.error) : outcome.output};
  }
  commit.activities.reserve(outcome.activities.size());
  for (const Message& activity : outcome.activities) commit.activities.push_back(encode_message(activity));
  commit.messages.reserve(outcome.messages.size());
  for (const Message& message : outcome.messages) commit.messages.push_back(encode_message(message));
  commit.cancelled_activities = outcome.cancelled_activities;
}

}  // namespace perdure::runtime
