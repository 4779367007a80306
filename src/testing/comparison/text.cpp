#include "testing/comparison/text.h"

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

namespace perdure::testing::comparison {

std::string text_of(const std::string& bytes) {
  constexpr std::size_t kLongest = 40;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "'";
  for (const char c : std::string_view(bytes).substr(0, kLongest)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7F) {
      text += c;
      continue;
    }
    text += {'\\', kDigits[code >> 4U], kDigits[code & 15U]};
  }
  text += '\'';
  if (bytes.size() <= kLongest) return text;
  std::uint64_t checksum = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : bytes) checksum = (checksum ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return text + "...(" + std::to_string(bytes.size()) + " bytes, " + std::to_string(checksum) + ")";
}

std::string text_of(Timestamp time) {
  return "@" + std::to_string(time.time_since_epoch().count());
}

std::string text_of(Milliseconds time) {
  return std::to_string(time.count()) + "ms";
}

std::string text_of(const SemanticVersion& version) {
  return version.to_string();
}

std::string text_of(const VersionRange& range) {
  return range.to_string();
}

std::string text_of(const ProviderError& error) {
  return "error: " + std::string(to_string(error.kind()));
}

// ---- Arguments ----

std::string text_of(const LockToken& token) {
  return "token " + text_of(token.value);
}

std::string text_of(const CapabilityFilter& filter) {
  return Fields("filter")
      .add("engine versions", filter.engine_versions)
      .add("orchestrations", filter.orchestrations)
      .add("activities", filter.activities)
      .text();
}

std::string text_of(const TagFilter& filter) {
  return Fields("tags")
      .add("any", filter.takes_any())
      .add("untagged", filter.takes_untagged())
      .add("listed", filter.listed())
      .text();
}

std::string text_of(const SuspectRule& rule) {
  return Fields("suspects").add("from", rule.from_attempts).add("admit", rule.admit).text();
}

std::string text_of(const SessionFetch& session) {
  return Fields("session")
      .add("owner", session.owner)
      .add("lock", session.lock_timeout)
      .add("most", session.max_sessions)
      .text();
}

std::string text_of(const OrchestrationFetch& fetch) {
  return Fields("fetch")
      .add("limit", fetch.limit)
      .add("lock", fetch.lock_timeout)
      .add("owner", fetch.owner)
      .add("filter", fetch.filter)
      .add("suspects", fetch.suspects)
      .add("history", fetch.with_history)
      .add("max messages", fetch.max_messages)
      .add("max bytes", fetch.max_bytes)
      .text();
}

std::string text_of(const WorkFetch& fetch) {
  return Fields("fetch")
      .add("limit", fetch.limit)
      .add("lock", fetch.lock_timeout)
      .add("tags", fetch.tags)
      .add("session", fetch.session)
      .add("filter", fetch.filter)
      .add("suspects", fetch.suspects)
      .text();
}

std::string text_of(const ParentLink& link) {
  return Fields("link")
      .add("of", link.instance)
      .add("execution", link.execution_id)
      .add("schedule", link.schedule_id)
      .add("incarnation", link.incarnation)
      .text();
}

std::string text_of(const StartedMetadata& started) {
  return Fields("started")
      .add("name", started.name)
      .add("version", started.version)
      .add("parent", started.parent)
      .add("pin", started.pinned_version)
      .add("carry", started.carry_forward)
      .text();
}

std::string text_of(const KeyValueMutation& mutation) {
  if (const auto* set = std::get_if<SetKeyValue>(&mutation)) {
    return Fields("set").add("key", set->key).add("value", set->value).add("at", set->updated_at).text();
  }
  if (const auto* clear = std::get_if<ClearKeyValue>(&mutation)) return Fields("clear").add("key", clear->key).text();
  return "clear all";
}

std::string text_of(const TurnCommit& commit) {
  Fields fields("turn");
  fields.add("token", commit.token)
      .add("commit", commit.commit_id)
      .add("execution", commit.execution_id)
      .add("consumed", commit.consumed)
      .add("events", commit.events)
      .add("started", commit.started);
  if (commit.status) fields.add("status", commit.status->status).add("output", commit.status->output);
  if (commit.custom_status) fields.add("custom status", commit.custom_status->value);
  return fields.add("key-values", commit.key_values)
      .add("activities", commit.activities)
      .add("messages", commit.messages)
      .add("cancelled", commit.cancelled_activities)
      .add("completed work", commit.completed_work)
      .add("claim", commit.claim)
      .add("keep", commit.keep_lock)
      .add("owner", commit.owner)
      .text();
}

std::string text_of(const Abandon& abandon) {
  return Fields("abandon")
      .add("token", abandon.token)
      .add("delay", abandon.delay)
      .add("ignore attempt", abandon.ignore_attempt)
      .add("has begun", abandon.has_begun)
      .text();
}

std::string text_of(const WorkAck& ack) {
  return Fields("ack").add("token", ack.token).add("completion", ack.completion).text();
}

std::string text_of(const Heartbeat& heartbeat) {
  return Fields("heartbeat")
      .add("token", heartbeat.token)
      .add("details", heartbeat.details)
      .add("extend", heartbeat.extend_for)
      .text();
}

std::string text_of(const WorkWait& wait) {
  return Fields("wait")
      .add("orchestrations", wait.orchestrations)
      .add("activities", wait.activities)
      .add("held", wait.held)
      .text();
}

