// The provider itself: each call is one transaction on the store.
#include <perdure/memory_provider.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <perdure/engine_metrics.h>
#include "providers/discarded_messages.h"
#include "providers/history_damage.h"
#include "providers/memory/commit.h"
#include "providers/memory/instance_queue.h"
#include "providers/memory/memory_admin.h"
#include "providers/memory/reads.h"
#include "providers/memory/transactions.h"
#include "providers/memory/work_queue.h"
#include "providers/memory/work_selection.h"
#include "providers/store_errors.h"

namespace perdure {

namespace memory {

namespace {

class MemoryProvider final : public Provider, public HistoryDamage {
 public:
  explicit MemoryProvider(MemoryProviderOptions options)
      : reports_{.logger = std::move(options.logger), .metrics = std::move(options.metrics)},
        transactions_(
            std::make_unique<Transactions>(options.clock ? std::move(options.clock) : std::make_shared<SystemClock>(),
                                           reports_.logger, options.orphan_retention)),
        admin_(*transactions_, reports_) {}
  ~MemoryProvider() override {
    if (!transactions_->is_home()) static_cast<void>(transactions_.release());
  }

  std::string_view name() const noexcept override { return "memory"; }
  Capabilities capabilities() const noexcept override { return {.wake_ups = true, .fast_path = true}; }
  ProviderAdmin* admin() noexcept override { return &admin_; }

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override;
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override;
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override;
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override;
  std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) override;
  ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy) override;

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

  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override;
  ProviderResult<std::optional<CustomStatus>> read_custom_status(const std::string& instance,
                                                                 std::uint64_t last_seen_version) override;
  ProviderResult<std::optional<std::string>> read_key_value(const std::string& instance,
                                                            const std::string& key) override;
  ProviderResult<std::vector<KeyValue>> read_key_values(const std::string& instance) override;
  ProviderResult<std::optional<InstanceStats>> read_stats(const std::string& instance) override;

  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override;
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override;
  void wake_waiters() noexcept override { transactions_->wake_waiters(); }
  Timestamp now() override;
  Milliseconds steady() override;

  void damage_history(const std::string& instance) override;

  ProviderResult<void> register_node(const NodeInfo& node) override;
  ProviderResult<void> remove_node(const std::string& id) override;

 private:
  void report(const std::vector<DroppedMessage>& dropped) const;
  // Calls operation(store, element, now) for each element in one transaction, and returns the outcomes in their order.
  // Reports the messages that the transaction discarded after it.
  template <class T, class Element, class Operation>
  std::vector<ProviderResult<T>> batch(std::span<const Element> elements, Operation operation);

  Reports reports_;
  std::unique_ptr<Transactions> transactions_;
  MemoryAdmin admin_;
};

template <class T, class Element, class Operation>
std::vector<ProviderResult<T>> MemoryProvider::batch(std::span<const Element> elements, Operation operation) {
  auto outcomes = reports_.change(*transactions_, [&](Store& store, Timestamp now) {
    std::vector<ProviderResult<T>> results;
    results.reserve(elements.size());
    for (const Element& element : elements) results.push_back(operation(store, element, now));
    return results;
  });
  if (!outcomes) return std::vector<ProviderResult<T>>(elements.size(), outcomes.error());
  return *std::move(outcomes);
}

// ---- The orchestrator queue ----

ProviderResult<OrchestrationBatch> MemoryProvider::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  std::vector<DroppedMessage> dropped;
  ProviderResult<OrchestrationBatch> fetched = transactions_->run([&](Store& store, Timestamp now) {
    dropped = drop_orphans(store, now);
    return fetch_instances(store, fetch, now);
  });
  // A kept lock that its owner fetched anew may end earlier than those who wait for it expect.
  if (fetched && !fetched->items.empty()) transactions_->notify();
  report(dropped);  // not under the mutex: a sink may take its time, or ask this provider
  return fetched;
}

void MemoryProvider::report(const std::vector<DroppedMessage>& dropped) const {
  for (const DroppedMessage& message : dropped) {
    const std::string kind = std::to_string(static_cast<unsigned>(message.record.kind));
    const std::string position = std::to_string(message.id);
    reports_.logger.warn("discarded messages for an instance that was never started",
                         {{"instance_id", message.record.instance}, {"message_kind", kind}, {"position", position}});
    reports_.metrics.add(metric::kOrphanMessagesDropped);
  }
}

