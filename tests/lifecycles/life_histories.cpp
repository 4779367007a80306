#include "lifecycles/life_histories.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace perdure::test {

namespace {

template <class T>
T decoded(const Payload& payload) {
  return nlohmann::json::parse(payload.value_or("null")).get<T>();
}

template <class Body>
const Body* body_of(const Event& event) {
  return std::get_if<Body>(&event.body);
}

// The event with which the execution ended: cancellations may follow it.
template <class Body>
const Body* end_as(const std::vector<Event>& history) {
  const auto found = std::find_if(history.rbegin(), history.rend(),
                                  [](const Event& event) { return std::holds_alternative<Body>(event.body); });
  return found == history.rend() ? nullptr : &std::get<Body>(found->body);
}

std::string failure_of(const std::vector<Event>& history) {
  const auto* const failed = end_as<events::OrchestrationFailed>(history);
  return failed ? describe(failed->error) : "";
}

// Such an end spares what was detached (decision 21).
bool ended_normally(const std::vector<Event>& history) {
  return end_as<events::OrchestrationCompleted>(history) || end_as<events::OrchestrationContinuedAsNew>(history) ||
         failure_of(history).starts_with(kOwnFailure);
}

bool is_timeout(const ErrorDetails& error) {
  const auto* const application = std::get_if<ApplicationError>(&error);
  return application && application->kind == ApplicationErrorKind::kTimedOut;
}

// 0: there is none.
EventId schedule_id(const std::vector<Event>& history, const std::string& child) {
  for (const Event& event : history) {
    const auto* const scheduled = body_of<events::SubOrchestrationScheduled>(event);
    if (scheduled && decoded<LifePlan>(scheduled->input).generation == child) return event.id;
  }
  return 0;
}

bool dropped(const std::vector<Event>& history, EventId child) {
  return std::any_of(history.begin(), history.end(), [&](const Event& event) {
    const auto* const request = body_of<events::SubOrchestrationCancelRequested>(event);
    return request && request->source == child && request->reason == CancelReason::kDroppedFuture;
  });
}

// Whether the execution that scheduled the child has done what the child was told.
bool justifies(const std::vector<Event>& history, EventId child, const std::string& reason) {
  if (reason == "parent dropped sub-orchestration future") return dropped(history, child);
  if (reason == "parent completed") return end_as<events::OrchestrationCompleted>(history);
  if (reason == "parent continued as new") return end_as<events::OrchestrationContinuedAsNew>(history);
  if (reason == "parent cancelled") return failure_of(history).starts_with("cancelled: ");
  if (reason == "parent terminated") return failure_of(history).starts_with("terminated: ");
  return reason == "parent failed" && failure_of(history).starts_with(kOwnFailure);
}

}  // namespace

LifeHistories::LifeHistories(const Client& client, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    Life& life = lives_[id];
    life.id = id;
    life.status = client.get_orchestration_status(id);
    for (const ExecutionId execution : client.list_executions(id)) {
      std::vector<Event> history = client.read_execution_history(id, execution);
      const auto* const started = history.empty() ? nullptr : body_of<events::OrchestrationStarted>(history.front());
      if (!started || started->name != "Life") continue;
      life.plan = decoded<LifePlan>(started->input);
      life.histories.emplace(execution, std::move(history));
    }
  }
}

std::vector<std::string> LifeHistories::check(const std::vector<Effect>& effects) {
  Ran ran;
  for (const Effect& effect : effects) ran[{effect.generation, effect.execution}][effect.activity] = effect.key;
  for (const auto& [id, life] : lives_) {
    if (!life.plan) continue;
    check_plan(life);
    for (const auto& [execution, history] : life.histories) {
      check_activities(life, execution, ran[{life.plan->generation, execution}]);
    }
    if (life.status.state == OrchestrationState::kCancelled) check_parent(life);
  }
  return std::exchange(problems_, {});
}

void LifeHistories::fault(const Life& life, const std::string& what) {
  problems_.push_back(life.id + " (" + life.plan->generation + ", " + std::string(to_string(life.status.state)) + ") " +
                      what);
}

void LifeHistories::check_plan(const Life& life) {
  if (!life.plan->id.empty() && life.plan->id != life.id) fault(life, "was meant for " + life.plan->id);
  const auto& shown = life.status.custom_status;
  if (shown && *shown != life_status(*life.plan)) fault(life, "has the custom status of another: " + *shown);
}

void LifeHistories::check_activities(const Life& life, ExecutionId execution,
                                     const std::map<EventId, std::string>& ran) {
  const std::vector<Event>& history = life.histories.at(execution);
  const auto name = [&](EventId id) {
    return "activity " + std::to_string(id) + " of execution " + std::to_string(execution);
  };
  for (const Event& event : history) {
    if (const auto* completed = body_of<events::ActivityCompleted>(event)) {
      const auto effect = ran.find(completed->source);
      if (effect == ran.end()) {
        fault(life, "has the result of " + name(completed->source) + ", which has no effect");
      } else if (decoded<Echoed>(completed->result).key != effect->second) {
        fault(life, "has another's result of " + name(completed->source));
      }
    } else if (const auto* failed = body_of<events::ActivityFailed>(event)) {
      const std::string text = describe(failed->error);
      const bool has_run = ran.contains(failed->source);
      if (is_timeout(failed->error) && has_run) fault(life, "has effects of " + name(failed->source) + ": " + text);
      if (is_timeout(failed->error)) continue;
      if (!has_run || text != kFailsThisTime) fault(life, "has a failure of " + name(failed->source) + ": " + text);
    } else if (const auto* scheduled = body_of<events::ActivityScheduled>(event)) {
      const bool must_run = decoded<Echo>(scheduled->input).detached && !scheduled->timeouts.schedule_to_start;
      if (must_run && ended_normally(history) && !ran.contains(event.id)) {
        fault(life, "has detached " + name(event.id) + ", which never ran");
      }
    }
  }
}

void LifeHistories::check_parent(const Life& life) {
  constexpr std::string_view kCancelled = "cancelled: ";
  const std::string reason = life.status.error_text().substr(kCancelled.size());
  if (!reason.starts_with("parent ")) return;
  // The generation of a child is that of its parent, the parent's execution, and a number.
  const std::string& generation = life.plan->generation;
  const std::size_t end_of_execution = generation.rfind('.');
  const std::size_t end_of_parent =
      end_of_execution == std::string::npos ? std::string::npos : generation.rfind('.', end_of_execution - 1);
  if (end_of_parent == std::string::npos) return fault(life, "has no parent, but was cancelled by one");
  const ExecutionId execution = std::stoull(generation.substr(end_of_parent + 1));
  const auto parent = lives_.find(life.plan->parent);
  if (parent == lives_.end() || !parent->second.plan) return fault(life, "has outlived its parent: " + reason);
  if (parent->second.plan->generation != generation.substr(0, end_of_parent)) {
    return fault(life, "was cancelled, but its parent's id belongs to " + parent->second.plan->generation);
  }
  const auto history = parent->second.histories.find(execution);
  if (history == parent->second.histories.end()) return;  // pruned
  const EventId child = schedule_id(history->second, generation);
  if (child == 0) return fault(life, "was not scheduled by " + parent->first);
  if (!justifies(history->second, child, reason)) fault(life, parent->first + " has not done this: " + reason);
}

}  // namespace perdure::test
