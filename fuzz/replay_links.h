// The links between parents and children that the fuzzer draws, and which of its messages are those of others.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/event.h>
#include <perdure/message.h>

namespace perdure {

inline constexpr std::uint64_t kIncarnation = 4711;  // of the instance

inline ParentLink own_link() {
  return {"boss", 2, 9, 17};
}

// None, the link of a child, one that differs from it in one field, that of the instance's own children, an empty one.
inline std::optional<ParentLink> chosen_link(unsigned choice, EventId schedule_id) {
  ParentLink link = own_link();
  switch (choice) {
    case 0:
      return std::nullopt;
    case 1:
      return link;
    case 2:
      link.instance = "another";
      return link;
    case 3:
      link.execution_id = 1;
      return link;
    case 4:
      link.schedule_id = schedule_id;
      return link;
    case 5:
      link.incarnation = kIncarnation;
      return link;
    case 6:
      return ParentLink{"fuzz", kFirstExecutionId, schedule_id, kIncarnation};
    default:
      return ParentLink{};
  }
}

// The incarnation of the parent that the outcome of a child names: the instance's own, none, or another.
inline std::uint64_t chosen_incarnation(unsigned choice) {
  if (choice < 3) return kIncarnation;
  return choice == 3 ? 0 : choice;
}

inline bool is_foreign(const Message& message, const std::optional<ParentLink>& own) {
  if (const auto* cancel = std::get_if<messages::CancelInstance>(&message.body)) {
    return cancel->parent && cancel->parent != own;
  }
  if (const auto* completed = std::get_if<messages::SubOrchestrationCompleted>(&message.body)) {
    return completed->parent_incarnation != kIncarnation;
  }
  const auto* failed = std::get_if<messages::SubOrchestrationFailed>(&message.body);
  return failed && failed->parent_incarnation != kIncarnation;
}

// The links of these starts, except those that the instance itself may have come from.
inline std::vector<ParentLink> would_be_parents(const std::vector<Message>& batch,
                                                const std::optional<ParentLink>& own) {
  std::vector<ParentLink> parents;
  for (const Message& message : batch) {
    const auto* start = std::get_if<messages::StartOrchestration>(&message.body);
    if (start && start->parent && start->parent != own) parents.push_back(*start->parent);
  }
  return parents;
}

// The links that these refusals carry back, except an outcome of the instance itself.
inline std::vector<ParentLink> refused_parents(const std::vector<Message>& sent, const std::optional<ParentLink>& own) {
  std::vector<ParentLink> parents;
  for (const Message& message : sent) {
    const auto* refusal = std::get_if<messages::SubOrchestrationFailed>(&message.body);
    if (!refusal) continue;
    ParentLink link{message.instance, message.execution.value_or(0), refusal->schedule_id, refusal->parent_incarnation};
    if (link != own) parents.push_back(std::move(link));
  }
  return parents;
}

}  // namespace perdure
