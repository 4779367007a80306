// HookedStore: a store that lets a test do something between two of the reads of an operator's command.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <perdure/provider_admin.h>
#include <perdure/testing/forwarding_provider.h>

namespace perdure::test {

class HookedAdmin final : public ProviderAdmin {
 public:
  explicit HookedAdmin(ProviderAdmin& inner) : inner_(inner) {}

  // Called with "history i", "queue i" or "info i" before the store is asked for these of the instance i.
  std::function<void(const std::string&)> before = [](const std::string&) {};

  ProviderResult<InstancePage> list_instances(const InstanceQuery& query) override {
    return inner_.list_instances(query);
  }
  ProviderResult<std::vector<ExecutionId>> list_executions(const std::string& instance) override {
    return inner_.list_executions(instance);
  }
  ProviderResult<InstanceInfo> instance_info(const std::string& instance) override {
    before("info " + instance);
    return inner_.instance_info(instance);
  }
  ProviderResult<ExecutionInfo> execution_info(const std::string& instance, ExecutionId execution) override {
    return inner_.execution_info(instance, execution);
  }
  ProviderResult<std::vector<EventRecord>> read_history(const std::string& instance,
                                                        std::optional<ExecutionId> execution, EventId after) override {
    before("history " + instance);
    return inner_.read_history(instance, execution, after);
  }
  ProviderResult<std::vector<std::string>> list_children(const std::string& instance) override {
    return inner_.list_children(instance);
  }
  ProviderResult<InstanceTree> instance_tree(const std::string& instance) override {
    return inner_.instance_tree(instance);
  }
  ProviderResult<SystemMetrics> system_metrics() override { return inner_.system_metrics(); }
  ProviderResult<QueueDepths> queue_depths() override { return inner_.queue_depths(); }
  ProviderResult<std::vector<NodeInfo>> list_nodes() override { return inner_.list_nodes(); }
  ProviderResult<ActivityPage> list_activities(const ActivityQuery& query) override {
    return inner_.list_activities(query);
  }
  ProviderResult<StartPage> list_queued_starts(const StartQuery& query) override {
    return inner_.list_queued_starts(query);
  }
  ProviderResult<InstanceQueue> instance_queue(const std::string& instance) override {
    before("queue " + instance);
    return inner_.instance_queue(instance);
  }
  ProviderResult<std::vector<KeyValue>> read_key_value_snapshot(const std::string& instance) override {
    return inner_.read_key_value_snapshot(instance);
  }
  ProviderResult<DeleteResult> delete_instance(const std::string& instance, bool force) override {
    return inner_.delete_instance(instance, force);
  }
  ProviderResult<DeleteResult> delete_instances(std::span<const std::string> instances, bool force) override {
    return inner_.delete_instances(instances, force);
  }
  ProviderResult<DeleteResult> delete_matching(const InstanceFilter& filter, std::size_t limit) override {
    return inner_.delete_matching(filter, limit);
  }
  ProviderResult<PruneResult> prune_executions(const std::string& instance, const PruneOptions& options) override {
    return inner_.prune_executions(instance, options);
  }
  ProviderResult<PruneResult> prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                             std::size_t limit) override {
    return inner_.prune_matching(filter, options, limit);
  }
  ProviderResult<void> append_history(const std::string& instance, ExecutionId execution,
                                      std::span<const EventRecord> events) override {
    return inner_.append_history(instance, execution, events);
  }

 private:
  ProviderAdmin& inner_;
};

class HookedStore final : public testing::ForwardingProvider {
 public:
  explicit HookedStore(const std::shared_ptr<Provider>& inner) : ForwardingProvider(inner), hooked(*inner->admin()) {}

  HookedAdmin hooked;

  ProviderAdmin* admin() noexcept override { return &hooked; }
};

// Makes the hook act once, before the n-th of such calls.
inline void act_before(HookedStore& store, std::string call, int nth, std::function<void()> act) {
  store.hooked.before = [call = std::move(call), left = nth, act = std::move(act)](const std::string& next) mutable {
    if (next == call && --left == 0) act();
  };
}

}  // namespace perdure::test
