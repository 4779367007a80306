// The provider: hands what changes to the writer, what reads to the readers, and what waits to the wake-ups.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <perdure/clock.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include <perdure/sqlite_provider.h>
#include "providers/history_damage.h"
#include "providers/home_process.h"
#include "providers/instance_import.h"
#include "providers/record_bytes.h"
#include "providers/sqlite/process_lock.h"
#include "providers/sqlite/queries.h"
#include "providers/sqlite/readers.h"
#include "providers/sqlite/saved_time.h"
#include "providers/sqlite/store.h"
#include "providers/sqlite/store_file.h"
#include "providers/sqlite/wake_ups.h"
#include "providers/sqlite/writer.h"
#include "providers/store_errors.h"
#include "providers/store_time.h"

namespace perdure::sqlite {

class SqliteStore final : public Provider, public ProviderAdmin, public InstanceImport, public HistoryDamage {
 public:
  SqliteStore(const std::string& path, const SqliteOptions& options);
  ~SqliteStore() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "sqlite"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override {
    return {.wake_ups = true, .fast_path = true, .shared_between_processes = !in_memory_, .durable = !in_memory_};
  }
  [[nodiscard]] ProviderAdmin* admin() noexcept override { return this; }

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    return change<OrchestrationBatch>(kMayBeForgotten, [&](Store& store) { return store.fetch_instances(fetch); });
  }
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override {
    return read<StoredHistory>([&](Connection& connection, const ReadTime& time) {
      return read_locked_history(connection, token, after, time.of_locks);
    });
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    return batch<CommitAnswer>(commits, kDurable,
                               [](Store& store, const TurnCommit& commit) { return store.commit(commit); });
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    return batch<void>(abandons, kMayBeForgotten,
                       [](Store& store, const Abandon& abandon) { return store.abandon_instance(abandon); });
  }
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override {
    return batch<Timestamp>(tokens, kMayBeForgotten, [extend_for](Store& store, const LockToken& token) {
      return store.renew_instance(token, extend_for);
    });
  }
  std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) override {
    return batch<void>(messages, kDurable,
                       [](Store& store, const MessageRecord& message) { return store.enqueue_message(message); });
  }
  ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy) override {
    return change<StartOutcome>(
        kDurable, [&](Store& store) { return store.enqueue_start(start, policy); }, bytes_of(start));
  }

  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    return change<WorkBatch>(kMayBeForgotten, [&](Store& store) { return store.fetch_activities(fetch); });
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    return batch<void>(acks, kDurable, [](Store& store, const WorkAck& ack) { return store.ack_activity(ack); });
  }
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override {
    return batch<void>(abandons, kMayBeForgotten,
                       [](Store& store, const Abandon& abandon) { return store.abandon_activity(abandon); });
  }
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    return batch<Timestamp>(tokens, kMayBeForgotten, [extend_for](Store& store, const LockToken& token) {
      return store.renew_activity(token, extend_for);
    });
  }
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override {
    return batch<Timestamp>(heartbeats, kDurable,
                            [](Store& store, const Heartbeat& heartbeat) { return store.heartbeat(heartbeat); });
  }
  std::vector<ProviderResult<void>> enqueue_activities(std::span<const MessageRecord> activities) override {
    return batch<void>(activities, kDurable,
                       [](Store& store, const MessageRecord& activity) { return store.enqueue_activity(activity); });
  }
  ProviderResult<std::size_t> renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                             Milliseconds idle_timeout) override {
    return change<std::size_t>(kMayBeForgotten,
                               [&](Store& store) { return store.renew_sessions(owners, extend_for, idle_timeout); });
  }
  ProviderResult<std::size_t> cleanup_sessions() override {
    return change<std::size_t>(kMayBeForgotten, [](Store& store) { return store.cleanup_sessions(); });
  }

  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override {
    return read<std::optional<InstanceStatus>>(
        [&](Connection& connection) { return sqlite::read_status(connection, instance); });
  }
  ProviderResult<std::optional<CustomStatus>> read_custom_status(const std::string& instance,
                                                                 std::uint64_t last_seen_version) override {
    return read<std::optional<CustomStatus>>(
        [&](Connection& connection) { return sqlite::read_custom_status(connection, instance, last_seen_version); });
  }
  ProviderResult<std::optional<std::string>> read_key_value(const std::string& instance,
                                                            const std::string& key) override {
    return read<std::optional<std::string>>(
        [&](Connection& connection) { return sqlite::read_key_value(connection, instance, key); });
  }
  ProviderResult<std::vector<KeyValue>> read_key_values(const std::string& instance) override {
    return read<std::vector<KeyValue>>(
        [&](Connection& connection) { return sqlite::read_key_values(connection, instance); });
  }
  ProviderResult<std::optional<InstanceStats>> read_stats(const std::string& instance) override {
    return read<std::optional<InstanceStats>>(
        [&](Connection& connection) { return sqlite::read_stats(connection, instance); });
  }

  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override;
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override;
  void wake_waiters() noexcept override {
    if (home_.is_this()) wake_ups_->interrupt();
  }
  // The runtime asks with its locks held, so another call reports a jump: a log sink may block.
  [[nodiscard]] Timestamp now() override {
    check_process();
    return time_->now();
  }
  [[nodiscard]] Milliseconds steady() override {
    check_process();
    return time_->steady();
  }

  ProviderResult<void> register_node(const NodeInfo& node) override {
    if (node.id.empty()) return node_without_id();
    return change<void>(kDurable, [&](Store& store) { store.register_node(node); });
  }
  ProviderResult<void> remove_node(const std::string& id) override {
    return change<void>(kDurable, [&](Store& store) { store.remove_node(id); });
  }

  ProviderResult<InstancePage> list_instances(const InstanceQuery& query) override {
    return read<InstancePage>([&](Connection& connection) { return sqlite::list_instances(connection, query); });
  }
  ProviderResult<std::vector<ExecutionId>> list_executions(const std::string& instance) override {
    return read<std::vector<ExecutionId>>(
        [&](Connection& connection) { return sqlite::list_executions(connection, instance); });
  }
  ProviderResult<InstanceInfo> instance_info(const std::string& instance) override {
    return read<InstanceInfo>([&](Connection& connection) { return sqlite::instance_info(connection, instance); });
  }
  ProviderResult<ExecutionInfo> execution_info(const std::string& instance, ExecutionId execution) override {
    return read<ExecutionInfo>(
        [&](Connection& connection) { return sqlite::execution_info(connection, instance, execution); });
  }
  ProviderResult<std::vector<EventRecord>> read_history(const std::string& instance,
                                                        std::optional<ExecutionId> execution, EventId after) override {
    return read<std::vector<EventRecord>>(
        [&](Connection& connection) { return read_events(connection, instance, execution, after); });
  }
  ProviderResult<std::vector<std::string>> list_children(const std::string& instance) override {
    return read<std::vector<std::string>>(
        [&](Connection& connection) { return sqlite::list_children(connection, instance); });
  }
  ProviderResult<InstanceTree> instance_tree(const std::string& instance) override {
    return read<InstanceTree>([&](Connection& connection) { return sqlite::instance_tree(connection, instance); });
  }
  ProviderResult<SystemMetrics> system_metrics() override {
    return read<SystemMetrics>([](Connection& connection) { return sqlite::system_metrics(connection); });
  }
  ProviderResult<QueueDepths> queue_depths() override {
    return read<QueueDepths>(
        [](Connection& connection, const ReadTime& time) { return sqlite::queue_depths(connection, time); });
  }
  ProviderResult<std::vector<NodeInfo>> list_nodes() override {
    return read<std::vector<NodeInfo>>([](Connection& connection) { return sqlite::list_nodes(connection); });
  }
  ProviderResult<ActivityPage> list_activities(const ActivityQuery& query) override {
    return read<ActivityPage>(
        [&](Connection& connection, const ReadTime& time) { return sqlite::list_activities(connection, query, time); });
  }
  ProviderResult<StartPage> list_queued_starts(const StartQuery& query) override {
    return read<StartPage>([&](Connection& connection) { return sqlite::list_queued_starts(connection, query); });
  }
  ProviderResult<InstanceQueue> instance_queue(const std::string& instance) override {
    return read<InstanceQueue>([&](Connection& connection, const ReadTime& time) {
      return sqlite::instance_queue(connection, instance, time.now);
    });
  }
  ProviderResult<std::vector<KeyValue>> read_key_value_snapshot(const std::string& instance) override {
    return read<std::vector<KeyValue>>(
        [&](Connection& connection) { return sqlite::read_key_value_snapshot(connection, instance); });
  }

  ProviderResult<DeleteResult> delete_instance(const std::string& instance, bool force) override {
    return change<DeleteResult>(kDurable, [&](Store& store) { return store.delete_instance(instance, force); });
  }
  ProviderResult<DeleteResult> delete_instances(std::span<const std::string> instances, bool force) override {
    return change<DeleteResult>(kDurable, [&](Store& store) { return store.delete_instances(instances, force); });
  }
  ProviderResult<DeleteResult> delete_matching(const InstanceFilter& filter, std::size_t limit) override;
  ProviderResult<PruneResult> prune_executions(const std::string& instance, const PruneOptions& options) override;
  ProviderResult<PruneResult> prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                             std::size_t limit) override;
  ProviderResult<void> append_history(const std::string& instance, ExecutionId execution,
                                      std::span<const EventRecord> events) override {
    return change<void>(
        kDurable, [&](Store& store) { return store.append_history(instance, execution, events); }, bytes_of(events));
  }

  ProviderResult<void> import_instances(std::span<const InstanceCopy> instances) override {
    return change<void>(kDurable, [&](Store& store) { return store.import_instances(instances); }, bytes_of(instances));
  }

  void damage_history(const std::string& instance) override;

  // Transactions of this process that have changed something, synced or not, for measurements.
  [[nodiscard]] std::uint64_t write_transactions() const noexcept {
    return writer_ ? writer_->write_transactions() : 0;
  }
  // Waits in progress, for tests.
  [[nodiscard]] std::size_t waiters() { return wake_ups_->waiters(); }

 private:
  // Locks and attempts may be lost by a power cut: then nobody is left who could hold them.
  static constexpr bool kDurable = true;
  static constexpr bool kMayBeForgotten = false;

  // One answer for each element; `step` answers ProviderResult<T>.
  template <class T, class Element, class Step>
  std::vector<ProviderResult<T>> batch(std::span<const Element> elements, bool durable, const Step& step);
  // One answer; `step` answers T or ProviderResult<T>, or nothing. `bytes` are those of the values that it writes.
  template <class T, class Step>
  ProviderResult<T> change(bool durable, const Step& step, std::size_t bytes = 0);
  // Several transactions, so that a long past blocks no other process. Returns nothing if the instance is not the one
  // that `may_prune` accepts.
  [[nodiscard]] ProviderResult<std::optional<PruneResult>> prune_in_steps(
      const std::string& instance, const PruneOptions& options, const std::function<bool(Connection&)>& may_prune);
  // `look` gets a connection, and the time if it takes one.
  template <class T, class Look>
  ProviderResult<T> read(const Look& look);

  // Throws ProviderFailure in a child of fork(), where a thread that is not there may have a mutex.
  void check_process() const {
    if (!home_.is_this()) throw ProviderFailure(used_by_child(home_));
  }
  // Other processes must know the time of this one after a jump, also if it only waits.
  void save_time() noexcept;
  // Takes a number in a transaction of its own.
  void enter();
  // Takes a number unless there is one, and releases the locks of processes that are gone.
  void take_number(Store& store);
  // Locks the number anew if the file of locks was deleted: other processes would think that this one is gone.
  void keep_number(Store& store);
  // Returns the error of every call from now on, once the file is in doubt or no longer the one that was opened.
  [[nodiscard]] std::optional<ProviderError> failure();
  void fail_for_good(const ProviderError& error);
  [[nodiscard]] static ProviderError not_writable();
  void open_for_reading(const std::string& path, const SqliteOptions& options);
  void make_readers(const SqliteOptions& options, bool alone);
  [[nodiscard]] std::vector<std::int64_t> live_processes(Connection& connection) const;

  HomeProcess home_;
  bool in_memory_;
  std::unique_ptr<Connection> file_holder_;  // of a store that is only read: keeps the inode of the file in use
  std::optional<StoreFile> file_;            // absent: in memory
  std::shared_ptr<StoreTime> time_;
  std::unique_ptr<SavedTime> saved_time_;
  std::unique_ptr<ProcessLocks> process_locks_;
  std::int64_t process_ = 0;
  bool must_take_number_ = false;     // again, until a transaction in which it did is committed; the writer's
  std::unique_ptr<Readers> readers_;  // null: everything goes through the writer
  std::unique_ptr<WakeUps> wake_ups_;
  std::unique_ptr<Writer> writer_;  // null: only read
};

