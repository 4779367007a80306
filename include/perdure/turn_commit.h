// A turn as one durable change: everything that it decided, in one piece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/records.h>
#include <perdure/status.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

// Chosen by the engine, new for each commit and never 0: a commit whose answer was lost can be repeated.
using CommitId = std::uint64_t;

struct SetKeyValue {
  std::string key;
  std::string value;
  Timestamp updated_at{};
  bool operator==(const SetKeyValue&) const = default;
};
struct ClearKeyValue {
  std::string key;
  bool operator==(const ClearKeyValue&) const = default;
};
struct ClearAllKeyValues {
  bool operator==(const ClearAllKeyValues&) const = default;
};
using KeyValueMutation = std::variant<SetKeyValue, ClearKeyValue, ClearAllKeyValues>;

// Sent with the event that starts an execution. Creates the instance if there is none.
struct StartedMetadata {
  std::string name;
  std::optional<SemanticVersion> version;
  std::optional<std::string> parent;              // once it is set, later ones are ignored
  std::optional<SemanticVersion> pinned_version;  // absent: the pin of the execution stays as it is
  std::uint64_t carry_forward = 0;                // unread queue messages that this execution begins with
  bool operator==(const StartedMetadata&) const = default;
};

struct StatusChange {
  ExecutionStatus status = ExecutionStatus::kCompleted;
  Payload output;  // of failures: the encoded ErrorDetails
  bool operator==(const StatusChange&) const = default;
};

struct CustomStatusChange {
  std::optional<std::string> value;  // absent: reset
  bool operator==(const CustomStatusChange&) const = default;
};

struct TurnCommit {
  LockToken token;
  CommitId commit_id = 0;
  ExecutionId execution_id = kFirstExecutionId;  // the current one, or the next
  std::vector<MessageId> consumed;               // of the fetched messages; all that are not named stay queued
  std::vector<EventRecord> events;               // ids follow the stored ones without a gap; may be empty
  std::optional<StartedMetadata> started;
  std::optional<StatusChange> status;  // absent: unchanged
  std::optional<CustomStatusChange> custom_status;
  std::vector<KeyValueMutation> key_values;   // in order
  std::vector<MessageRecord> activities;      // to the worker queue
  std::vector<MessageRecord> messages;        // to the orchestrator queue, in order
  std::vector<EventId> cancelled_activities;  // of this execution; withdrawn after `activities` are queued

  // The fast path, for providers with Capabilities::fast_path.
  // (a) Work items of this instance, fetched for the first time, whose completion this turn consumed.
  std::vector<LockToken> completed_work;
  // (b) Lock activities of this commit for this worker at once, as a fetch with these options would, as long as no
  // other work waits that it could take.
  std::optional<WorkFetch> claim;
  // (c) Keep the instance locked by `owner`, for this long once less than half of it is left. Absent: unlock.
  std::optional<Milliseconds> keep_lock;
  std::string owner;
};

struct ClaimedActivity {
  std::size_t index = 0;  // in TurnCommit::activities
  LockToken token;
  Timestamp locked_until{};
  bool operator==(const ClaimedActivity&) const = default;
};

struct CommitAnswer {
  Timestamp now{};
  // The store had this commit already; nothing was done, and what was claimed then is not listed again.
  bool repeated = false;
  std::vector<ClaimedActivity> claimed;
  std::optional<Timestamp> locked_until;  // present if the lock was kept
  bool more_messages = false;             // messages that can be fetched now
  bool operator==(const CommitAnswer&) const = default;
};

}  // namespace perdure
