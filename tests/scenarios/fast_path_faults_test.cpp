// The fast path on a bad day: calls fail, their answers are lost, requests arrive twice, nodes die and time jumps.
// Every workflow ends as it should.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/stepped_cluster.h"
#include "support/dice.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using Ctx = OrchestrationContext;

class FlakyStore final : public testing::ForwardingProvider {
 public:
  FlakyStore(std::shared_ptr<Provider> inner, Dice& dice) : ForwardingProvider(std::move(inner)), dice_(dice) {}
  bool well = false;  // no faults any more

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    return one([&] { return ForwardingProvider::fetch_orchestration_items(fetch); });
  }
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override {
    return one([&] { return ForwardingProvider::read_history(token, after); });
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    return each(commits.size(), [&] { return ForwardingProvider::ack_orchestration_items(commits); });
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    return each(abandons.size(), [&] { return ForwardingProvider::abandon_orchestration_items(abandons); });
  }
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override {
    return each(tokens.size(), [&] { return ForwardingProvider::renew_orchestration_locks(tokens, extend_for); });
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    return one([&] { return ForwardingProvider::fetch_work_items(fetch); });
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    return each(acks.size(), [&] { return ForwardingProvider::ack_work_items(acks); });
  }
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override {
    return each(abandons.size(), [&] { return ForwardingProvider::abandon_work_items(abandons); });
  }
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    return each(tokens.size(), [&] { return ForwardingProvider::renew_work_locks(tokens, extend_for); });
  }

 private:
  enum class Fault : std::uint8_t { kNone, kRefused, kAnswerLost, kTwice };
  Fault draw() {
    if (well) return Fault::kNone;
    const auto drawn = dice_.below(24);
    return drawn == 0 ? Fault::kRefused : drawn == 1 ? Fault::kAnswerLost : drawn == 2 ? Fault::kTwice : Fault::kNone;
  }
  static ProviderError lost() { return {ProviderErrorKind::kUnavailable, "a bad day"}; }
  template <class Call>
  auto one(Call call) -> decltype(call()) {
    const Fault fault = draw();
    if (fault == Fault::kRefused) return lost();
    auto answer = call();
    if (fault == Fault::kAnswerLost) return lost();
    return fault == Fault::kTwice ? call() : std::move(answer);
  }
  template <class Call>
  auto each(std::size_t count, Call call) -> decltype(call()) {
    using Answers = decltype(call());
    const Fault fault = draw();
    if (fault == Fault::kRefused) return Answers(count, lost());
    auto answers = call();
    if (fault == Fault::kAnswerLost) return Answers(count, lost());
    return fault == Fault::kTwice ? call() : std::move(answers);
  }

  Dice& dice_;
};

