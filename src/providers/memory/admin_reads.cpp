#include "providers/memory/admin_reads.h"

#include <charconv>
#include <iterator>
#include <string_view>
#include <system_error>

#include "providers/memory/deletion.h"
#include "providers/memory/instance_filter.h"

namespace perdure::memory {

namespace {

constexpr std::string_view kCursorPrefix = "age:";

// A cursor is the age of the last row of its page: whatever is inserted or deleted, older rows are what comes next.
std::string cursor_at(Age age) {
  return std::string(kCursorPrefix) + std::to_string(age);
}

std::optional<Age> age_of(const std::string& cursor, Age last_age) {
  if (!cursor.starts_with(kCursorPrefix)) return std::nullopt;
  Age age = 0;
  std::from_chars(cursor.data() + kCursorPrefix.size(), cursor.data() + cursor.size(), age);
  if (age == 0 || age > last_age || cursor != cursor_at(age)) return std::nullopt;
  return age;
}

InstanceInfo info_of(const KeyRow& row) {
  const Instance& instance = *row.instance;
  const Execution& current = instance.current();
  return {.id = row.id,
          .name = instance.name,
          .version = instance.version,
          .execution_id = instance.current_id(),
          .status = current.status,
          .output = current.output,
          .parent = instance.parent,
          .pinned_version = current.pinned_version,
          .created_at = instance.created_at,
          .updated_at = instance.updated_at,
          .completed_at = current.completed_at};
}

const KeyRow* find_instance(const Store& store, const std::string& id) {
  const KeyRow* const row = store.keys.find(id);
  return row != nullptr && row->instance ? row : nullptr;
}

void count_instance(SystemMetrics& metrics, const Instance& instance) {
  ++metrics.instances;
  metrics.executions += instance.executions.size();
  for (const auto& [id, execution] : instance.executions) metrics.events += execution.events.size();
  switch (instance.current().status) {
    case ExecutionStatus::kRunning:
    case ExecutionStatus::kContinuedAsNew:
      ++metrics.running;
      break;
    case ExecutionStatus::kCompleted:
      ++metrics.completed;
      break;
    case ExecutionStatus::kFailed:
      ++metrics.failed;
      break;
    case ExecutionStatus::kCancelled:
      ++metrics.failed, ++metrics.cancelled;
      break;
    case ExecutionStatus::kTerminated:
      ++metrics.failed, ++metrics.terminated;
      break;
  }
}

}  // namespace

ProviderError instance_not_found(const std::string& instance) {
  return {ProviderErrorKind::kNotFound, "instance '" + instance + "' does not exist; list_instances shows what does"};
}

ProviderError execution_not_found(const std::string& instance, ExecutionId execution) {
  return {ProviderErrorKind::kNotFound, "instance '" + instance + "' has no execution " + std::to_string(execution) +
                                            "; list_executions shows what it has"};
}

ProviderResult<InstancePage> list_instances(const Store& store, const InstanceQuery& query) {
  if (query.limit == 0) return invalid_argument("a page of 0 instances; set InstanceQuery::limit to 1 or more");
  const auto& rows = store.keys.rows();
  auto end = rows.end();
  if (!query.cursor.empty()) {
    const std::optional<Age> age = age_of(query.cursor, store.keys.last_age());
    if (!age) return invalid_argument("'" + query.cursor + "' is no cursor of this store; pass InstancePage::next");
    end = rows.lower_bound(*age);
  }
  const InstanceMatcher matches(query.filter);
  InstancePage page;
  Age last = 0;
  for (auto row = std::make_reverse_iterator(end); row != rows.rend(); ++row) {
    if (!matches(row->second)) continue;
    if (page.instances.size() == query.limit) {
      page.next = cursor_at(last);
      break;
    }
    page.instances.push_back(info_of(row->second));
    last = row->first;
  }
  return page;
}

std::vector<ExecutionId> list_executions(const Store& store, const std::string& instance) {
  std::vector<ExecutionId> ids;
  if (const KeyRow* const row = find_instance(store, instance)) {
    for (const auto& [id, execution] : row->instance->executions) ids.push_back(id);
  }
  return ids;
}

ProviderResult<InstanceInfo> instance_info(const Store& store, const std::string& instance) {
  const KeyRow* const row = find_instance(store, instance);
  if (row == nullptr) return instance_not_found(instance);
  return info_of(*row);
}

ProviderResult<ExecutionInfo> execution_info(const Store& store, const std::string& instance, ExecutionId execution) {
  const KeyRow* const row = find_instance(store, instance);
  if (row == nullptr) return instance_not_found(instance);
  const auto found = row->instance->executions.find(execution);
  if (found == row->instance->executions.end()) return execution_not_found(instance, execution);
  const Execution& stored = found->second;
  return ExecutionInfo{.execution_id = execution,
                       .status = stored.status,
                       .output = stored.output,
                       .pinned_version = stored.pinned_version,
                       .started_at = stored.started_at,
                       .completed_at = stored.completed_at,
                       .events = stored.events.size()};
}

std::vector<EventRecord> read_history(const Store& store, const std::string& instance,
                                      std::optional<ExecutionId> execution, EventId after) {
  const KeyRow* const row = find_instance(store, instance);
  if (row == nullptr) return {};
  const auto found = row->instance->executions.find(execution.value_or(row->instance->current_id()));
  if (found == row->instance->executions.end()) return {};
  return found->second.events_after(after);
}

ProviderResult<InstanceTree> instance_tree(const Store& store, const std::string& instance) {
  const KeyRow* const root = find_instance(store, instance);
  if (root == nullptr) return instance_not_found(instance);
  InstanceTree tree{.root = instance, .ids = {}};
  for (const KeyRow* const row : tree_of(store, *root)) tree.ids.push_back(row->id);
  return tree;
}

SystemMetrics system_metrics(const Store& store) {
  SystemMetrics metrics;
  for (const auto& [age, row] : store.keys.rows()) {
    if (row.instance) count_instance(metrics, *row.instance);
  }
  return metrics;
}

QueueDepths queue_depths(const Store& store, Timestamp now) {
  QueueDepths depths;
  for (const auto& [age, row] : store.keys.rows()) {
    for (const auto& [id, message] : row.mailbox.messages()) {
      ++(message.visible_at > now ? depths.delayed_messages : depths.messages);
    }
  }
  for (const auto& [position, activity] : store.activities.rows()) {
    if (is_locked(activity.lock, now)) {
      ++depths.locked_activities;
    } else {
      ++(activity.visible_at > now ? depths.delayed_activities : depths.activities);
    }
  }
  return depths;
}

}  // namespace perdure::memory