template <class T, class Element, class Step>
std::vector<ProviderResult<T>> SqliteStore::batch(std::span<const Element> elements, bool durable,
                                                  const Step& step) try {
  if (!home_.is_this()) return {elements.size(), ProviderResult<T>(used_by_child(home_))};
  const ProviderError not_run(ProviderErrorKind::kUnavailable, "the store returned no result");
  std::vector<ProviderResult<T>> outcomes(elements.size(), ProviderResult<T>(not_run));
  if (elements.empty()) return outcomes;
  if (!writer_) return std::vector<ProviderResult<T>>(elements.size(), ProviderResult<T>(not_writable()));
  const JumpReport report(*time_);
  for (std::size_t first = 0, next = 0; first < elements.size(); first = next) {
    TransactionLoad load;
    while (next < elements.size() && load.add(1, bytes_of(elements[next]))) ++next;
    Job job;
    job.parts = load.parts();
    job.bytes = load.bytes();
    job.durable = durable;
    job.run = [&](Store& store, std::size_t part) { outcomes[first + part] = step(store, elements[first + part]); };
    job.fail = [&](std::size_t part, const ProviderError& error) { outcomes[first + part] = error; };
    writer_->execute(job);
  }
  return outcomes;
} catch (const std::bad_alloc&) {
  return {elements.size(), ProviderResult<T>(out_of_memory())};
}

