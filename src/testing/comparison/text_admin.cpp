// What operators ask and are told, as text.
#include "testing/comparison/text.h"

namespace perdure::testing::comparison {

std::string text_of(const InstanceInfo& info) {
  return Fields("instance")
      .add("id", info.id)
      .add("name", info.name)
      .add("version", info.version)
      .add("execution", info.execution_id)
      .add("status", info.status)
      .add("output", info.output)
      .add("parent", info.parent)
      .add("pin", info.pinned_version)
      .add("created", info.created_at)
      .add("updated", info.updated_at)
      .add("completed", info.completed_at)
      .text();
}

std::string text_of(const ExecutionInfo& info) {
  return Fields("execution")
      .add("id", info.execution_id)
      .add("status", info.status)
      .add("output", info.output)
      .add("pin", info.pinned_version)
      .add("started", info.started_at)
      .add("completed", info.completed_at)
      .add("events", info.events)
      .text();
}

std::string text_of(const InstancePage& page) {
  return Fields("page").add("instances", page.instances).add("more", !page.next.empty()).text();
}

std::string text_of(const SystemMetrics& metrics) {
  return Fields("metrics")
      .add("instances", metrics.instances)
      .add("executions", metrics.executions)
      .add("events", metrics.events)
      .add("running", metrics.running)
      .add("completed", metrics.completed)
      .add("failed", metrics.failed)
      .add("cancelled", metrics.cancelled)
      .add("terminated", metrics.terminated)
      .text();
}

std::string text_of(const QueueDepths& depths) {
  return Fields("queues")
      .add("messages", depths.messages)
      .add("delayed", depths.delayed_messages)
      .add("activities", depths.activities)
      .add("locked", depths.locked_activities)
      .add("delayed activities", depths.delayed_activities)
      .text();
}

std::string text_of(const InstanceQueue& queue) {
  return Fields("queue")
      .add("messages", queue.messages)
      .add("visible", queue.visible_messages)
      .add("first", queue.first_message_at)
      .add("ready", queue.ready_at)
      .text();
}

std::string text_of(const QueuedActivity& activity) {
  return Fields("queued")
      .add("of", activity.instance)
      .add("execution", activity.execution)
      .add("id", activity.activity_id)
      .add("name", activity.name)
      .add("session", activity.session)
      .add("tag", activity.tag)
      .add("scheduled", activity.scheduled_at)
      .add("ready", activity.ready_at)
      .add("locked", activity.locked)
      .add("attempts", activity.attempts)
      .add("heartbeat", activity.heartbeat_details)
      .text();
}

std::string text_of(const ActivityPage& page) {
  return Fields("page").add("activities", page.activities).add("more", !page.next.empty()).text();
}

std::string text_of(const QueuedStart& start) {
  return Fields("start").add("of", start.instance).add("name", start.name).add("head", start.body_head).text();
}

std::string text_of(const StartPage& page) {
  return Fields("page").add("starts", page.starts).add("more", !page.next.empty()).text();
}

std::string text_of(const DeleteResult& result) {
  return Fields("deleted")
      .add("instances", result.instances)
      .add("executions", result.executions)
      .add("events", result.events)
      .add("messages", result.messages)
      .text();
}

std::string text_of(const PruneResult& result) {
  return Fields("pruned")
      .add("instances", result.instances)
      .add("executions", result.executions)
      .add("events", result.events)
      .text();
}

}  // namespace perdure::testing::comparison
