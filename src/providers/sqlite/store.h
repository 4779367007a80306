// What the writer does to the tables, inside a transaction that somebody else began. Each function checks first and
// writes then: one that answers an error has written nothing. SqliteError means that the transaction must be rolled
// back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include "providers/discarded_messages.h"
#include "providers/instance_import.h"
#include "providers/lock_names.h"
#include "providers/sqlite/connection.h"
#include "providers/sqlite/instance_row.h"

namespace perdure::sqlite {

// Who may have something to look at after a commit.
struct Changes {
  bool instances = false;     // one may be due
  bool activities = false;    // one may be due
  bool withdrawals = false;   // one that a worker may hold was removed without an outcome
  std::uint64_t touched = 0;  // instances that changed for their clients, by change_group()
  // An activity that was locked at once becomes due then, if its lock is not extended.
  std::optional<Timestamp> activity_due_at;

  void due(Timestamp at) noexcept { activity_due_at = std::min(activity_due_at.value_or(at), at); }
  void operator|=(const Changes& other) noexcept {
    instances = instances || other.instances;
    activities = activities || other.activities;
    withdrawals = withdrawals || other.withdrawals;
    touched |= other.touched;
    if (other.activity_due_at) due(*other.activity_due_at);
  }
};

// An operation failed in the midst of writing. It is the only one to blame.
class OperationFailed final : public std::runtime_error {
 public:
  explicit OperationFailed(ProviderError error) : std::runtime_error(error.message()), error_(std::move(error)) {}
  [[nodiscard]] const ProviderError& error() const noexcept { return error_; }

 private:
  ProviderError error_;
};

// Waiting clients are told by groups of instances: 64 are enough that few wake in vain.
[[nodiscard]] inline std::size_t change_group(std::string_view instance) noexcept {
  return std::hash<std::string_view>()(instance) % 64;
}

// What the steps of a prune have removed so far.
struct PruneProgress {
  PruneResult result;
  std::uint64_t incarnation = 0;  // of the instance; 0 before the first step
  bool is_complete = false;
};

// The result of a deletion, and the messages that it does not remove: starts of children whose parents still exist, and
// the messages that these parents sent after them. The id is free after the deletion, so the child gets it.
struct Deletion {
  DeleteResult result;
  std::vector<MessageRecord> left;  // the caller queues them again
};

// The message that the query stands on; its columns are those of sql::kVisibleStarts.
[[nodiscard]] QueuedMessage read_message(const Query& query, const std::string& instance);

class Store {
 public:
  struct Options {
    Milliseconds orphan_retention{0};
    Logger logger;
    Metrics metrics;
  };

  Store(Connection& connection, Options options) : connection_(connection), options_(std::move(options)) {}

  // The time of everything until the next begin().
  void begin(Timestamp now) {
    now_ = now;
    changes_ = {};
    effects_.clear();
    nothing_waits_for_.reset();
  }
  [[nodiscard]] Timestamp now() const noexcept { return now_; }
  [[nodiscard]] const Changes& changes() const noexcept { return changes_; }
  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  // Effects outside the database, such as log records: they happen after the commit, and not at all without one.
  [[nodiscard]] std::size_t effects() const noexcept { return effects_.size(); }
  [[nodiscard]] std::vector<std::function<void()>> take_effects() noexcept { return std::exchange(effects_, {}); }
  // A savepoint was rolled back, before which there were as many effects.
  void undo(std::size_t effects) {
    effects_.resize(effects);
    nothing_waits_for_.reset();
  }
  // The number under which locks are taken; 0: nobody can tell when their owner dies.
  void set_process(std::int64_t process) noexcept { process_ = process; }

  // ---- orchestrator_queue.cpp ----
  [[nodiscard]] OrchestrationBatch fetch_instances(const OrchestrationFetch& fetch);
  [[nodiscard]] ProviderResult<void> abandon_instance(const Abandon& abandon);
  [[nodiscard]] ProviderResult<Timestamp> renew_instance(const LockToken& token, Milliseconds extend_for);
  [[nodiscard]] ProviderResult<void> enqueue_message(const MessageRecord& message);
  [[nodiscard]] ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy);