template <class T, class Step>
ProviderResult<T> SqliteStore::change(bool durable, const Step& step, std::size_t bytes) try {
  if (!home_.is_this()) return used_by_child(home_);
  if (!writer_) return not_writable();
  const JumpReport report(*time_);
  ProviderResult<T> outcome = ProviderError(ProviderErrorKind::kUnavailable, "the store returned no result");
  Job job;
  job.bytes = bytes;
  job.durable = durable;
  job.run = [&](Store& store, std::size_t) {
    if constexpr (std::is_void_v<decltype(step(store))>) {
      step(store);
      outcome = ProviderResult<T>();
    } else {
      outcome = step(store);
    }
  };
  job.fail = [&](std::size_t, const ProviderError& error) { outcome = error; };
  writer_->execute(job);
  return outcome;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

template <class T, class Look>
ProviderResult<T> SqliteStore::read(const Look& look) {
  if (!home_.is_this()) return used_by_child(home_);
  constexpr bool kNeedsTime = std::is_invocable_v<const Look&, Connection&, const ReadTime&>;
  if (!readers_) {
    return change<T>(kMayBeForgotten, [&](Store& store) {
      if constexpr (kNeedsTime) {
        return look(store.connection(), ReadTime{.now = store.now(), .of_locks = store.now()});
      } else {
        return look(store.connection());
      }
    });
  }
  if (const std::optional<ProviderError> failed = failure()) return *failed;
  const JumpReport report(*time_);
  try {
    std::optional<ProviderResult<T>> outcome;
    readers_->run([&](Connection& connection) {
      if constexpr (kNeedsTime) {
        outcome = look(connection, saved_time_->peek(connection));
      } else {
        outcome = look(connection);
      }
    });
    return *std::move(outcome);
  } catch (const SqliteError& error) {
    if (leaves_doubt(error)) fail_for_good(as_provider_error(error));
    return as_provider_error(error);
  } catch (const ProviderFailure& failure) {
    if (failure.error().kind() == ProviderErrorKind::kStoreFailed) fail_for_good(failure.error());  // another file
    return failure.error();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace perdure::sqlite
