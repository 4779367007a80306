// The part of the check that reads histories: activities against the ledger, children against their parents, versions.
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "model/reserved_names.h"
#include "testing/simulation/interpreter.h"
#include "testing/simulation/random_workload_check.h"

namespace perdure::testing::simulation {

namespace {

constexpr Milliseconds kNoticedAfter = std::chrono::minutes(5);

std::string message_of(const ErrorDetails& error) {
  return describe(error);
}

bool is_timeout(const ErrorDetails& error) {
  const auto* application = std::get_if<ApplicationError>(&error);
  return application && application->kind == ApplicationErrorKind::kTimedOut;
}

// Of the program that a child was given.
std::string path_in_input(const Payload& input) {
  return decode_assignment(input.value()).program.path;
}

std::string outcome_text(const GivenOutcome& outcome) {
  return (outcome.completed ? "it completed with " : "it failed with ") + outcome.text;
}

}  // namespace

void WorkloadCheck::check_histories(const std::string& instance) {
  if (damaged_.contains(instance)) return;
  for (const ExecutionId execution : client_.list_executions(instance)) {
    try {
      const std::vector<Event> history = client_.read_execution_history(instance, execution);
      check_history(instance, execution, history);
      check_cut_children(instance, execution, history);
    } catch (const std::exception& error) {
      add(instance, "a readable history of execution " + std::to_string(execution), error.what());
    }
  }
}

void WorkloadCheck::check_history(const std::string& instance, ExecutionId execution,
                                  const std::vector<Event>& history) {
  std::map<EventId, const events::ActivityScheduled*> activities;
  std::map<EventId, const events::SubOrchestrationScheduled*> children;
  std::optional<SemanticVersion> version;
  bool greeted = false;
  std::set<Payload> final_failures;
  for (const Event& event : history) {
    if (const auto* started = std::get_if<events::OrchestrationStarted>(&event.body)) {
      version = started->version;
    } else if (const auto* scheduled = std::get_if<events::ActivityScheduled>(&event.body)) {
      activities[event.id] = scheduled;
      greeted = greeted || scheduled->name == activity::kGreet;
      if (scheduled->name == activity::kFailsForGood && !final_failures.insert(scheduled->input).second) {
        add(instance, "no retry of a non-retryable failure", scheduled->input.value_or("nothing"));
      }
    } else if (const auto* completed = std::get_if<events::ActivityCompleted>(&event.body)) {
      check_activity({instance, execution, completed->source}, *activities.at(completed->source),
                     {true, completed->result.value_or("")}, false);
    } else if (const auto* failed = std::get_if<events::ActivityFailed>(&event.body)) {
      check_activity({instance, execution, failed->source}, *activities.at(failed->source),
                     {false, message_of(failed->error)}, is_timeout(failed->error));
    } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
      children[event.id] = child;
    } else if (const auto* gave = std::get_if<events::SubOrchestrationCompleted>(&event.body)) {
      check_child(instance, *children.at(gave->source), gave->result, std::nullopt);
    } else if (const auto* broke = std::get_if<events::SubOrchestrationFailed>(&event.body)) {
      check_child(instance, *children.at(broke->source), std::nullopt, broke->error);
    }
  }
  const bool is_second = version && version->to_string() == kSecondVersion;
  // Without a turn of its code there was no greeting either.
  if (greeted && !is_second) add(instance, "no greeting from version 1.0.0", "it has one in its history");
  if (is_second && !greeted && !activities.empty()) {
    add(instance, "a greeting from version 2.0.0", "none in execution " + std::to_string(execution));
  }
}

void WorkloadCheck::check_activity(const ActivityKey& key, const events::ActivityScheduled& scheduled,
                                   const GivenOutcome& recorded, bool timed_out) {
  if (scheduled.name.starts_with(kReservedPrefix)) return;
  const std::string activity = "activity " + scheduled.name + " (event " + std::to_string(key.id) + " of execution " +
                               std::to_string(key.execution) + ", told " + scheduled.input.value_or("nothing") + ")";
  if (timed_out) {
    // Only those that never end, or that nobody may start, have a timeout that can strike.
    const bool is_retired = scheduled.name == activity::kRetired;
    const bool has_no_node = scheduled.tag == std::string(kUnservedTag) || scheduled.name == kUnknown || is_retired;
    const bool never_starts = has_no_node && scheduled.timeouts.schedule_to_start;
    const bool never_ends = scheduled.name == activity::kNever && scheduled.timeouts != ActivityTimeouts{};
    if (!never_starts && !never_ends) add(key.instance, "that " + activity + " does not time out", recorded.text);
    return;
  }
  if (scheduled.name == kUnknown || scheduled.name == activity::kRetired) {
    if (recorded.completed || recorded.text.find("poison") == std::string::npos) {
      add(key.instance, "that " + activity + " ends as poison", outcome_text(recorded));
    } else if (scheduled.timeouts.schedule_to_start &&
               !fetched_in_vain_.contains({key.instance, key.execution, key.id})) {
      add(key.instance, "that " + activity + " times out", outcome_text(recorded));
    }
    return;
  }
  if (!ledger_.ran(key)) {
    add(key.instance, "that " + activity + " ran, since it has an outcome", "it did not: " + outcome_text(recorded));
  } else if (!ledger_.gave(key, recorded)) {
    add(key.instance, "an outcome of " + activity + " that its function gave", outcome_text(recorded));
  }
}