ProviderResult<StoredHistory> MemoryProvider::read_history(const LockToken& token, EventId after) {
  return transactions_->run(
      [&](Store& store, Timestamp now) { return memory::read_history(store, token, after, now); });
}

std::vector<ProviderResult<CommitAnswer>> MemoryProvider::ack_orchestration_items(std::span<const TurnCommit> commits) {
  return batch<CommitAnswer>(
      commits, [](Store& store, const TurnCommit& commit, Timestamp now) { return commit_turn(store, commit, now); });
}

std::vector<ProviderResult<void>> MemoryProvider::abandon_orchestration_items(std::span<const Abandon> abandons) {
  return batch<void>(abandons, [](Store& store, const Abandon& abandon, Timestamp now) {
    return abandon_instance(store, abandon, now);
  });
}

std::vector<ProviderResult<Timestamp>> MemoryProvider::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                                 Milliseconds extend_for) {
  return batch<Timestamp>(tokens, [extend_for](Store& store, const LockToken& token, Timestamp now) {
    return renew_instance(store, token, extend_for, now);
  });
}

std::vector<ProviderResult<void>> MemoryProvider::enqueue_messages(std::span<const MessageRecord> messages) {
  return batch<void>(messages, [](Store& store, const MessageRecord& message, Timestamp now) {
    return memory::enqueue_message(store, message, now);
  });
}

ProviderResult<StartOutcome> MemoryProvider::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  return reports_.change(*transactions_,
                         [&](Store& store, Timestamp now) { return memory::enqueue_start(store, start, policy, now); });
}

// ---- The worker queue ----

ProviderResult<WorkBatch> MemoryProvider::fetch_work_items(const WorkFetch& fetch) {
  ProviderResult<WorkBatch> fetched =
      transactions_->run([&](Store& store, Timestamp now) { return fetch_work(store, fetch, now); });
  // A session that was claimed makes more activities fit for its owner, or ends earlier than others expect.
  if (fetched && !fetched->items.empty()) transactions_->notify();
  return fetched;
}

std::vector<ProviderResult<void>> MemoryProvider::ack_work_items(std::span<const WorkAck> acks) {
  return batch<void>(acks, [](Store& store, const WorkAck& ack, Timestamp now) { return ack_work(store, ack, now); });
}

std::vector<ProviderResult<void>> MemoryProvider::abandon_work_items(std::span<const Abandon> abandons) {
  return batch<void>(abandons, [](Store& store, const Abandon& abandon, Timestamp now) {
    abandon_work(store, abandon, now);
    return ProviderResult<void>();
  });
}

std::vector<ProviderResult<Timestamp>> MemoryProvider::renew_work_locks(std::span<const LockToken> tokens,
                                                                        Milliseconds extend_for) {
  return batch<Timestamp>(tokens, [extend_for](Store& store, const LockToken& token, Timestamp now) {
    return renew_work(store, token, extend_for, now);
  });
}

std::vector<ProviderResult<Timestamp>> MemoryProvider::heartbeat(std::span<const Heartbeat> heartbeats) {
  return batch<Timestamp>(heartbeats, [](Store& store, const Heartbeat& heartbeat, Timestamp now) {
    return memory::heartbeat(store, heartbeat, now);
  });
}

std::vector<ProviderResult<void>> MemoryProvider::enqueue_activities(std::span<const MessageRecord> activities) {
  return batch<void>(activities, [](Store& store, const MessageRecord& activity, Timestamp now) {
    return memory::enqueue_activity(store, activity, now);
  });
}

ProviderResult<std::size_t> MemoryProvider::renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                                           Milliseconds idle_timeout) {
  return transactions_->run_and_notify(
      [&](Store& store, Timestamp now) { return store.sessions.renew(owners, extend_for, idle_timeout, now); });
}

ProviderResult<std::size_t> MemoryProvider::cleanup_sessions() {
  return transactions_->run([](Store& store, Timestamp now) { return memory::cleanup_sessions(store, now); });
}

