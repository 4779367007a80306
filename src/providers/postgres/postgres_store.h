// A store on a PostgreSQL server. The rules that need more than one statement are functions of its schema (sql/); every
// call of the hot paths is one round trip.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/postgres_provider.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include "providers/discarded_messages.h"
#include "providers/history_damage.h"
#include "providers/instance_import.h"
#include "providers/lock_names.h"
#include "providers/postgres/pool.h"
#include "providers/postgres/tokens.h"
#include "providers/postgres/waker.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

class CommitPipeline;

// Of a deletion: the ids of starts without a parent, one element each.
[[nodiscard]] std::vector<DiscardedMessages> ignored_starts(const Rows& rows, int column);

class PostgresStore final : public Provider, public ProviderAdmin, public InstanceImport, public HistoryDamage {
 public:
  PostgresStore(const std::string& url, const PostgresOptions& options);
  ~PostgresStore() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "postgres"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override {
    return {.wake_ups = true, .fast_path = true, .shared_between_processes = true, .durable = true};
  }
  [[nodiscard]] ProviderAdmin* admin() noexcept override { return this; }

  // ---- orchestrator_queue.cpp ----
  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override;
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override;
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override;
  std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) override;
  ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy) override;

  // ---- commit.cpp ----
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override;
  ProviderResult<void> append_history(const std::string& instance, ExecutionId execution,
                                      std::span<const EventRecord> events) override;

  // ---- worker_queue.cpp ----
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override;
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override;
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override;
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override;
  std::vector<ProviderResult<void>> enqueue_activities(std::span<const MessageRecord> activities) override;
  ProviderResult<std::size_t> renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                             Milliseconds idle_timeout) override;
  ProviderResult<std::size_t> cleanup_sessions() override;

  // ---- reads.cpp ----
  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override;
  ProviderResult<std::optional<CustomStatus>> read_custom_status(const std::string& instance,
                                                                 std::uint64_t last_seen_version) override;
  ProviderResult<std::optional<std::string>> read_key_value(const std::string& instance,
                                                            const std::string& key) override;
  ProviderResult<std::vector<KeyValue>> read_key_values(const std::string& instance) override;
  ProviderResult<std::optional<InstanceStats>> read_stats(const std::string& instance) override;
  [[nodiscard]] Timestamp now() override;
  [[nodiscard]] Milliseconds steady() override {
    check_process();
    return pool_.steady();
  }

  // Waits in progress, for tests.
  [[nodiscard]] std::size_t waiters() { return waker_->waiters(); }

  // ---- waits.cpp ----
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override;
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override;
  void wake_waiters() noexcept override {
    if (pool_.home().is_this()) waker_->interrupt();
  }

  // ---- nodes.cpp ----
  ProviderResult<void> register_node(const NodeInfo& node) override;
  ProviderResult<void> remove_node(const std::string& id) override;
  ProviderResult<std::vector<NodeInfo>> list_nodes() override;

  // ---- admin_reads.cpp ----
  ProviderResult<InstancePage> list_instances(const InstanceQuery& query) override;
  ProviderResult<std::vector<ExecutionId>> list_executions(const std::string& instance) override;
  ProviderResult<InstanceInfo> instance_info(const std::string& instance) override;
  ProviderResult<ExecutionInfo> execution_info(const std::string& instance, ExecutionId execution) override;
  ProviderResult<std::vector<EventRecord>> read_history(const std::string& instance,
                                                        std::optional<ExecutionId> execution, EventId after) override;
  ProviderResult<std::vector<std::string>> list_children(const std::string& instance) override;
  ProviderResult<InstanceTree> instance_tree(const std::string& instance) override;
  ProviderResult<SystemMetrics> system_metrics() override;
  ProviderResult<QueueDepths> queue_depths() override;
  ProviderResult<ActivityPage> list_activities(const ActivityQuery& query) override;
  ProviderResult<StartPage> list_queued_starts(const StartQuery& query) override;
  ProviderResult<InstanceQueue> instance_queue(const std::string& instance) override;
  ProviderResult<std::vector<KeyValue>> read_key_value_snapshot(const std::string& instance) override;

  // ---- deletion.cpp ----
  ProviderResult<DeleteResult> delete_instance(const std::string& instance, bool force) override;
  ProviderResult<DeleteResult> delete_instances(std::span<const std::string> instances, bool force) override;
  ProviderResult<DeleteResult> delete_matching(const InstanceFilter& filter, std::size_t limit) override;
  ProviderResult<PruneResult> prune_executions(const std::string& instance, const PruneOptions& options) override;
  ProviderResult<PruneResult> prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                             std::size_t limit) override;
  void damage_history(const std::string& instance) override;

  // ---- import.cpp ----
  ProviderResult<void> import_instances(std::span<const InstanceCopy> instances) override;

  // How often the server was asked something, for measurements.
  [[nodiscard]] std::uint64_t round_trips() const noexcept { return pool_.round_trips(); }

 private:
  // Throws ProviderFailure in a child of fork(), where a thread that is not there may have a mutex.
  void check_process() const {
    if (!pool_.home().is_this()) throw ProviderFailure(used_by_child(pool_.home()));
  }
  // From the history, if the row of the execution is lost.
  void add_lost_output(InstanceInfo& info);
  [[nodiscard]] Milliseconds end_of_wait(Timestamp deadline);
  // `look` answers ProviderResult<T>; what the server objects to becomes its error.
  template <class T, class Look>
  ProviderResult<T> guarded(const Look& look) {
    try {
      check_process();
      return look();
    } catch (const PostgresError& error) {
      return as_provider_error(error);
    } catch (const ProviderFailure& failure) {
      return failure.error();
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }

  // What `call` returns, or an error for each of `size` elements. The server may have done what this process could not
  // note, so waiters look again.
  template <class T, class Each>
  std::vector<ProviderResult<T>> contained(std::size_t size, const Each& call) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      waker_->changed(kAllTopics);
      return {size, ProviderResult<T>(out_of_memory())};
    }
  }

  // All elements at once, or one by one. What the server objects to is the fault of one of them, so then each is done
  // alone as well.
  template <class T, class Element, class Together>
  std::vector<ProviderResult<T>> batch(std::span<const Element> elements, bool one_by_one, const Together& together) {
    return contained<T>(elements.size(), [&] { return run_batch<T>(elements, one_by_one, together); });
  }
  template <class T, class Element, class Together>
  std::vector<ProviderResult<T>> run_batch(std::span<const Element> elements, bool one_by_one,
                                           const Together& together) {
    try {
      check_process();
      if (elements.empty()) return {};
      if (elements.size() == 1 || !one_by_one) return together(elements);
    } catch (const PostgresError& error) {
      const ProviderError shown = as_provider_error(error);
      if (elements.size() == 1 || shown.retryable()) return {elements.size(), ProviderResult<T>(shown)};
    } catch (const ProviderFailure& failure) {
      return {elements.size(), ProviderResult<T>(failure.error())};
    }
    std::vector<ProviderResult<T>> outcomes;
    outcomes.reserve(elements.size());
    for (const Element& element : elements) {
      outcomes.push_back(batch<T>(std::span(&element, 1), false, together).front());
    }
    return outcomes;
  }

  [[nodiscard]] std::int64_t next_secret();

  // orchestrator_queue.cpp
  void release_lost_fetch(const char* sql, std::int64_t secret) noexcept;
  // commit.cpp
  [[nodiscard]] std::vector<ProviderResult<CommitAnswer>> commit_all(std::span<const TurnCommit> commits);
  void commit_together(std::span<const TurnCommit> commits, const std::vector<std::size_t>& which,
                       CommitPipeline& pipeline, std::vector<ProviderResult<CommitAnswer>>& outcomes);
  [[nodiscard]] ProviderResult<CommitAnswer> commit_alone(const TurnCommit& commit);
  [[nodiscard]] std::vector<ClaimedActivity> still_claimed(const TurnCommit& commit, const InstanceLock& lock);
  void report(const std::vector<DiscardedMessages>& discarded) const;
  [[nodiscard]] bool has_work(const TurnCommit& commit, const InstanceLock& lock);
  // worker_queue.cpp
  [[nodiscard]] std::vector<ProviderResult<void>> acknowledge(std::span<const WorkAck> acks);
  [[nodiscard]] ProviderResult<void> explain_lost_work(const WorkAck& ack);
  // deletion.cpp
  [[nodiscard]] ProviderResult<DeleteResult> deleted(const Rows& rows, const std::string& instance);

  PostgresOptions options_;
  Pool pool_;
  std::mutex secrets_mutex_;
  SecretSource secrets_;
  std::unique_ptr<Waker> waker_;
};

}  // namespace perdure::postgres