  // ---- commit.cpp ----
  [[nodiscard]] ProviderResult<CommitAnswer> commit(const TurnCommit& commit);
  [[nodiscard]] ProviderResult<void> append_history(const std::string& instance, ExecutionId execution,
                                                    std::span<const EventRecord> events);

  // ---- worker_queue.cpp ----
  [[nodiscard]] WorkBatch fetch_activities(const WorkFetch& fetch);
  [[nodiscard]] ProviderResult<void> ack_activity(const WorkAck& ack);
  [[nodiscard]] ProviderResult<void> abandon_activity(const Abandon& abandon);
  [[nodiscard]] ProviderResult<Timestamp> renew_activity(const LockToken& token, Milliseconds extend_for);
  [[nodiscard]] ProviderResult<Timestamp> heartbeat(const Heartbeat& heartbeat);
  [[nodiscard]] ProviderResult<void> enqueue_activity(const MessageRecord& activity);
  [[nodiscard]] std::size_t renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                           Milliseconds idle_timeout);
  [[nodiscard]] std::size_t cleanup_sessions();

  // ---- deletion.cpp ----
  [[nodiscard]] ProviderResult<DeleteResult> delete_instance(const std::string& instance, bool force);
  [[nodiscard]] ProviderResult<DeleteResult> delete_instances(std::span<const std::string> instances, bool force);
  // Continues a prune with as many executions as fit into a short transaction. An instance that was deleted or replaced
  // after the first step ends it.
  [[nodiscard]] ProviderResult<PruneProgress> prune(const std::string& instance, const PruneOptions& options,
                                                    const PruneProgress& before);

  // ---- import.cpp ----
  [[nodiscard]] ProviderResult<void> import_instances(std::span<const InstanceCopy> instances);

  // ---- nodes.cpp ----
  void register_node(const NodeInfo& node);
  void remove_node(const std::string& id);
  // Gives back every lock of a process that is gone. What it had fetched stays counted.
  void release_process(std::int64_t process);
  // Removes the number of a process that may be open, if it holds no lock. An open one takes a number again.
  void forget_process_without_locks(std::int64_t process);

 private:
  struct LockedActivity {
    std::int64_t id = 0;
    std::int64_t key = 0;
    EventId activity_id = 0;
    std::uint32_t attempts = 0;
    Timestamp ready_at{};
    std::optional<std::string> session;
  };

  // orchestrator_queue.cpp
  void sweep_orphans();
  [[nodiscard]] OrchestrationItem lock_instance(InstanceRow& row, const OrchestrationFetch& fetch);
  [[nodiscard]] std::vector<QueuedMessage> load_messages(const InstanceRow& row, const OrchestrationFetch& fetch);
  // The first visible cancel and the first visible terminate, without those that are loaded.
  [[nodiscard]] std::vector<QueuedMessage> load_end_requests(const InstanceRow& row,
                                                             const std::vector<QueuedMessage>& loaded);
  // A message that was checked.
  void queue_message(const MessageRecord& message);
  void insert_message(InstanceRow& row, const MessageRecord& message);
  // Reports them after the transaction.
  void discard(DiscardedMessages discarded);
  void discard_orphan(const InstanceRow& row);  // deletion.cpp
  [[nodiscard]] InstanceRow find_or_insert(const std::string& id);
  // Ends a change of a row: it is scheduled anew and stored, or forgotten if nothing is left of it. Answers whether it
  // is still there.
  bool finish(InstanceRow& row, const InstanceRow& before);
  void touch(const InstanceRow& row) noexcept { changes_.touched |= std::uint64_t{1} << change_group(row.id); }
  [[nodiscard]] bool is_empty(const InstanceRow& row);

  // commit.cpp
  [[nodiscard]] std::optional<ProviderError> check_identities(const TurnCommit& commit, const InstanceRow& row,
                                                              const std::vector<LockedActivity>& completed) const;
  [[nodiscard]] std::optional<ProviderError> find_completed_work(const TurnCommit& commit, const InstanceRow& row,
                                                                 std::vector<LockedActivity>& completed) const;
  void begin_execution(const TurnCommit& commit, InstanceRow& row);
  void append_events(InstanceRow& row, ExecutionId execution, std::span<const EventRecord> events);
  void end_execution(const StatusChange& change, InstanceRow& row);
  void change_key_values(const TurnCommit& commit, const InstanceRow& row);
  void send_messages(const TurnCommit& commit, InstanceRow& row);
  [[nodiscard]] std::vector<ClaimedActivity> schedule_activities(const TurnCommit& commit, const InstanceRow& row);
  [[nodiscard]] bool is_other_work_waiting(const WorkFetch& claim);
  // What a commit that is known had claimed, as far as it still holds.
  [[nodiscard]] std::vector<ClaimedActivity> still_claimed(const TurnCommit& commit, const InstanceRow& row) const;
  void release_or_keep(const TurnCommit& commit, InstanceRow& row);
  [[nodiscard]] CommitAnswer standing(const InstanceRow& row, const TurnCommit& commit) const;

  // worker_queue.cpp
  // A worker that found nothing may find something now.
  void worth_a_look() noexcept {
    changes_.activities = true;
    nothing_waits_for_.reset();
  }
  [[nodiscard]] Timestamp extend_lock(const LockedActivity& activity, Milliseconds extend_for);
  // Locked at once if a commit claims it; `claimant` is that commit, or null. Answers the lock, or what it would be.
  LockName insert_activity(std::int64_t key, const MessageRecord& activity, const TurnCommit* claimant);
  [[nodiscard]] WorkItem lock_activity(std::int64_t id, Milliseconds lock_timeout, bool expired);
  void claim_session(const std::string& session, const SessionFetch& fetch);
  void use_session(const std::optional<std::string>& session);
  // The row behind a token that is still the current one, whether or not its lock has ended.
  [[nodiscard]] std::optional<LockedActivity> find_locked(const LockToken& token) const;
  [[nodiscard]] bool holds_lock(const LockedActivity& activity) const noexcept { return activity.ready_at > now_; }

  // deletion.cpp
  [[nodiscard]] bool is_running(const InstanceRow& row);
  // The link of an instance to its parent. Until the first commit it is that of the start that is delivered first.
  [[nodiscard]] StoredLink link_of(const InstanceRow& row);
  // The parent of an instance, or of an id with only a queued start.
  [[nodiscard]] std::optional<std::string> parent_of(const InstanceRow& row);
  [[nodiscard]] std::vector<InstanceRow> started_children_of(const InstanceRow& row);
  [[nodiscard]] std::vector<InstanceRow> queued_children_of(const InstanceRow& row);
  [[nodiscard]] std::vector<InstanceRow> tree_of(const InstanceRow& root);
  // Whether its parent would wait for it forever.
  [[nodiscard]] bool has_waiting_parent(const InstanceRow& row);
  [[nodiscard]] ProviderResult<Deletion> delete_tree(const std::string& instance, bool force);
  [[nodiscard]] Deletion delete_rows(const std::vector<InstanceRow>& rows);
  void delete_row(const InstanceRow& row, DeleteResult& result);
  [[nodiscard]] DeleteResult finish_deletion(const Deletion& deletion);
  [[nodiscard]] std::map<MessageId, MessageRecord> messages_left_of(const InstanceRow& row,
                                                                    const std::set<std::string>& deleted);
  void withdraw_messages_of(const std::string& parent);

  // import.cpp
  void import_instance(const InstanceCopy& instance);

  Connection& connection_;
  Options options_;
  SecretSource secrets_;
  std::int64_t process_ = 0;
  Timestamp now_{};
  Changes changes_;
  std::vector<std::function<void()>> effects_;
  // A fetch with these options would have found nothing, and nothing has come since: most commits of a transaction ask
  // the same.
  std::optional<WorkFetch> nothing_waits_for_;
};

}  // namespace perdure::sqlite
