// What the engine counts, over whole lives of orchestrations: every figure once, in the time of the store, and under
// labels that do not grow with the number of instances. W30, W51
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/message_codec.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

// Parent waits for Loop, which has as many executions as its input says, of two minutes and three turns each.
Registry observed_family() {
  Registry registry;
  registry.add_orchestration("Parent", [](Ctx ctx, int rounds) -> Orchestration<int> {
    co_return co_await ctx.schedule_sub_orchestration<int>("Loop", rounds);
  });
  registry.add_orchestration("Loop", [](Ctx ctx, int rounds) -> Orchestration<int> {
    for (int i = 0; i < 2; ++i) co_await ctx.schedule_timer(1min);
    if (rounds > 1) co_return ctx.continue_as_new(rounds - 1);
    co_return rounds;
  });
  registry.add_orchestration("Fails", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_timer(1min);
    throw OrchestrationError("no luck");
    co_return 0;
  });
  registry.add_orchestration("Waits", [](Ctx ctx, bool twice) -> Orchestration<void> {
    co_await ctx.schedule_wait<void>("go");
    if (twice) co_await ctx.continue_as_new(false);
  });
  registry.add_orchestration(
      "Calls", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Nobody"); });
  registry.add_orchestration(
      "Works", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Work"); });
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  return registry;
}

class EngineMetrics : public InEveryWorld {
 protected:
  [[nodiscard]] std::uint64_t count(const MetricId& metric, MetricLabels labels) const {
    return world.metrics().counter_value(metric.name, labels);
  }
  [[nodiscard]] std::uint64_t total(const MetricId& metric) const { return world.metrics().counter_total(metric.name); }
  // How many there were, and their sum.
  [[nodiscard]] std::pair<std::uint64_t, double> observed(const MetricId& metric, MetricLabels labels) const {
    const auto histogram = world.metrics().histogram_value(metric.name, labels);
    return histogram ? std::pair(histogram->count(), histogram->sum) : std::pair(std::uint64_t{0}, 0.0);
  }
  // A parent and three executions of its child, in six minutes.
  void run_family() {
    world.start_node(observed_family());
    world.client().start_orchestration("p", "Parent", 3);
    for (int minute = 0; minute < 6; ++minute) world.advance(1min);
    ASSERT_EQ(world.client().get_orchestration_status("p").result<int>(), 1);
  }
};
PERDURE_IN_EVERY_WORLD(EngineMetrics);

// ---- Orchestrations ----

TEST_P(EngineMetrics, AStartIsCountedOnceForEachExecution) {
  run_family();
  const auto starts = [&](const char* name, const char* by) {
    return count(metric::kOrchestrationStarts,
                 {{"orchestration_name", name}, {"version", "1.0.0"}, {"initiated_by", by}});
  };
  EXPECT_EQ(starts("Parent", "client"), 1U);
  EXPECT_EQ(starts("Loop", "suborchestration"), 1U);
  EXPECT_EQ(starts("Loop", "continueAsNew"), 2U);
  EXPECT_EQ(total(metric::kOrchestrationStarts), 4U);
}

TEST_P(EngineMetrics, AnEndIsCountedOnceForEachExecution) {
  run_family();
  const auto ends = [&](const char* name, const char* status) {
    return count(metric::kOrchestrationCompletions,
                 {{"orchestration_name", name}, {"version", "1.0.0"}, {"status", status}, {"final_turn_count", "1-5"}});
  };
  EXPECT_EQ(ends("Parent", "success"), 1U);
  EXPECT_EQ(ends("Loop", "continuedAsNew"), 2U);
  EXPECT_EQ(ends("Loop", "success"), 1U);
  EXPECT_EQ(total(metric::kOrchestrationCompletions), 4U);
  EXPECT_EQ(total(metric::kOrchestrationFailures), 0U);
}

TEST_P(EngineMetrics, AFailureIsCountedOnce) {
  world.start_node(observed_family());
  world.client().start_orchestration("i", "Fails");
  world.advance(1min);
  ASSERT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kFailed);
  world.advance(24h);
  EXPECT_EQ(count(metric::kOrchestrationFailures, {{"orchestration_name", "Fails"},
                                                   {"version", "1.0.0"},
                                                   {"error_type", "app_error"},
                                                   {"error_category", "application"}}),
            1U);
  EXPECT_EQ(total(metric::kOrchestrationFailures), 1U);
  EXPECT_EQ(
      count(metric::kOrchestrationCompletions,
            {{"orchestration_name", "Fails"}, {"version", "1.0.0"}, {"status", "failed"}, {"final_turn_count", "1-5"}}),
      1U);
  EXPECT_EQ(total(metric::kOrchestrationStarts), 1U);
  EXPECT_EQ(total(metric::kOrchestrationInfrastructureErrors), 0U);
}

TEST_P(EngineMetrics, DurationsAreThoseOfTheExecutions) {
  run_family();
  const auto seconds = [&](const char* name, const char* status) {
    return observed(metric::kOrchestrationDuration,
                    {{"orchestration_name", name}, {"version", "1.0.0"}, {"status", status}});
  };
  EXPECT_THAT(seconds("Parent", "success"), Pair(1U, 360.0));
  EXPECT_THAT(seconds("Loop", "continuedAsNew"), Pair(2U, 240.0));
  EXPECT_THAT(seconds("Loop", "success"), Pair(1U, 120.0));
}

