// What workflows do, in a test environment: children, cancels, continue-as-new, many at once; and what can be asserted.
#include <set>
#include <string>
#include <vector>

#include <perdure/testing/replayer.h>
#include "environment/scene.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Registry family() {
  Registry registry;
  registry.add_orchestration("Child", [](Ctx ctx, int n) -> Orchestration<int> {
    co_await ctx.schedule_timer(std::chrono::hours(n));
    if (n > 5) throw OrchestrationError("too long");
    co_return n* n;
  });
  registry.add_orchestration("Parent", [](Ctx ctx, int n) -> Orchestration<int> {
    std::vector<Future<int>> children;
    for (int i = 1; i <= n; ++i) children.push_back(ctx.schedule_sub_orchestration<int>("Child", i));
    int sum = 0;
    for (const int square : co_await ctx.join(std::move(children))) sum += square;
    co_return sum;
  });
  return registry;
}

TEST(Workflows, WaitForTheirChildren) {
  TestEnvironment env(family());
  EXPECT_EQ(env.run("i", "Parent", 3).result<int>(), 14);
  EXPECT_EQ(passed(env), 3h);
  EXPECT_EQ(env.client().get_instance_tree("i").ids.size(), 4U);
}

TEST(Workflows, HearOfTheFailuresOfTheirChildren) {
  TestEnvironment env(family());
  EXPECT_THAT(env.run("i", "Parent", 6).error_text(), HasSubstr("too long"));
  EXPECT_EQ(passed(env), 6h);
}

TEST(Workflows, CanBeCancelled) {
  TestEnvironment env(family());
  env.after(90min, [&] { env.client().cancel_instance("i", "not needed"); });
  const auto status = env.run("i", "Parent", 3);
  EXPECT_EQ(status.state, OrchestrationState::kCancelled);
  EXPECT_THAT(status.error_text(), HasSubstr("not needed"));
  EXPECT_EQ(passed(env), 90min);
  env.settle();
  EXPECT_EQ(env.client().get_orchestration_status("i::sub::3").state, OrchestrationState::kCancelled);
}

TEST(Workflows, CanContinueAsNewAThousandTimes) {
  Registry registry;
  registry.add_orchestration("Eternal", [](Ctx ctx, int left) -> Orchestration<int> {
    co_await ctx.schedule_timer(kDay);
    if (left > 0) co_return ctx.continue_as_new(left - 1);
    co_return static_cast<int>(ctx.execution_id());
  });
  TestEnvironment env(registry);
  EXPECT_EQ(env.run("i", "Eternal", 1'000).result<int>(), 1'001);
  EXPECT_EQ(passed(env), 1'001 * kDay);
  EXPECT_EQ(env.client().list_executions("i").size(), 1'001U);
  EXPECT_EQ(env.history("i", 500).size(), 4U);
}

TEST(Workflows, RunSideBySide) {
  TestEnvironment env(family());
  constexpr int kInstances = 300;
  for (int i = 0; i < kInstances; ++i) env.start("i" + std::to_string(i), "Child", i % 5);
  env.advance(5h);
  for (int i = 0; i < kInstances; ++i) {
    EXPECT_EQ(env.client().get_orchestration_status("i" + std::to_string(i)).result<int>(), (i % 5) * (i % 5));
  }
  EXPECT_EQ(passed(env), 5h);
}

TEST(Workflows, AreStartedOnce) {
  TestEnvironment env(family());
  EXPECT_TRUE(env.run("i", "Child", 1).completed());
  try {
    env.run("i", "Child", 2);
    ADD_FAILURE() << "it was started twice";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kAlreadyExists);
  }
  EXPECT_THROW(env.start("i", "Child"), ClientError);
}

// ---- Assertions on the history ----

TEST(Histories, CanBeAssertedOn) {
  TestEnvironment env(caller());
  env.mock_activity("Work", [](ActivityContext&, int n) { return n; });
  env.set_activity_duration("Work", 26h);
  EXPECT_TRUE(env.run("i", "Caller", 4).completed());
  EXPECT_THAT(env.event_kinds("i"),
              ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "OrchestrationCompleted"));
  const std::vector<Event> history = env.history("i");
  EXPECT_EQ(std::get<events::ActivityScheduled>(history.at(1).body).name, "Work");
  EXPECT_EQ(std::get<events::ActivityCompleted>(history.at(2).body).result, "4");
  EXPECT_EQ(history.at(2).time, kStart + 26h);
  EXPECT_THAT(env.timeline("i"), HasSubstr("0d 00:00:00.000  turn 1  2 ActivityScheduled 'Work' input=4\n"));
  EXPECT_THAT(env.timeline("i"), HasSubstr("1d 02:00:00.000  turn 2  3 ActivityCompleted of 2 result=4\n"));
}

TEST(Histories, OfUnknownInstancesAreEmpty) {
  TestEnvironment env(caller());
  EXPECT_THAT(env.history("nobody"), IsEmpty());
  EXPECT_THAT(env.event_kinds("nobody"), IsEmpty());
  EXPECT_EQ(env.timeline("nobody"), "");
}

TEST(Histories, CanBeRecordedAndReplayed) {
  TestEnvironment env(approval());
  env.raise_event_after(1min, "i", "go", "yes");
  EXPECT_TRUE(env.run("i", "Approval").completed());
  const std::string recorded = env.history_text("i");
  EXPECT_THAT(recorded, StartsWith("perdure history 1\n"));
  EXPECT_TRUE(perdure::testing::Replayer(approval()).replay_text(recorded));

  Registry changed;
  changed.add_orchestration("Approval", [](Ctx ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_timer(1h);
    co_return std::string("too late");
  });
  const auto outcome = perdure::testing::Replayer(changed).replay_text(recorded);
  EXPECT_FALSE(outcome);
  EXPECT_THAT(outcome.report(), HasSubstr("ExternalSubscribed"));
}

// ---- Seeds ----

// Activities that race, values that are drawn, a child and an event.
Registry busy() {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration("Child", [](Ctx ctx) -> Orchestration<std::string> { co_return ctx.new_guid(); });
  registry.add_orchestration("Busy", [](Ctx ctx) -> Orchestration<std::string> {
    std::vector<Future<int>> parts;
    for (int i = 0; i < 6; ++i) parts.push_back(ctx.schedule_activity<int>("Work", i));
    auto child = ctx.schedule_sub_orchestration<std::string>("Child");
    std::string order;
    while (!parts.empty()) {
      const auto first = co_await ctx.select(parts);
      order += std::to_string(first.value());
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(first.index()));
    }
    order += co_await std::move(child);
    co_return order + std::to_string(ctx.random());
  });
  return registry;
}

std::string life(std::uint64_t seed) {
  TestOptions options;
  options.seed = seed;
  TestEnvironment env(busy(), options);
  for (const char* id : {"a", "b", "c"}) env.start(id, "Busy");
  std::string text;
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_TRUE(env.wait(id).completed()) << "seed " << seed;
    text += env.history_text(id);
  }
  return text;
}

TEST(Seeds, ThatAreEqualGiveEqualHistories) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(life(seed), life(seed)) << "seed " << seed;
}

TEST(Seeds, ThatDifferTryOtherOrders) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TestOptions options;
    options.seed = seed;
    TestEnvironment env(busy(), options);
    orders.insert(env.run("i", "Busy").result<std::string>().substr(0, 6));
    if (seed > 0) continue;
    EXPECT_THAT(orders, ElementsAre("012345")) << "without a seed the oldest comes first";
  }
  EXPECT_GT(orders.size(), 3U);
}

}  // namespace
}  // namespace perdure::test
