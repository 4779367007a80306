#include "providers/memory/admin_reads.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "providers/cursors.h"
#include "providers/memory/deletion.h"
#include "providers/memory/instance_filter.h"
#include "providers/store_errors.h"

namespace perdure::memory {

namespace {

// The lists, as their cursors name them. A place in them is an age, a position or an id, which nothing moves.
constexpr std::string_view kInstances = "instances";
constexpr std::string_view kActivities = "activities";
constexpr std::string_view kStarts = "starts";

InstanceInfo info_of(const KeyRow& row) {
  const Instance& instance = *row.instance;
  const Execution& current = instance.current();
  return {.id = row.id,
          .name = instance.name,
          .version = instance.version,
          .execution_id = instance.current_id(),
          .status = current.status,
          .output = current.output,
          .parent = instance.parent ? std::optional(instance.parent->instance) : std::nullopt,
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

QueuedActivity queued(const Activity& activity, Timestamp now) {
  const MessageRecord& record = activity.record;
  return {.instance = record.instance,
          .execution = *record.execution,
          .activity_id = record.activity_id,
          .name = record.name,
          .session = record.session,
          .tag = record.tag,
          .scheduled_at = activity.scheduled_at,
          .ready_at = activity.ready_at(),
          .locked = is_locked(activity.lock, now),
          .attempts = activity.attempts,
          .heartbeat_details = activity.heartbeat_details};
}

}  // namespace

ProviderError instance_not_found(const std::string& instance) {
  return no_such_instance(instance);
}

ProviderError execution_not_found(const std::string& instance, ExecutionId execution) {
  return no_such_execution(instance, execution);
}

ProviderResult<InstancePage> list_instances(const Store& store, const InstanceQuery& query) {
  const ProviderResult<std::uint64_t> younger = place_before_page(kInstances, query.limit, query.cursor);
  if (!younger) return younger.error();
  if (*younger > store.keys.last_age()) return bad_cursor(kInstances, query.cursor);
  const auto& rows = store.keys.rows();
  const auto end = *younger == 0 ? rows.end() : rows.lower_bound(*younger);
  const InstanceMatcher matches(query.filter);
  InstancePage page;
  Age last = 0;
  for (auto row = std::make_reverse_iterator(end); row != rows.rend(); ++row) {
    if (!matches(row->second)) continue;
    if (page.instances.size() == query.limit) {
      page.next = cursor_behind(kInstances, last);
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

ProviderResult<ActivityPage> list_activities(const Store& store, const ActivityQuery& query, Timestamp now) {
  const ProviderResult<std::uint64_t> before = place_before_page(kActivities, query.limit, query.cursor);
  if (!before) return before.error();
  const auto& rows = store.activities.rows();
  ActivityPage page;
  Position last = 0;
  for (auto row = rows.upper_bound(*before); row != rows.end(); ++row) {
    const Activity& activity = row->second;
    if (query.instance && activity.record.instance != *query.instance) continue;
    if (page.activities.size() == query.limit) {
      page.next = cursor_behind(kActivities, last);
      break;
    }
    page.activities.push_back(queued(activity, now));
    last = activity.position;
  }
  return page;
}

InstanceQueue instance_queue(const Store& store, const std::string& instance, Timestamp now) {
  const KeyRow* row = store.keys.find(instance);
  if (row == nullptr) return {};
  const auto& messages = row->mailbox.messages();
  const auto is_visible = [now](const auto& entry) { return entry.second.visible_at <= now; };
  return {.messages = messages.size(),
          .visible_messages = static_cast<std::uint64_t>(std::count_if(messages.begin(), messages.end(), is_visible)),
          .first_message_at = row->mailbox.first_visible_at(),
          .ready_at = row->places.ready};
}

ProviderResult<StartPage> list_queued_starts(const Store& store, const StartQuery& query) {
  const ProviderResult<std::string> before = id_before_page(kStarts, query.limit, query.cursor);
  if (!before) return before.error();
  const auto& ages = store.keys.ages();
  StartPage page;
  for (auto next = ages.upper_bound(*before); next != ages.end(); ++next) {
    const KeyRow& row = store.keys.row(next->second);
    const Message* const start = row.instance ? nullptr : row.mailbox.first_of(MessageKind::kStartOrchestration);
    if (start == nullptr) continue;
    if (page.starts.size() == query.limit) {
      page.next = cursor_behind(kStarts, page.starts.back().instance);
      break;
    }
    page.starts.push_back({.instance = row.id,
                           .name = start->record.name,
                           .body_head = start->record.body.substr(0, QueuedStart::kHeadBytes)});
  }
  return page;
}

std::vector<KeyValue> read_key_value_snapshot(const Store& store, const std::string& instance) {
  const KeyRow* const row = find_instance(store, instance);
  return row == nullptr ? std::vector<KeyValue>() : row->instance->key_values.snapshot();
}

}  // namespace perdure::memory