TEST_P(EngineMetrics, TurnsAndEventsAreThoseOfTheExecutions) {
  run_family();
  EXPECT_THAT(observed(metric::kOrchestrationTurns, {{"orchestration_name", "Parent"}}), Pair(1U, 2.0));
  EXPECT_THAT(observed(metric::kOrchestrationTurns, {{"orchestration_name", "Loop"}}), Pair(3U, 9.0));
  EXPECT_THAT(observed(metric::kOrchestrationHistorySize, {{"orchestration_name", "Parent"}}), Pair(1U, 4.0));
  EXPECT_THAT(observed(metric::kOrchestrationHistorySize, {{"orchestration_name", "Loop"}}), Pair(3U, 18.0));
}

TEST_P(EngineMetrics, ContinuationsAreCountedByOrchestration) {
  run_family();
  const auto all = world.metrics().snapshot();
  const auto observed_family = std::find_if(all.begin(), all.end(), [](const MetricFamily& each) {
    return each.name == metric::kOrchestrationContinueAsNew.name;
  });
  ASSERT_NE(observed_family, all.end());
  ASSERT_THAT(observed_family->series, SizeIs(1));
  EXPECT_THAT(observed_family->series.front().labels, ElementsAre(Pair("orchestration_name", "Loop")));
  EXPECT_EQ(std::get<std::uint64_t>(observed_family->series.front().value), 2U);
}

TEST_P(EngineMetrics, AnExecutionThatTheInfrastructureFailsIsCounted) {
  RuntimeOptions options;
  options.worker_tag_filter = TagFilter::none();  // the test is the worker
  world.start_node(observed_family(), options);
  world.client().start_orchestration("i", "Works");
  world.settle();
  const MessageBody broken = messages::ActivityFailed{2, InfrastructureError{"run", "the machine is gone", false}};
  const auto sent = world.store()->enqueue_message(encode_message({"i", kFirstExecutionId, std::nullopt, broken}));
  ASSERT_TRUE(sent.has_value());
  ASSERT_EQ(world.wait("i").state, OrchestrationState::kFailed);
  EXPECT_EQ(count(metric::kOrchestrationInfrastructureErrors,
                  {{"orchestration_name", "Works"}, {"error_category", "infrastructure"}}),
            1U);
  EXPECT_EQ(total(metric::kOrchestrationInfrastructureErrors), 1U);
  EXPECT_EQ(count(metric::kOrchestrationFailures, {{"orchestration_name", "Works"},
                                                   {"version", "1.0.0"},
                                                   {"error_type", "infrastructure_error"},
                                                   {"error_category", "infrastructure"}}),
            1U);
  EXPECT_EQ(total(metric::kOrchestrationConfigurationErrors), 0U);
}

// ---- Activities ----

TEST_P(EngineMetrics, EachAttemptAtAnActivityWithoutHandlerIsCounted) {
  world.start_node(observed_family());
  world.client().start_orchestration("i", "Calls");
  world.settle();
  const auto errors = [&] { return count(metric::kActivityConfigurationErrors, {{"activity_name", "Nobody"}}); };
  EXPECT_EQ(errors(), 1U);
  world.advance(1s);
  EXPECT_EQ(errors(), 2U);
  world.advance(1s);
  EXPECT_EQ(errors(), 2U) << "its second pause has two seconds";
  world.advance(1s);
  EXPECT_EQ(errors(), 3U);
  EXPECT_EQ(total(metric::kActivityConfigurationErrors), 3U);
}

// ---- Gauges ----

TEST_P(EngineMetrics, TheActiveOrchestrationsAreThoseThatHaveNotEnded) {
  const auto reaches = [&](double active) {
    return world.until([&] { return world.metrics().gauge_value(metric::kActiveOrchestrations.name) == active; });
  };
  world.start_node(observed_family());
  ASSERT_TRUE(reaches(0));
  for (const char* id : {"a", "b", "c"}) world.client().start_orchestration(id, "Waits", id == std::string("c"));
  ASSERT_TRUE(reaches(3));
  world.client().raise_event("a", "go");
  ASSERT_TRUE(reaches(2));
  world.client().cancel_instance("b");
  world.client().raise_event("c", "go");  // it continues as new, and goes on
  ASSERT_TRUE(reaches(1));
  ASSERT_EQ(world.client().list_executions("c").size(), 2U);
  world.client().raise_event("c", "go");
  ASSERT_TRUE(reaches(0));
}

// ---- Labels ----

// Instances of every fate, with ids that are found wherever they turn up.
TEST_P(EngineMetrics, NoLabelNamesAnInstanceOrAnExecution) {
  RuntimeOptions options;
  options.max_attempts = 2;
  world.start_node(observed_family(), options);
  const Client& client = world.client();
  client.start_orchestration("marked-parent", "Parent", 2);
  for (const char* name : {"Fails", "Calls", "Works", "Unknown"}) {
    client.start_orchestration(std::string("marked-") + name, name);
  }
  client.start_orchestration("marked-waits", "Waits", false);
  client.enqueue_event("marked-orphan", "queue", 1);
  world.settle();
  client.terminate_instance("marked-waits");
  for (const char* id : {"marked-parent", "marked-Fails", "marked-Calls", "marked-Works", "marked-Unknown"}) {
    EXPECT_TRUE(world.wait(id).ended());
  }
  std::size_t labels = 0;
  for (const MetricFamily& observed_family : world.metrics().snapshot()) {
    for (const MetricSeries& series : observed_family.series) {
      for (const auto& [key, value] : series.labels) {
        ++labels;
        EXPECT_THAT(key, Not(AnyOf(HasSubstr("instance"), HasSubstr("execution")))) << observed_family.name;
        EXPECT_THAT(value, Not(HasSubstr("marked"))) << observed_family.name << ", " << key;
      }
    }
  }
  EXPECT_GT(labels, 50U);
}

}  // namespace
}  // namespace perdure::test
