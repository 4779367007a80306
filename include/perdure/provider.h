// The store behind the engine: two queues with locks, histories, and what clients read. docs/provider-guide.md explains
// the contract; perdure/testing/provider_validation.h proves an implementation.
//
// Rules for every method:
//   - It may be called from any thread, at the same time as any other.
//   - It is atomic and, if it returns success, durable. A batch is one transaction with one result per element; a
//     failing element has no effect and does not affect the others.
//   - Visibility, locks and timeouts use the store's clock. Fetches and commits return the store time they used.
//   - A token is a fence. A call with a token that is unknown, expired or overtaken fails with kLockLost and changes
//     nothing, unless its comment says otherwise.
//   - A fetch that returns an error has locked nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/provider_error.h>
#include <perdure/records.h>
#include <perdure/status.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

class ProviderAdmin;

// What a provider can do beyond the minimum.
struct Capabilities {
  bool wake_ups = false;                  // waits end by themselves when work arrives, without polling
  bool fast_path = false;                 // TurnCommit::completed_work, claim and keep_lock
  bool shared_between_processes = false;  // several processes may open the same store
  bool durable = false;                   // survives the process
  bool operator==(const Capabilities&) const = default;
};

// Gives a locked item back.
struct Abandon {
  LockToken token;
  Milliseconds delay{0};        // of an instance: for all of its messages, present and future
  bool ignore_attempt = false;  // the fetch does not count: its attempt is taken back
  bool has_begun = false;       // of an activity: its code may have run, so it never expires from now on
  bool operator==(const Abandon&) const = default;
};

struct WorkAck {
  LockToken token;
  std::optional<MessageRecord> completion;  // completes_activity(kind), for the instance that scheduled the activity
  bool operator==(const WorkAck&) const = default;
};

struct Heartbeat {
  LockToken token;
  Payload details;  // replaces the stored ones; absent: they stay
  std::optional<Milliseconds> extend_for;
  bool operator==(const Heartbeat&) const = default;
};

// What a start does when the instance exists, or a start for it is queued.
enum class StartPolicy : std::uint8_t {
  kIgnore,             // nothing: starting twice is starting once
  kFail,               // fails with kAlreadyExists
  kReplaceIfTerminal,  // deletes an ended instance with its tree and starts anew; a running one: kStillRunning
};
enum class StartOutcome : std::uint8_t { kEnqueued, kIgnored, kReplaced };

// How an instance stands, without its history.
struct InstanceStatus {
  bool pending = false;  // a start is queued, and no turn has been committed yet
  std::string name;
  std::optional<SemanticVersion> version;
  ExecutionId execution_id = kFirstExecutionId;
  ExecutionStatus status = ExecutionStatus::kRunning;
  Payload output;
  std::optional<std::string> custom_status;
  std::uint64_t custom_status_version = 0;
  std::uint64_t incarnation = 0;  // as OrchestrationItem::incarnation; 0 while pending
  bool operator==(const InstanceStatus&) const = default;
};

struct CustomStatus {
  std::optional<std::string> value;
  std::uint64_t version = 0;
  bool operator==(const CustomStatus&) const = default;
};

struct InstanceStats {
  std::uint64_t history_events = 0;  // of the current execution
  std::uint64_t history_bytes = 0;   // of its events' bodies
  std::uint64_t carried_forward = 0;
  std::uint64_t key_values = 0;       // live keys
  std::uint64_t key_value_bytes = 0;  // of the live values
  bool operator==(const InstanceStats&) const = default;
};

// What a node waits for. If it waits for nothing, only the deadline, the stop or wake_waiters() ends the wait.
struct WorkWait {
  std::optional<OrchestrationFetch> orchestrations;
  std::optional<WorkFetch> activities;
  // Tokens of activities that the node runs. The wait also ends when a token is no longer valid: its activity was
  // cancelled, deleted or abandoned, or another worker has it. A store with `wake_ups` must implement this; nodes do
  // not ask other stores. An acknowledgement with the token may end the wait, too.
  std::vector<LockToken> held = {};
  // A request ends this wait alone, even one that has not begun yet. No call of wake_waiters() follows: the store
  // registers a std::stop_callback that wakes its thread.
  std::stop_token stop = {};
};

