#include "providers/record_bytes.h"

#include <optional>
#include <string>
#include <variant>

namespace perdure {

namespace {

std::size_t length_of(const std::optional<std::string>& value) {
  return value ? value->size() : 0;
}

std::size_t bytes_of_all(const std::vector<MessageRecord>& messages) {
  std::size_t bytes = 0;
  for (const MessageRecord& message : messages) bytes += bytes_of(message);
  return bytes;
}

}  // namespace

std::size_t bytes_of(const MessageRecord& message) {
  return message.body.size();
}

std::size_t bytes_of(std::span<const EventRecord> events) {
  std::size_t bytes = 0;
  for (const EventRecord& event : events) bytes += event.body.size();
  return bytes;
}

std::size_t bytes_of(const TurnCommit& commit) {
  std::size_t bytes = bytes_of_all(commit.activities) + bytes_of_all(commit.messages) + bytes_of(commit.events);
  for (const KeyValueMutation& mutation : commit.key_values) {
    if (const auto* set = std::get_if<SetKeyValue>(&mutation)) bytes += set->value.size();
  }
  if (commit.status) bytes += length_of(commit.status->output);
  if (commit.custom_status) bytes += length_of(commit.custom_status->value);
  return bytes;
}

std::size_t bytes_of(const WorkAck& ack) {
  return ack.completion ? bytes_of(*ack.completion) : 0;
}

std::size_t bytes_of(const Heartbeat& heartbeat) {
  return length_of(heartbeat.details);
}

std::size_t bytes_of(std::span<const InstanceCopy> instances) {
  std::size_t bytes = 0;
  for (const InstanceCopy& instance : instances) {
    for (const ExecutionCopy& execution : instance.executions) {
      bytes += bytes_of(execution.history) + length_of(execution.info.output);
    }
    for (const KeyValue& value : instance.key_values) bytes += value.value.size();
    bytes += length_of(instance.custom_status.value);
  }
  return bytes;
}

}  // namespace perdure
