// Arguments and answers as text that leaves out what two stores may do differently: equal texts are equal answers.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>

namespace perdure::testing::comparison {

[[nodiscard]] std::string text_of(const std::string& bytes);  // in full or, if long, as size and checksum
[[nodiscard]] std::string text_of(Timestamp time);
[[nodiscard]] std::string text_of(Milliseconds time);
[[nodiscard]] std::string text_of(const SemanticVersion& version);
[[nodiscard]] std::string text_of(const VersionRange& range);
[[nodiscard]] std::string text_of(const ProviderError& error);  // its kind

// ---- Arguments ----

[[nodiscard]] std::string text_of(const LockToken& token);
[[nodiscard]] std::string text_of(const CapabilityFilter& filter);
[[nodiscard]] std::string text_of(const TagFilter& filter);
[[nodiscard]] std::string text_of(const SuspectRule& rule);
[[nodiscard]] std::string text_of(const SessionFetch& session);
[[nodiscard]] std::string text_of(const OrchestrationFetch& fetch);
[[nodiscard]] std::string text_of(const WorkFetch& fetch);
[[nodiscard]] std::string text_of(const ParentLink& link);
[[nodiscard]] std::string text_of(const StartedMetadata& started);
[[nodiscard]] std::string text_of(const KeyValueMutation& mutation);
[[nodiscard]] std::string text_of(const TurnCommit& commit);
[[nodiscard]] std::string text_of(const Abandon& abandon);
[[nodiscard]] std::string text_of(const WorkAck& ack);
[[nodiscard]] std::string text_of(const Heartbeat& heartbeat);
[[nodiscard]] std::string text_of(const WorkWait& wait);
[[nodiscard]] std::string text_of(const InstanceChange& change);
[[nodiscard]] std::string text_of(const InstanceFilter& filter);
[[nodiscard]] std::string text_of(const PruneOptions& options);

// ---- Answers, and what is both ----

[[nodiscard]] std::string text_of(const EventRecord& event);
[[nodiscard]] std::string text_of(const MessageRecord& message);
[[nodiscard]] std::string text_of(const QueuedMessage& message);
[[nodiscard]] std::string text_of(const KeyValue& value);
[[nodiscard]] std::string text_of(const InstanceMetadata& metadata);
[[nodiscard]] std::string text_of(const StoredHistory& history);
[[nodiscard]] std::string text_of(const OrchestrationItem& item);
[[nodiscard]] std::string text_of(const OrchestrationBatch& batch);
[[nodiscard]] std::string text_of(const WorkItem& item);
[[nodiscard]] std::string text_of(const WorkBatch& batch);
[[nodiscard]] std::string text_of(const ClaimedActivity& claimed);
[[nodiscard]] std::string text_of(const CommitAnswer& answer);
[[nodiscard]] std::string text_of(const InstanceStatus& status);
[[nodiscard]] std::string text_of(const CustomStatus& status);
[[nodiscard]] std::string text_of(const InstanceStats& stats);
[[nodiscard]] std::string text_of(const OrchestrationVersion& code);
[[nodiscard]] std::string text_of(const NodeInfo& node);

// ---- Answers to operators (text_admin.cpp) ----

[[nodiscard]] std::string text_of(const InstanceInfo& info);
[[nodiscard]] std::string text_of(const ExecutionInfo& info);
[[nodiscard]] std::string text_of(const InstancePage& page);
[[nodiscard]] std::string text_of(const SystemMetrics& metrics);
[[nodiscard]] std::string text_of(const QueueDepths& depths);
[[nodiscard]] std::string text_of(const InstanceQueue& queue);
[[nodiscard]] std::string text_of(const QueuedActivity& activity);
[[nodiscard]] std::string text_of(const ActivityPage& page);
[[nodiscard]] std::string text_of(const QueuedStart& start);
[[nodiscard]] std::string text_of(const StartPage& page);
[[nodiscard]] std::string text_of(const DeleteResult& result);
[[nodiscard]] std::string text_of(const PruneResult& result);

// ---- Wrappers of all these ----

template <class T>
  requires std::integral<T> || std::is_enum_v<T>
[[nodiscard]] std::string text_of(T value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::int64_t>(value));
  } else {
    return std::to_string(value);
  }
}

template <class T>
[[nodiscard]] std::string text_of(const std::optional<T>& value);
template <class T>
[[nodiscard]] std::string text_of(const std::vector<T>& values);
template <class T>
[[nodiscard]] std::string text_of(const ProviderResult<T>& result);

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "-";
}

template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ", ";
    text += text_of(value);
  }
  return text + "]";
}

template <class T>
std::string text_of(const ProviderResult<T>& result) {
  if (!result) return text_of(result.error());
  if constexpr (std::is_void_v<T>) {
    return "done";
  } else {
    return text_of(*result);
  }
}

// "name(a 1, b 2)", piece by piece.
class Fields {
 public:
  explicit Fields(std::string_view name) : text_(name) { text_ += '('; }

  template <class T>
  Fields& add(std::string_view name, const T& value) {
    if (text_.back() != '(') text_ += ", ";
    text_ += name;
    text_ += ' ';
    text_ += text_of(value);
    return *this;
  }
  [[nodiscard]] std::string text() const { return text_ + ")"; }

 private:
  std::string text_;
};

}  // namespace perdure::testing::comparison
