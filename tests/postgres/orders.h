// The instances that tests of this folder start where it does not matter which.
#pragma once

#include <string>

#include <perdure/fetch.h>
#include <perdure/records.h>
#include <perdure/turn_commit.h>

namespace perdure::test {

[[nodiscard]] inline MessageRecord message_for(const std::string& instance, MessageKind kind) {
  MessageRecord message;
  message.kind = kind;
  message.instance = instance;
  message.body = "x";
  return message;
}

[[nodiscard]] inline MessageRecord start_of(const std::string& instance) {
  MessageRecord start = message_for(instance, MessageKind::kStartOrchestration);
  start.name = "Order";
  return start;
}

[[nodiscard]] inline StartedMetadata started_order() {
  return {.name = "Order", .version = {}, .parent = {}, .pinned_version = {}, .carry_forward = 0};
}

[[nodiscard]] inline EventRecord event_of_order(EventId id) {
  return {.event_id = id, .kind = 1, .turn = id, .time = {}, .body = "e"};
}

// Consumes the start.
[[nodiscard]] inline TurnCommit first_turn_of(const OrchestrationItem& item, CommitId id) {
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = id;
  commit.consumed = {item.messages.at(0).id};
  commit.started = started_order();
  commit.events = {event_of_order(kFirstEventId)};
  return commit;
}

}  // namespace perdure::test