// ---- What clients read ----

ProviderResult<std::optional<InstanceStatus>> MemoryProvider::read_status(const std::string& instance) {
  return transactions_->run([&](Store& store, Timestamp) { return memory::read_status(store, instance); });
}

ProviderResult<std::optional<CustomStatus>> MemoryProvider::read_custom_status(const std::string& instance,
                                                                               std::uint64_t last_seen_version) {
  return transactions_->run(
      [&](Store& store, Timestamp) { return memory::read_custom_status(store, instance, last_seen_version); });
}

ProviderResult<std::optional<std::string>> MemoryProvider::read_key_value(const std::string& instance,
                                                                          const std::string& key) {
  return transactions_->run([&](Store& store, Timestamp) { return memory::read_key_value(store, instance, key); });
}

ProviderResult<std::vector<KeyValue>> MemoryProvider::read_key_values(const std::string& instance) {
  return transactions_->run([&](Store& store, Timestamp) { return memory::read_key_values(store, instance); });
}

ProviderResult<std::optional<InstanceStats>> MemoryProvider::read_stats(const std::string& instance) {
  return transactions_->run([&](Store& store, Timestamp) { return memory::read_stats(store, instance); });
}

// ---- Waiting ----

ProviderResult<bool> MemoryProvider::wait_for_work(const WorkWait& wait, Timestamp deadline) {
  // One item is enough to end the wait, so that is all that is looked for.
  WorkWait one = wait;
  if (one.orchestrations) one.orchestrations->limit = std::min<std::size_t>(one.orchestrations->limit, 1);
  if (one.activities) one.activities->limit = std::min<std::size_t>(one.activities->limit, 1);
  std::optional<std::uint64_t> losses_seen;  // a node may run a thousand activities: not all are checked at each commit
  return transactions_->wait(
      [&](const Store& store, Timestamp now) {
        Outlook outlook;
        if (one.orchestrations) {
          const FoundInstances found = find_instances(store, *one.orchestrations, now);
          outlook = {.found = !found.rows.empty(), .look_again_at = found.look_again_at};
        }
        if (one.activities && !outlook.found) {
          const FoundActivities found = find_activities(store, *one.activities, now);
          outlook = {.found = !found.rows.empty(),
                     .look_again_at = std::min(outlook.look_again_at, found.look_again_at)};
        }
        const std::uint64_t losses = store.activities.losses();
        if (std::exchange(losses_seen, losses) != losses && has_lost_any(store, one.held)) outlook.found = true;
        return outlook;
      },
      deadline, wait.stop);
}

ProviderResult<bool> MemoryProvider::wait_for_change(const std::string& instance, const InstanceChange& change,
                                                     Timestamp deadline) {
  return transactions_->wait(
      [&](const Store& store, Timestamp) { return Outlook{.found = has_changed(store, instance, change)}; }, deadline);
}

Timestamp MemoryProvider::now() {
  return transactions_->now();
}

Milliseconds MemoryProvider::steady() {
  return transactions_->steady();
}

// ---- Nodes ----

ProviderResult<void> MemoryProvider::register_node(const NodeInfo& node) {
  if (node.id.empty()) return node_without_id();
  return transactions_->run([&](Store& store, Timestamp now) { (store.nodes[node.id] = node).registered_at = now; });
}

ProviderResult<void> MemoryProvider::remove_node(const std::string& id) {
  return transactions_->run([&](Store& store, Timestamp) { store.nodes.erase(id); });
}

void MemoryProvider::damage_history(const std::string& instance) {
  const auto damaged = transactions_->run([&](Store& store, Timestamp) {
    KeyRow* const row = store.keys.find(instance);
    if (row == nullptr || !row->instance) return;
    for (EventRecord& event : row->instance->executions.rbegin()->second.events) event.body = "\xff";
  });
  damaged.value();
}

}  // namespace

}  // namespace memory

std::shared_ptr<Provider> make_memory_provider(MemoryProviderOptions options) {
  return std::make_shared<memory::MemoryProvider>(std::move(options));
}

}  // namespace perdure
