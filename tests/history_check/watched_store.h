// WatchedStore: a store as the check sees it. It keeps a record of what is read, lets a test do something in between,
// and fails the test if anything is written.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/provider_admin.h>
#include <perdure/testing/forwarding_provider.h>

namespace perdure::test {

class WatchedAdmin final : public ProviderAdmin {
 public:
  explicit WatchedAdmin(ProviderAdmin& inner) : inner_(inner) {}

  // "list 100", "info order-1", "history order-1 2", "values order-1", "executions order-1".
  std::vector<std::string> calls;
  // Called with such a line before the store is asked.
  std::function<void(const std::string&)> before = [](const std::string&) {};
  // May change the answer.
  using History = ProviderResult<std::vector<EventRecord>>;
  std::function<History(ExecutionId, History)> history = [](ExecutionId, History answer) { return answer; };

  ProviderResult<InstancePage> list_instances(const InstanceQuery& query) override {
    called("list " + std::to_string(query.limit));
    return inner_.list_instances(query);
  }
  ProviderResult<std::vector<ExecutionId>> list_executions(const std::string& instance) override {
    called("executions " + instance);
    return inner_.list_executions(instance);
  }
  ProviderResult<InstanceInfo> instance_info(const std::string& instance) override {
    called("info " + instance);
    return inner_.instance_info(instance);
  }
  ProviderResult<std::vector<EventRecord>> read_history(const std::string& instance,
                                                        std::optional<ExecutionId> execution, EventId after) override {
    called("history " + instance + " " + std::to_string(execution.value_or(0)));
    return history(execution.value_or(0), inner_.read_history(instance, execution, after));
  }
  ProviderResult<std::vector<KeyValue>> read_key_value_snapshot(const std::string& instance) override {
    called("values " + instance);
    return inner_.read_key_value_snapshot(instance);
  }

  // ---- not for the check ----

  ProviderResult<ExecutionInfo> execution_info(const std::string&, ExecutionId) override { return refused(); }
  ProviderResult<std::vector<std::string>> list_children(const std::string&) override { return refused(); }
  ProviderResult<InstanceTree> instance_tree(const std::string&) override { return refused(); }
  ProviderResult<SystemMetrics> system_metrics() override { return refused(); }
  ProviderResult<QueueDepths> queue_depths() override { return refused(); }
  ProviderResult<std::vector<NodeInfo>> list_nodes() override { return refused(); }
  ProviderResult<ActivityPage> list_activities(const ActivityQuery&) override { return refused(); }
  ProviderResult<StartPage> list_queued_starts(const StartQuery&) override { return refused(); }
  ProviderResult<DeleteResult> delete_instance(const std::string&, bool) override { return refused(); }
  ProviderResult<DeleteResult> delete_instances(std::span<const std::string>, bool) override { return refused(); }
  ProviderResult<DeleteResult> delete_matching(const InstanceFilter&, std::size_t) override { return refused(); }
  ProviderResult<PruneResult> prune_executions(const std::string&, const PruneOptions&) override { return refused(); }
  ProviderResult<PruneResult> prune_matching(const InstanceFilter&, const PruneOptions&, std::size_t) override {
    return refused();
  }
  ProviderResult<void> append_history(const std::string&, ExecutionId, std::span<const EventRecord>) override {
    return refused();
  }

 private:
  void called(const std::string& call) {
    calls.push_back(call);
    before(call);
  }
  static ProviderError refused() {
    ADD_FAILURE() << "the check called something that is not for it";
    return {ProviderErrorKind::kUnsupported, "not for the check"};
  }

  ProviderAdmin& inner_;
};

class WatchedStore final : public testing::ForwardingProvider {
 public:
  explicit WatchedStore(const std::shared_ptr<Provider>& inner) : ForwardingProvider(inner), watched(*inner->admin()) {}

  WatchedAdmin watched;
  bool has_admin = true;

  ProviderAdmin* admin() noexcept override { return has_admin ? &watched : nullptr; }
};

}  // namespace perdure::test