// What a waiting client wants to see; any of them ends the wait.
struct InstanceChange {
  bool ended = false;                                // terminal, and no continuation
  std::optional<std::uint64_t> custom_status_after;  // a greater version
  std::optional<std::string> key_value;              // the key has a value
  // The instance has another incarnation: the one that the client saw was replaced, or deleted and started again.
  std::optional<std::uint64_t> incarnation_other_than = {};
};

struct OrchestrationVersion {
  std::string name;
  SemanticVersion version;
  auto operator<=>(const OrchestrationVersion&) const = default;
};

// A process that serves the store. Written when it starts, stops or changes its filter; says nothing of its health.
struct NodeInfo {
  std::string id;
  SemanticVersion engine_version;
  CapabilityFilter filter;                           // what it fetches
  TagFilter tags;                                    // of the activities that it fetches
  std::vector<OrchestrationVersion> orchestrations;  // what it has code for
  std::vector<std::string> activities;
  Timestamp registered_at{};  // set by the store
  bool operator==(const NodeInfo&) const = default;
};

class Provider {
 public:
  Provider() = default;
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;
  virtual ~Provider() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual Capabilities capabilities() const noexcept = 0;
  // Null: this provider cannot be administered. Lives as long as the provider.
  [[nodiscard]] virtual ProviderAdmin* admin() noexcept { return nullptr; }

  // ---- The orchestrator queue ----

