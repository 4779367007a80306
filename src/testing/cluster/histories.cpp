#include "testing/cluster/histories.h"

#include <stdexcept>
#include <variant>

#include <perdure/provider_admin.h>
#include "model/event_codec.h"
#include "model/field_codec.h"
#include "testing/simulation/end_checks.h"

namespace perdure::testing::cluster {

namespace {

template <class T>
T take(ProviderResult<T> answer) {
  if (!answer) throw std::runtime_error("the store does not respond: " + answer.error().to_string());
  return std::move(answer).value();
}

constexpr std::size_t kKnownKinds = std::variant_size_v<EventBody>;

Event decode(const EventRecord& record) {
  if (record.event_id != kFirstEventId || record.kind <= kKnownKinds) return decode_event(record);
  return {.id = record.event_id,
          .turn = record.turn,
          .time = record.time,
          .engine_version = detail::FieldReader(record.body).header(),
          .body = events::OrchestrationStarted{}};
}

StoredExecution read_execution(ProviderAdmin& admin, const std::string& instance, ExecutionId execution) {
  StoredExecution read{.instance = instance,
                       .execution = execution,
                       .pinned_version = take(admin.execution_info(instance, execution)).pinned_version,
                       .events = {},
                       .begins_with_unknown_kind = false};
  const std::vector<EventRecord> records = take(admin.read_history(instance, execution));
  if (!records.empty()) read.begins_with_unknown_kind = records.front().kind > kKnownKinds;
  read.events.reserve(records.size());
  for (const EventRecord& record : records) read.events.push_back(decode(record));
  return read;
}

// The activity whose outcome, good or bad, this tells.
std::optional<EventId> activity_that_ran(const EventBody& body) {
  if (const auto* completed = std::get_if<events::ActivityCompleted>(&body)) return completed->source;
  const auto* failed = std::get_if<events::ActivityFailed>(&body);
  const auto* error = failed == nullptr ? nullptr : std::get_if<ApplicationError>(&failed->error);
  const bool ran = error != nullptr && error->kind == ApplicationErrorKind::kActivityFailed;
  return ran ? std::optional(failed->source) : std::nullopt;
}

std::string named(const StoredExecution& execution) {
  return "'" + execution.instance + "', execution " + std::to_string(execution.execution);
}

}  // namespace

std::vector<StoredExecution> read_executions(Provider& store) {
  std::vector<StoredExecution> executions;
  ProviderAdmin& admin = *store.admin();
  InstanceQuery query;
  query.limit = 1'000;
  do {
    const InstancePage page = take(admin.list_instances(query));
    for (const InstanceInfo& info : page.instances) {
      for (const ExecutionId execution : take(admin.list_executions(info.id))) {
        executions.push_back(read_execution(admin, info.id, execution));
      }
    }
    query.cursor = page.next;
  } while (!query.cursor.empty());
  return executions;
}

RecordedSteps steps_of(const std::vector<StoredExecution>& executions) {
  RecordedSteps steps;
  std::vector<Step> without_next;  // steps of an instance that have an outcome; nothing was scheduled since
  for (const StoredExecution& execution : executions) {
    if (execution.execution == kFirstExecutionId) without_next.clear();
    for (const Event& event : execution.events) {
      if (std::holds_alternative<events::ActivityScheduled>(event.body)) {
        const Step step{execution.instance, execution.execution, event.id};
        steps.scheduled.insert(step);
        for (Step& before : without_next) steps.next.emplace(std::move(before), step);
        without_next.clear();
      } else if (const std::optional<EventId> activity = activity_that_ran(event.body)) {
        steps.completed.insert({execution.instance, execution.execution, *activity});
        without_next.push_back({execution.instance, execution.execution, *activity});
      }
    }
  }
  return steps;
}

std::vector<std::string> check_executions(const std::vector<StoredExecution>& executions) {
  std::vector<std::string> problems;
  for (const StoredExecution& execution : executions) {
    for (const std::string& rule : simulation::broken_rules(execution.events)) {
      problems.push_back(named(execution) + ": " + rule);
    }
  }
  return problems;
}

}  // namespace perdure::testing::cluster