std::string text_of(const InstanceChange& change) {
  return Fields("change")
      .add("ended", change.ended)
      .add("custom status after", change.custom_status_after)
      .add("key", change.key_value)
      .add("other incarnation than", change.incarnation_other_than)
      .text();
}

std::string text_of(const InstanceFilter& filter) {
  return Fields("filter")
      .add("statuses", filter.statuses)
      .add("exact", filter.exact_statuses)
      .add("ids", filter.ids)
      .add("name", filter.name)
      .add("version", filter.version)
      .add("created from", filter.created_from)
      .add("created before", filter.created_before)
      .add("completed before", filter.completed_before)
      .text();
}

std::string text_of(const PruneOptions& options) {
  return Fields("prune").add("keep", options.keep_last).add("completed before", options.completed_before).text();
}

// ---- Answers, and what is both ----

std::string text_of(const EventRecord& event) {
  return Fields("event")
      .add("id", event.event_id)
      .add("kind", event.kind)
      .add("turn", event.turn)
      .add("time", event.time)
      .add("body", event.body)
      .text();
}

std::string text_of(const MessageRecord& message) {
  return Fields("message")
      .add("kind", message.kind)
      .add("for", message.instance)
      .add("execution", message.execution)
      .add("activity", message.activity_id)
      .add("name", message.name)
      .add("parent", message.parent)
      .add("visible", message.visible_at)
      .add("session", message.session)
      .add("tag", message.tag)
      .add("start to close", message.timeouts.start_to_close)
      .add("schedule to start", message.timeouts.schedule_to_start)
      .add("heartbeat", message.timeouts.heartbeat)
      .add("must exist", message.must_exist)
      .add("body", message.body)
      .text();
}

std::string text_of(const QueuedMessage& message) {
  return text_of(message.record);  // its number is the store's own
}

std::string text_of(const KeyValue& value) {
  return Fields("value").add("key", value.key).add("value", value.value).add("at", value.updated_at).text();
}

std::string text_of(const InstanceMetadata& metadata) {
  return Fields("metadata")
      .add("name", metadata.name)
      .add("version", metadata.version)
      .add("parent", metadata.parent)
      .add("status", metadata.status)
      .add("pin", metadata.pinned_version)
      .text();
}

std::string text_of(const StoredHistory& history) {
  return Fields("history")
      .add("damaged", history.error.has_value())
      .add("events", history.events)
      .add("key-values", history.key_values)
      .text();
}

std::string text_of(const OrchestrationItem& item) {
  return Fields("instance")
      .add("id", item.instance)
      .add("locked until", item.locked_until)
      .add("attempt", item.attempt_count)
      .add("metadata", item.metadata)
      .add("incarnation", item.incarnation)
      .add("execution", item.execution_id)
      .add("last event", item.last_event_id)
      .add("messages", item.messages)
      .add("end requests", item.end_requests)
      .add("history", item.history)
      .add("continuation missing", item.continuation_missing)
      .text();
}

std::string text_of(const OrchestrationBatch& batch) {
  return Fields("batch").add("now", batch.now).add("items", batch.items).text();
}

std::string text_of(const WorkItem& item) {
  return Fields("activity")
      .add("locked until", item.locked_until)
      .add("attempt", item.attempt_count)
      .add("expired", item.expired)
      .add("heartbeat", item.heartbeat_details)
      .add("scheduled", item.scheduled_at)
      .add("record", item.record)
      .text();
}

std::string text_of(const WorkBatch& batch) {
  return Fields("batch").add("now", batch.now).add("items", batch.items).text();
}

std::string text_of(const ClaimedActivity& claimed) {
  return Fields("claimed").add("index", claimed.index).add("locked until", claimed.locked_until).text();
}

std::string text_of(const CommitAnswer& answer) {
  return Fields("committed")
      .add("now", answer.now)
      .add("repeated", answer.repeated)
      .add("claimed", answer.claimed)
      .add("locked until", answer.locked_until)
      .add("more", answer.more_messages)
      .text();
}

std::string text_of(const InstanceStatus& status) {
  return Fields("status")
      .add("pending", status.pending)
      .add("name", status.name)
      .add("version", status.version)
      .add("execution", status.execution_id)
      .add("status", status.status)
      .add("output", status.output)
      .add("custom", status.custom_status)
      .add("custom version", status.custom_status_version)
      .add("incarnation", status.incarnation)
      .text();
}

std::string text_of(const CustomStatus& status) {
  return Fields("custom status").add("value", status.value).add("version", status.version).text();
}

std::string text_of(const InstanceStats& stats) {
  return Fields("stats")
      .add("events", stats.history_events)
      .add("bytes", stats.history_bytes)
      .add("carried", stats.carried_forward)
      .add("keys", stats.key_values)
      .add("value bytes", stats.key_value_bytes)
      .text();
}

std::string text_of(const OrchestrationVersion& code) {
  return Fields("code").add("name", code.name).add("version", code.version).text();
}

std::string text_of(const NodeInfo& node) {
  return Fields("node")
      .add("id", node.id)
      .add("engine", node.engine_version)
      .add("filter", node.filter)
      .add("tags", node.tags)
      .add("orchestrations", node.orchestrations)
      .add("activities", node.activities)
      .add("registered", node.registered_at)
      .text();
}

}  // namespace perdure::testing::comparison
