// What tests with real threads share: gates that are opened, and a store whose faults are switched on and off.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/forwarding_provider.h>
#include "support/eventually.h"

namespace perdure::test {

// Closed until somebody opens it; then open for ever. Copies are the same gate.
class Gate {
 public:
  void open() const {
    const std::scoped_lock lock(state_->mutex);
    state_->is_open = true;
    state_->changed.notify_all();
  }
  // False: nobody opened it, and the test's patience is over.
  bool wait() const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, kPatience, [&] { return state_->is_open; });
  }
  [[nodiscard]] bool is_open() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->is_open;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Whether the call returns. One that does not is left to its thread, so it must own what it touches.
inline bool returns(std::function<void()> call) {
  const Gate done;
  std::thread([done, call = std::move(call)] {
    call();
    done.open();
  }).detach();
  return done.wait();
}

class FaultyStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  std::atomic<bool> fetches_fail{false};
  std::atomic<bool> commits_fail{false};
  std::atomic<bool> acks_fail{false};
  std::atomic<bool> abandons_fail{false};
  std::atomic<bool> renewals_fail{false};
  std::atomic<bool> registration_fails{false};
  std::atomic<bool> removal_fails{false};
  std::atomic<int> failures{0};       // of any kind
  std::atomic<int> acks{0};           // that were carried out
  std::atomic<int> waits{0};          // for work, begun
  std::atomic<int> turn_renewals{0};  // that were carried out
  std::atomic<int> work_renewals{0};
  Gate waits_ended;  // the stop of one was requested

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    if (fetches_fail) return failure();
    return ForwardingProvider::fetch_orchestration_items(fetch);
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    if (fetches_fail) return failure();
    return ForwardingProvider::fetch_work_items(fetch);
  }
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    if (fetches_fail) return failure();
    const std::stop_callback ended(wait.stop, [this] { waits_ended.open(); });
    ++waits;
    return ForwardingProvider::wait_for_work(wait, deadline);
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    if (commits_fail) return std::vector<ProviderResult<CommitAnswer>>(commits.size(), failure());
    return ForwardingProvider::ack_orchestration_items(commits);
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> batch) override {
    if (acks_fail) return std::vector<ProviderResult<void>>(batch.size(), failure());
    auto answers = ForwardingProvider::ack_work_items(batch);
    acks += static_cast<int>(batch.size());
    return answers;
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    if (abandons_fail) return std::vector<ProviderResult<void>>(abandons.size(), failure());
    return ForwardingProvider::abandon_orchestration_items(abandons);
  }
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override {
    if (abandons_fail) return std::vector<ProviderResult<void>>(abandons.size(), failure());
    return ForwardingProvider::abandon_work_items(abandons);
  }
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override {
    auto answers = ForwardingProvider::renew_orchestration_locks(tokens, extend_for);
    ++turn_renewals;
    return answers;
  }
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    if (renewals_fail) return std::vector<ProviderResult<Timestamp>>(tokens.size(), failure());
    auto answers = ForwardingProvider::renew_work_locks(tokens, extend_for);
    ++work_renewals;
    return answers;
  }
  ProviderResult<void> register_node(const NodeInfo& node) override {
    if (registration_fails) return failure();
    return ForwardingProvider::register_node(node);
  }
  ProviderResult<void> remove_node(const std::string& id) override {
    if (removal_fails) return failure();
    return ForwardingProvider::remove_node(id);
  }

 private:
  ProviderError failure() {
    ++failures;
    return {ProviderErrorKind::kUnavailable, "the store is away"};
  }
};

// A store in memory that anybody can break, on the machine's clock or on one that is moved, and a client on it.
class Threaded : public ::testing::Test {
 protected:
  explicit Threaded(std::shared_ptr<ManualClock> moved = nullptr) : clock(std::move(moved)) {
    options.clock = clock;
    options.logger = Logger(log);
    options.metrics = Metrics(metrics);
  }

  [[nodiscard]] std::shared_ptr<Runtime> run(const Registry& registry) const {
    return std::make_shared<Runtime>(store, registry, options);
  }
  // An orchestration that does nothing but one activity without input, and gives its result back.
  static void add_flow(Registry& registry, const std::string& name = "Flow", const std::string& activity = "Work",
                       ActivityOptions how = {}) {
    registry.add_orchestration(name, [activity, how](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_activity<int>(activity, how);
    });
  }
  [[nodiscard]] bool ended(const std::string& instance) const {
    return client.get_orchestration_status(instance).ended();
  }
  [[nodiscard]] OrchestrationStatus end_of(const std::string& instance) const {
    EXPECT_TRUE(eventually([&] { return ended(instance); })) << instance << " does not end";
    return client.get_orchestration_status(instance);
  }
  // Moves time on in small steps. Between two of them the node does something else, so that what falls due at one step
  // is done before the next; registry needs add_chore().
  void pass_in_steps(Milliseconds step, int steps) {
    for (int i = 0; i < steps; ++i) {
      clock->advance(step);
      const std::string chore = "chore " + std::to_string(++chores_);
      client.start_orchestration(chore, "Chores");
      ASSERT_TRUE(end_of(chore).completed());
    }
  }
  static void add_chore(Registry& registry) {
    registry.add_activity("Chore", [](ActivityContext&) { return 0; });
    add_flow(registry, "Chores", "Chore");
  }
  // Records that warn of something, for a test that expects none.
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> found;
    for (const auto& record : log->records()) {
      if (record.level >= LogLevel::kWarn) found.push_back(record.message);
    }
    return found;
  }

  std::shared_ptr<ManualClock> clock;
  std::shared_ptr<FaultyStore> store =
      std::make_shared<FaultyStore>(make_memory_provider({.clock = clock, .logger = {}, .metrics = {}}));
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  std::shared_ptr<CapturingMetrics> metrics = std::make_shared<CapturingMetrics>();
  RuntimeOptions options;
  Client client{store};

 private:
  int chores_ = 0;
};

}  // namespace perdure::test