  // Locks up to `limit` instances that have work, the longest ready first. In this order: filter, lock, load; the
  // attempt is counted even if loading shows damage. Never waits.
  [[nodiscard]] virtual ProviderResult<OrchestrationBatch> fetch_orchestration_items(
      const OrchestrationFetch& fetch) = 0;
  // The current execution's events behind `after`; the key-value snapshot comes only with after = 0.
  [[nodiscard]] virtual ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) = 0;
  // Commits turns and unlocks their instances. A commit that the store already has answers success, before anything
  // else is checked.
  [[nodiscard]] virtual std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(
      std::span<const TurnCommit> commits) = 0;
  // A token that expired but that nobody overtook is accepted.
  [[nodiscard]] virtual std::vector<ProviderResult<void>> abandon_orchestration_items(
      std::span<const Abandon> abandons) = 0;
  // Answers until when each lock holds now.
  [[nodiscard]] virtual std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(
      std::span<const LockToken> tokens, Milliseconds extend_for) = 0;
  // Every kind but kExecuteActivity. Creates no instance. kNotFound: see MessageRecord::must_exist.
  [[nodiscard]] virtual std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) = 0;
  // kStartOrchestration, decided and enqueued in one step.
  [[nodiscard]] virtual ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy) = 0;

  // ---- The worker queue ----

  // Locks up to `limit` activities, the longest ready first. The state of their instances does not matter. Never waits.
  [[nodiscard]] virtual ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) = 0;
  // Removes activities and enqueues their completions.
  [[nodiscard]] virtual std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) = 0;
  // An unknown or expired token is not an error; the call has no effect. The last token that a fetch overtook has one,
  // once: with `ignore_attempt` it takes back its attempt.
  [[nodiscard]] virtual std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) = 0;
  [[nodiscard]] virtual std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                                                Milliseconds extend_for) = 0;
  // Answers until when each lock holds now.
  [[nodiscard]] virtual std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) = 0;
  // kExecuteActivity only; for tools and tests: turns queue activities with their commit.
  [[nodiscard]] virtual std::vector<ProviderResult<void>> enqueue_activities(
      std::span<const MessageRecord> activities) = 0;

  // Extends the sessions of these owners that are still locked and were used within `idle_timeout`; returns how many.
  // An extension of zero releases them. Also releases locked sessions that were not used within `idle_timeout`.
  [[nodiscard]] virtual ProviderResult<std::size_t> renew_sessions(std::span<const std::string> owners,
                                                                   Milliseconds extend_for,
                                                                   Milliseconds idle_timeout) = 0;
  // Forgets sessions that are no longer locked and have no activity queued; answers how many.
  [[nodiscard]] virtual ProviderResult<std::size_t> cleanup_sessions() = 0;

  // ---- What clients read; unknown instances are empty answers, not errors ----

  [[nodiscard]] virtual ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) = 0;
  // Only if the version is greater than the one seen last.
  [[nodiscard]] virtual ProviderResult<std::optional<CustomStatus>> read_custom_status(
      const std::string& instance, std::uint64_t last_seen_version) = 0;
  // Live values: what the current execution wrote over what earlier ones left.
  [[nodiscard]] virtual ProviderResult<std::optional<std::string>> read_key_value(const std::string& instance,
                                                                                  const std::string& key) = 0;
  [[nodiscard]] virtual ProviderResult<std::vector<KeyValue>> read_key_values(const std::string& instance) = 0;
  [[nodiscard]] virtual ProviderResult<std::optional<InstanceStats>> read_stats(const std::string& instance) = 0;

  // ---- Waiting ----
  // A deadline is a store time. The call turns it into a duration when it begins, and measures that by steady(): a
  // clock that is set during the wait makes it neither longer nor shorter.

  // True as soon as a fetch with these options would find something, or a held activity is lost; false at the deadline,
  // after wake_waiters(), or when it is to stop.
  [[nodiscard]] virtual ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) = 0;
  // True as soon as the change is there. An unknown instance may still come: it is waited for.
  [[nodiscard]] virtual ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                                             Timestamp deadline) = 0;
  // Ends every wait that is going on.
  virtual void wake_waiters() noexcept = 0;
  // The store's clock. The runtime calls it with its locks held, so it calls neither a log sink nor a metrics sink, and
  // returns soon even if the store does not respond. It throws only in a child of fork(), then ProviderFailure: a node
  // whose provider throws otherwise ends the process.
  [[nodiscard]] virtual Timestamp now() = 0;
  // Returns the time that has passed since some moment, by the clock that measures waits. It is never set. The default
  // is the time since this machine was booted. Throws as now() does.
  [[nodiscard]] virtual Milliseconds steady();

  // ---- Nodes ----

  [[nodiscard]] virtual ProviderResult<void> register_node(const NodeInfo& node) = 0;
  // An unknown id is no error.
  [[nodiscard]] virtual ProviderResult<void> remove_node(const std::string& id) = 0;

  // ---- One item at a time ----

  [[nodiscard]] ProviderResult<std::optional<OrchestrationItem>> fetch_orchestration_item(
      OrchestrationFetch fetch = {});
  [[nodiscard]] ProviderResult<CommitAnswer> ack_orchestration_item(const TurnCommit& commit);
  [[nodiscard]] ProviderResult<void> abandon_orchestration_item(const Abandon& abandon);
  [[nodiscard]] ProviderResult<Timestamp> renew_orchestration_lock(const LockToken& token, Milliseconds extend_for);
  [[nodiscard]] ProviderResult<void> enqueue_message(const MessageRecord& message);
  [[nodiscard]] ProviderResult<std::optional<WorkItem>> fetch_work_item(WorkFetch fetch = {});
  [[nodiscard]] ProviderResult<void> ack_work_item(const WorkAck& ack);
  [[nodiscard]] ProviderResult<void> abandon_work_item(const Abandon& abandon);
  [[nodiscard]] ProviderResult<Timestamp> renew_work_lock(const LockToken& token, Milliseconds extend_for);
  [[nodiscard]] ProviderResult<void> enqueue_activity(const MessageRecord& activity);
};

}  // namespace perdure
