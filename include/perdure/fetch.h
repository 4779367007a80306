// What a node asks a store for, and what it gets: locked instances with their messages, and locked activities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <perdure/records.h>
#include <perdure/status.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

// Fencing token of a lock. Calls made with the token of a lost lock fail and change nothing. Opaque and never reused.
struct LockToken {
  std::string value;
  bool operator==(const LockToken&) const = default;
};

// Position of a message in the orchestrator queue of its store.
using MessageId = std::uint64_t;

// The work that a node can run. An empty list admits everything. An instance that has ended passes every filter: its
// messages need no code. A running instance with a visible start of a child passes too: its id is taken, and any node
// can refuse the start.
struct CapabilityFilter {
  // An execution that is pinned to an engine version needs one range that contains it; one without a pin fits always.
  std::vector<VersionRange> engine_versions;
  std::vector<std::string> orchestrations;  // names
  std::vector<std::string> activities;      // names
  bool operator==(const CapabilityFilter&) const = default;
};

// Which activities a worker takes, by their tags.
class TagFilter {
 public:
  static constexpr std::size_t kMaxTags = 5;

  TagFilter() = default;  // untagged activities only
  [[nodiscard]] static TagFilter untagged() { return {}; }
  // One to five tags; anything else throws std::invalid_argument.
  [[nodiscard]] static TagFilter tags(std::vector<std::string> tags);
  [[nodiscard]] static TagFilter untagged_and(std::vector<std::string> tags);
  [[nodiscard]] static TagFilter any();
  [[nodiscard]] static TagFilter none();
  // Returns this filter with one more tag; the limit of five does not apply.
  [[nodiscard]] TagFilter with(std::string tag) const;

  [[nodiscard]] bool matches(const std::optional<std::string>& tag) const noexcept;
  [[nodiscard]] bool takes_untagged() const noexcept { return untagged_; }
  [[nodiscard]] bool takes_any() const noexcept { return any_; }
  [[nodiscard]] bool takes_nothing() const noexcept { return !untagged_ && !any_ && tags_.empty(); }
  [[nodiscard]] const std::vector<std::string>& listed() const noexcept { return tags_; }
  bool operator==(const TagFilter&) const = default;

 private:
  bool untagged_ = true;
  bool any_ = false;
  std::vector<std::string> tags_;
};

// An item that was fetched this often before may be what takes its process down. It is fetched alone, so that it takes
// nothing else with it.
struct SuspectRule {
  std::uint32_t from_attempts = (std::numeric_limits<std::uint32_t>::max)();  // earlier fetches that make a suspect
  bool admit = true;                                                          // false: leave suspects alone
  bool operator==(const SuspectRule&) const = default;
};

struct OrchestrationFetch {
  std::size_t limit = 1;
  Milliseconds lock_timeout{5'000};
  // The fetching node. An instance whose lock this owner retained is returned to it when messages arrive.
  std::string owner;
  CapabilityFilter filter;
  SuspectRule suspects;
  bool with_history = true;                       // false: read_history() loads it when the cache does not have it
  std::size_t max_messages = 1'000;               // an instance; at least one message is always taken
  std::size_t max_bytes = std::size_t{16} << 20;  // bodies of an instance
};

struct KeyValue {
  std::string key;
  std::string value;
  Timestamp updated_at{};
  bool operator==(const KeyValue&) const = default;
};

// What the first commit of an instance made known, and later commits changed.
struct InstanceMetadata {
  std::string name;
  std::optional<SemanticVersion> version;
  std::optional<ParentLink> parent;                    // set once
  ExecutionStatus status = ExecutionStatus::kRunning;  // of the current execution
  std::optional<SemanticVersion> pinned_version;       // engine version that replays the current execution
  bool operator==(const InstanceMetadata&) const = default;
};

struct QueuedMessage {
  MessageId id = 0;
  MessageRecord record;
  bool operator==(const QueuedMessage&) const = default;
};

// The state that a turn is computed from, beside its messages.
struct StoredHistory {
  std::vector<EventRecord> events;
  std::vector<KeyValue> key_values;  // as of the end of the previous execution, by key
  // The stored bytes cannot be split into events. Then both lists are empty.
  std::optional<std::string> error;
  bool operator==(const StoredHistory&) const = default;
};

// A locked instance.
struct OrchestrationItem {
  std::string instance;
  LockToken token;
  Timestamp locked_until{};
  std::uint32_t attempt_count = 0;           // this fetch included, since the last commit
  std::optional<InstanceMetadata> metadata;  // absent before the first commit
  // The id of the commit that made the instance; 0 before. One that was deleted and started again is another.
  std::uint64_t incarnation = 0;
  ExecutionId execution_id = kFirstExecutionId;
  EventId last_event_id = 0;            // of that execution
  std::vector<QueuedMessage> messages;  // a start or continue-as-new first, the others in order of arrival
  // The first visible cancel and the first visible terminate, in order of arrival, as far as the limits of the fetch
  // kept them out of `messages`. They are honoured before the messages in front of them only where the code cannot run.
  // A commit may consume them.
  std::vector<QueuedMessage> end_requests{};
  std::optional<StoredHistory> history;  // absent if it was not asked for, or is too large for a fetch
  // The instance is between two executions (the status is kContinuedAsNew), and no continuation is queued, visible or
  // not. Only the store can report this, because it checks under the lock. `messages` without a continuation proves
  // nothing.
  bool continuation_missing = false;
};

struct OrchestrationBatch {
  Timestamp now{};  // the store's
  std::vector<OrchestrationItem> items;
};

// Whose sessions a worker may serve.
struct SessionFetch {
  std::string owner;
  Milliseconds lock_timeout{30'000};
  // Sessions that the owner may hold. A fetch claims none beyond; what the owner holds already is served in any case.
  std::size_t max_sessions = (std::numeric_limits<std::size_t>::max)();
  bool operator==(const SessionFetch&) const = default;
};

struct WorkFetch {
  std::size_t limit = 1;
  Milliseconds lock_timeout{30'000};
  TagFilter tags;
  std::optional<SessionFetch> session;  // absent: only activities without a session
  CapabilityFilter filter;
  SuspectRule suspects;
  bool operator==(const WorkFetch&) const = default;
};

// A locked activity.
struct WorkItem {
  LockToken token;
  Timestamp locked_until{};
  std::uint32_t attempt_count = 0;  // this fetch included
  // Nobody started it before its schedule-to-start timeout: it must be failed, not run.
  bool expired = false;
  Payload heartbeat_details;  // what an earlier attempt left
  Timestamp scheduled_at{};
  MessageRecord record;
};

struct WorkBatch {
  Timestamp now{};
  std::vector<WorkItem> items;
};

}  // namespace perdure
