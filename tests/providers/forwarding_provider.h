// A provider that hands every call to another one: the base of providers with a planted fault.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>

namespace perdure::testing {

class ForwardingProvider : public Provider {
 public:
  explicit ForwardingProvider(std::shared_ptr<Provider> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Provider& inner() noexcept { return *inner_; }

  std::string_view name() const noexcept override { return inner_->name(); }
  Capabilities capabilities() const noexcept override { return inner_->capabilities(); }
  ProviderAdmin* admin() noexcept override { return inner_->admin(); }

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    return inner_->fetch_orchestration_items(fetch);
  }
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override {
    return inner_->read_history(token, after);
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    return inner_->ack_orchestration_items(commits);
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    return inner_->abandon_orchestration_items(abandons);
  }
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override {
    return inner_->renew_orchestration_locks(tokens, extend_for);
  }
  std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) override {
    return inner_->enqueue_messages(messages);
  }
  ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy) override {
    return inner_->enqueue_start(start, policy);
  }

  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    return inner_->fetch_work_items(fetch);
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    return inner_->ack_work_items(acks);
  }
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override {
    return inner_->abandon_work_items(abandons);
  }
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    return inner_->renew_work_locks(tokens, extend_for);
  }
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override {
    return inner_->heartbeat(heartbeats);
  }
  std::vector<ProviderResult<void>> enqueue_activities(std::span<const MessageRecord> activities) override {
    return inner_->enqueue_activities(activities);
  }
  ProviderResult<std::size_t> renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                             Milliseconds idle_timeout) override {
    return inner_->renew_sessions(owners, extend_for, idle_timeout);
  }
  ProviderResult<std::size_t> cleanup_sessions() override { return inner_->cleanup_sessions(); }

  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override {
    return inner_->read_status(instance);
  }
  ProviderResult<std::optional<CustomStatus>> read_custom_status(const std::string& instance,
                                                                 std::uint64_t last_seen_version) override {
    return inner_->read_custom_status(instance, last_seen_version);
  }
  ProviderResult<std::optional<std::string>> read_key_value(const std::string& instance,
                                                            const std::string& key) override {
    return inner_->read_key_value(instance, key);
  }
  ProviderResult<std::vector<KeyValue>> read_key_values(const std::string& instance) override {
    return inner_->read_key_values(instance);
  }
  ProviderResult<std::optional<InstanceStats>> read_stats(const std::string& instance) override {
    return inner_->read_stats(instance);
  }

  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    return inner_->wait_for_work(wait, deadline);
  }
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override {
    return inner_->wait_for_change(instance, change, deadline);
  }
  void wake_waiters() noexcept override { inner_->wake_waiters(); }
  Timestamp now() override { return inner_->now(); }

  ProviderResult<void> register_node(const NodeInfo& node) override { return inner_->register_node(node); }
  ProviderResult<void> remove_node(const std::string& id) override { return inner_->remove_node(id); }

 private:
  std::shared_ptr<Provider> inner_;
};

}  // namespace perdure::testing