Registry workflows() {
  Registry registry;
  registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
  registry.add_activity("Fails", [](ActivityContext&) -> int { throw std::runtime_error("always"); });
  registry.add_orchestration("Chain", [](Ctx ctx, int steps) -> Orchestration<int> {
    int n = 0;
    while (n < steps) n = co_await ctx.schedule_activity<int>("Add", n);
    co_return n;
  });
  registry.add_orchestration("Fan", [](Ctx ctx, int width) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 0; i < width; ++i) parts.push_back(ctx.schedule_activity<int>("Add", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  // Every event counts once, however many steps pass beside them.
  registry.add_orchestration("Listens", [](Ctx ctx, int events) -> Orchestration<int> {
    int heard = 0;
    int n = 0;
    auto next = ctx.dequeue_event<int>("numbers");
    auto step = ctx.schedule_activity<int>("Add", n);
    for (int steps = 0; heard < events || steps < 8;) {
      const auto first = co_await select{next, step};
      if (first.index() == 0) {
        ++heard;
        next = ctx.dequeue_event<int>("numbers");
      } else {
        ++steps;
        step = ctx.schedule_activity<int>("Add", n);
      }
    }
    co_return heard;
  });
  registry.add_orchestration("Races", [](Ctx ctx, int rounds) -> Orchestration<int> {
    for (int i = 0; i < rounds; ++i) {
      // The one that loses is dropped, and its activity withdrawn.
      co_await select{ctx.schedule_activity<int>("Add", i), ctx.schedule_activity<int>("Add", i)};
    }
    co_return rounds;
  });
  registry.add_orchestration("Rounds", [](Ctx ctx, int rounds) -> Orchestration<int> {
    const int n = co_await ctx.schedule_activity<int>("Add", rounds);
    if (rounds < 4) co_return ctx.continue_as_new(n);
    auto failed = co_await ctx.schedule_activity<int>("Fails").as_result();
    co_return (failed ? 100 : 0) + co_await ctx.schedule_sub_orchestration<int>("Chain", n);
  });
  return registry;
}

class FastPathFaults : public InEveryCluster {
 protected:
  SteppedCluster::Node* start() {
    RuntimeOptions options;
    options.max_attempts = 1'000;  // a bad day is no proof of poison
    stores.push_back(std::make_shared<FlakyStore>(cluster.store(), dice));
    return &cluster.start_node(workflows(), options, stores.back());
  }

  Dice dice{GetParam().seed};
  std::vector<std::shared_ptr<FlakyStore>> stores;
};

std::vector<WorldKind> bad_days() {
  std::vector<WorldKind> worlds;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    worlds.push_back({.store = seed % 4 == 0 ? StoreKind::kSqlite : StoreKind::kMemory, .fast = true, .seed = seed});
  }
  for (const std::uint64_t seed : {25U, 26U, 27U}) {
    worlds.push_back({.store = StoreKind::kPostgres, .fast = true, .seed = seed});
  }
  return worlds;
}
INSTANTIATE_TEST_SUITE_P(Worlds, FastPathFaults, ::testing::ValuesIn(bad_days()),
                         [](const auto& world) { return world.param.name(); });

TEST_P(FastPathFaults, EveryWorkflowEndsAsItShould) {
  const std::map<std::string, std::pair<int, int>> expected{
      {"Chain", {6, 6}}, {"Fan", {7, 28}}, {"Listens", {5, 5}}, {"Races", {4, 4}}, {"Rounds", {0, 5}}};
  std::vector<SteppedCluster::Node*> nodes{start(), start()};
  const auto id = [](const std::string& name, int i) { return name + std::to_string(i); };
  constexpr int kEach = 3;
  for (const auto& [name, numbers] : expected) {
    for (int i = 0; i < kEach; ++i) cluster.client().start_orchestration(id(name, i), name, numbers.first);
  }
  int events = 0;
  for (int step = 0; step < 1'500; ++step) {
    if (!cluster.step() || dice.below(40) == 0) cluster.jump(Milliseconds(dice.below(4'000)));
    if (dice.below(20) == 0 && events < 5 * kEach) {
      cluster.client().enqueue_event(id("Listens", events % kEach), "numbers", events);
      ++events;
    }
    if (dice.below(150) == 0) {
      auto& node = nodes[dice.below(nodes.size())];
      cluster.kill_node(*node);
      node = start();
    }
  }
  for (; events < 5 * kEach; ++events) {
    cluster.client().enqueue_event(id("Listens", events % kEach), "numbers", events);
  }
  for (const auto& store : stores) store->well = true;
  for (const auto& [name, numbers] : expected) {
    for (int i = 0; i < kEach; ++i) {
      const auto status = cluster.wait(id(name, i));
      ASSERT_TRUE(status.completed()) << id(name, i) << ": " << status.error_text();
      EXPECT_EQ(status.result<int>(), numbers.second) << id(name, i);
    }
  }
  cluster.advance(60s);  // what nobody knows of any more ends with its lock
  for (SteppedCluster::Node* node : nodes) cluster.stop_node(*node);
  const QueueDepths depths = cluster.store()->admin()->queue_depths().value();
  EXPECT_EQ(depths.activities, 0U) << "an activity was left behind";
}

}  // namespace
}  // namespace perdure::test
