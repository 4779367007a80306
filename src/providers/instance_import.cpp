#include "providers/instance_import.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "model/name_rule.h"
#include "model/time_range.h"
#include "model/utf8.h"
#include "providers/commit_rules.h"

namespace perdure {

namespace {

constexpr const char* kOtherTime = "has a time outside 1970 to 9999; correct it in the file";

// Stores keep them signed.
bool is_too_large(std::uint64_t number) {
  return number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

std::optional<std::string> fault_of(const ExecutionCopy& execution, bool is_last) {
  const ExecutionInfo& info = execution.info;
  const std::string which = "execution " + std::to_string(info.execution_id) + " ";
  const bool has_large_turn = std::any_of(execution.history.begin(), execution.history.end(),
                                          [](const EventRecord& event) { return is_too_large(event.turn); });
  if (is_too_large(info.execution_id) || is_too_large(execution.carried_forward) || has_large_turn) {
    return which + "has a number that no store writes";
  }
  const bool has_other_time = std::any_of(execution.history.begin(), execution.history.end(),
                                          [](const EventRecord& event) { return !is_within_range(event.time); });
  if (has_other_time || !is_within_range(info.started_at) || !is_within_range(info.completed_at.value_or(kFirstTime))) {
    return which + kOtherTime;
  }
  const bool goes_on = info.status == ExecutionStatus::kRunning || info.status == ExecutionStatus::kContinuedAsNew;
  if (is_last && goes_on) return which + "has not ended; only ended instances can be copied";
  if (info.status == ExecutionStatus::kRunning) return which + "runs, although a later one has begun";
  if (!info.completed_at) return which + "has ended, but at no time";
  if (info.events != execution.history.size()) {
    return which + "should have " + std::to_string(info.events) + " events, but has " +
           std::to_string(execution.history.size());
  }
  return std::nullopt;
}

std::optional<std::string> fault_of(const InstanceCopy& instance) {
  if (auto problem = problem_with_name("an instance id", instance.info.id)) return problem;
  if (auto problem = problem_with_name("an orchestration's name", instance.info.name)) return problem;
  if (const auto& parent = instance.info.parent) {
    if (auto problem = problem_with_name("a parent's instance id", *parent)) return problem;
  }
  if (is_too_large(instance.custom_status.version)) return "its custom status has a version that no store writes";
  if (!is_within_range(instance.info.created_at) || !is_within_range(instance.info.updated_at)) {
    return std::string("it ") + kOtherTime;
  }
  if (instance.executions.empty()) return "it has no execution";
  ExecutionId before = 0;
  for (const ExecutionCopy& execution : instance.executions) {
    const ExecutionId id = execution.info.execution_id;
    if (id <= before) return "execution " + std::to_string(id) + " follows execution " + std::to_string(before);
    before = id;
    if (auto fault = fault_of(execution, &execution == &instance.executions.back())) return fault;
    if (const auto error = check_event_ids(instance.info.id, execution.history, 0)) return error->message();
  }
  const ExecutionInfo& last = instance.executions.back().info;
  if (instance.info.execution_id != last.execution_id || instance.info.status != last.status ||
      instance.info.output != last.output || instance.info.completed_at != last.completed_at ||
      instance.info.pinned_version != last.pinned_version) {
    return "it is not what its last execution says";
  }
  std::optional<std::string_view> key_before;
  for (const KeyValue& value : instance.key_values) {
    if (key_before && value.key <= *key_before) return "its value '" + value.key + "' is not in order";
    key_before = value.key;
    if (!is_within_range(value.updated_at)) return "its value '" + value.key + "' " + kOtherTime;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProviderError> check_import(std::span<const InstanceCopy> instances) {
  constexpr std::size_t kShownBytes = 100;
  std::set<std::string_view> ids;
  for (const InstanceCopy& instance : instances) {
    std::optional<std::string> fault = fault_of(instance);
    if (!fault && !ids.insert(instance.info.id).second) fault = "it is there twice";
    if (fault) {
      return ProviderError{
          ProviderErrorKind::kInvalidArgument,
          "instance '" + detail::printable(instance.info.id, kShownBytes) + "' cannot be imported: " + *fault};
    }
  }
  return std::nullopt;
}

std::size_t turn_length(std::span<const EventRecord> history, std::size_t first) noexcept {
  std::size_t end = first;
  while (end < history.size() && history[end].turn == history[first].turn) ++end;
  return end - first;
}

}  // namespace perdure