void WorkloadCheck::check_child(const std::string& parent, const events::SubOrchestrationScheduled& scheduled,
                                const std::optional<Payload>& result, const std::optional<ErrorDetails>& error) {
  const std::string path = path_in_input(scheduled.input);
  if (may_fail_.contains(path) || damaged_.contains(scheduled.instance)) return;
  check_origin(parent, path, result, error);
  // Another instance may have the id: it was freed, or this child never had it.
  if (!runs_program(scheduled.instance, path)) return;
  const OrchestrationStatus child = client_.get_orchestration_status(scheduled.instance);
  const std::string actual = std::string(to_string(child.state)) + " " + child.output.value_or("") + child.error_text();
  if (result && !(child.completed() && child.output == *result)) {
    add(scheduled.instance, "what its parent " + parent + " recorded: completed with " + result->value_or("nothing"),
        actual);
  }
  if (error && !(child.ended() && !child.completed() && child.error == *error)) {
    add(scheduled.instance, "what its parent " + parent + " recorded: failed with " + message_of(*error), actual);
  }
}

void WorkloadCheck::check_origin(const std::string& parent, const std::string& path,
                                 const std::optional<Payload>& result, const std::optional<ErrorDetails>& error) {
  const auto rule = rules_.find(path);
  if (rule == rules_.end()) return add(parent, "no child with the program " + path, "it scheduled one");
  if (result) {
    const auto origin = path_in_output(result->value_or(""));
    if (origin != path) add(parent, "the output of its child " + path, "that of " + origin.value_or("nobody"));
    return;
  }
  const std::string text = message_of(*error);
  const InstanceRule& child = rule->second;
  const bool is_own = child.ending == Ending::kFails && text.find(child.failure) != std::string::npos;
  const bool is_poison = (child.ending == Ending::kPoisons && std::holds_alternative<PoisonError>(*error)) ||
                         (may_be_poison_.contains(path) && is_of_one_in_vain(error));
  const bool is_refusal = child.id && child.may_be_missing && text.find(kTaken) != std::string::npos;
  const bool is_wish = child.may_be_terminated && text.find(kWish) != std::string::npos;
  const auto* application = std::get_if<ApplicationError>(&*error);
  const bool is_cancel = (child.may_be_cancelled || may_be_cut_.contains(path)) && application &&
                         application->kind == ApplicationErrorKind::kCancelled;
  const bool diverges = child.ending == Ending::kDiverges && is_nondeterminism(*error);
  if (!is_own && !is_poison && !diverges && !is_refusal && !is_wish && !is_cancel) {
    add(parent, "a failure of its child " + path, text);
  }
}

void WorkloadCheck::check_cut_children(const std::string& parent, ExecutionId execution,
                                       const std::vector<Event>& history) {
  const ExecutionInfo info = client_.get_execution_info(parent, execution);
  const bool is_cut = info.status == ExecutionStatus::kCancelled || info.status == ExecutionStatus::kTerminated;
  if (!is_cut || !info.completed_at) return;
  struct Child {
    std::string instance;
    std::string path;
  };
  std::map<EventId, Child> open;
  for (const Event& event : history) {
    if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
      open[event.id] = {child->instance, path_in_input(child->input)};
    } else if (const auto* gave = std::get_if<events::SubOrchestrationCompleted>(&event.body)) {
      open.erase(gave->source);
    } else if (const auto* broke = std::get_if<events::SubOrchestrationFailed>(&event.body)) {
      open.erase(broke->source);
    }
  }
  for (const auto& [id, child] : open) {
    if (!runs_program(child.instance, child.path) || damaged_.contains(child.instance)) continue;
    check_cut_child(parent, *info.completed_at, child.instance);
  }
}

// The next fetch brings the cancel, before anything that came later. A node that keeps the lock may take turns without
// one, but not for long.
void WorkloadCheck::check_cut_child(const std::string& parent, Timestamp cut, const std::string& child) {
  const ExecutionId last = client_.list_executions(child).back();
  const ExecutionInfo info = client_.get_execution_info(child, last);
  if (info.status == ExecutionStatus::kCancelled || may_fail_.contains(path_of(child))) return;
  const std::vector<Event> history = client_.read_execution_history(child, last);
  if (history.empty() || history.back().time <= cut + kNoticedAfter) return;
  add(child, "that it was cancelled together with its parent " + parent,
      "it went on, to " + std::string(kind_name(history.back().body)));
}

}  // namespace perdure::testing::simulation
