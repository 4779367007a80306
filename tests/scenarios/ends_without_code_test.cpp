// Executions that end without their code: their last events are as complete as any others. W19
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Ctx = OrchestrationContext;

class EndsWithoutCode : public InEveryWorld {
 protected:
  EndsWithoutCode() { options.max_attempts = 2; }

  static Registry waiting() {
    Registry registry;
    registry.add_orchestration("Waits", [](Ctx ctx) -> Orchestration<int> {
      auto child = ctx.schedule_sub_orchestration<int>("Patient");
      auto activity = ctx.schedule_activity<int>("Work", ActivityOptions().tag("nowhere"));
      for (;;) co_await ctx.schedule_wait<void>("knock");
    });
    registry.add_orchestration(
        "Patient", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("never"); });
    registry.add_orchestration("Next", [](Ctx ctx) -> Orchestration<int> {
      co_await ctx.schedule_timer(1min);
      co_return ctx.continue_as_new(StartOptions().version("9.9.9"));
    });
    registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Next", SubOrchestrationOptions().instance_id("next"));
    });
    return registry;
  }
  // Two turns at two times, and a third one at a later time is the end.
  void begin_waiting() {
    world.client().start_orchestration("i", "Waits");
    world.advance(1min);
    world.client().raise_event("i", "knock");
    world.advance(1min);
  }
  void expect_complete_events(const std::string& instance, ExecutionId execution = kFirstExecutionId) {
    const InstanceInfo whole = world.client().get_instance_info(instance);
    const ExecutionInfo info = world.client().get_execution_info(instance, execution);
    ASSERT_TRUE(info.completed_at.has_value());
    EXPECT_LE(whole.created_at, info.started_at);
    const auto history = world.client().read_execution_history(instance, execution);
    ASSERT_FALSE(history.empty());
    EventId last_id = 0;
    TurnNumber last_turn = kFirstTurn;
    Timestamp last_time = info.started_at;
    int ends = 0;
    for (const Event& event : history) {
      SCOPED_TRACE(instance + ", event " + std::to_string(event.id) + ": " + summarize(event.body));
      EXPECT_EQ(event.id, ++last_id);
      EXPECT_GE(event.turn, last_turn);
      EXPECT_LE(event.turn, last_turn + 1);
      EXPECT_EQ(event.engine_version, engine_version());
      EXPECT_GE(event.time, last_time);
      EXPECT_LE(event.time, *info.completed_at);
      if (std::holds_alternative<events::OrchestrationFailed>(event.body)) ++ends;
      last_turn = event.turn;
      last_time = event.time;
    }
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(last_time, *info.completed_at) << "it ended when its last event was written";
    EXPECT_EQ(info.events, history.size());
  }
  [[nodiscard]] OrchestrationState state(const std::string& instance) const {
    return world.client().get_orchestration_status(instance).state;
  }

  RuntimeOptions options;
};
PERDURE_IN_EVERY_WORLD(EndsWithoutCode);

TEST_P(EndsWithoutCode, ATerminatedOneHasCompleteEvents) {
  world.start_node(waiting(), options);
  begin_waiting();
  world.client().terminate_instance("i", "enough");
  world.settle();
  ASSERT_EQ(state("i"), OrchestrationState::kTerminated);
  expect_complete_events("i");
}

TEST_P(EndsWithoutCode, ACancelledOneWhoseCodeIsGoneHasCompleteEvents) {
  auto& node = world.start_node(waiting(), options);
  begin_waiting();
  world.stop_node(node);
  world.start_node(Registry(), options);
  world.client().cancel_instance("i", "enough");
  world.settle();
  ASSERT_EQ(state("i"), OrchestrationState::kCancelled);
  expect_complete_events("i");
}

TEST_P(EndsWithoutCode, APoisonedOneWhoseCodeIsGoneHasCompleteEvents) {
  auto& node = world.start_node(waiting(), options);
  begin_waiting();
  world.stop_node(node);
  world.start_node(Registry(), options);
  world.client().raise_event("i", "knock");
  ASSERT_EQ(world.wait("i").state, OrchestrationState::kFailed);
  expect_complete_events("i");
}

TEST_P(EndsWithoutCode, OneThatNeverBeganHasCompleteEvents) {
  world.start_node(Registry(), options);
  for (const char* id : {"cancelled", "terminated", "poisoned"}) world.client().start_orchestration(id, "Nobody");
  world.settle();
  world.client().cancel_instance("cancelled");
  world.client().terminate_instance("terminated");
  ASSERT_EQ(world.wait("poisoned").state, OrchestrationState::kFailed);
  ASSERT_EQ(state("cancelled"), OrchestrationState::kCancelled);
  ASSERT_EQ(state("terminated"), OrchestrationState::kTerminated);
  for (const char* id : {"cancelled", "terminated", "poisoned"}) {
    expect_complete_events(id);
    EXPECT_EQ(world.client().read_execution_history(id).back().turn, kFirstTurn);
  }
}

TEST_P(EndsWithoutCode, ThePoisonOfAContinuationNamesItsExecution) {
  world.start_node(waiting(), options);
  world.client().start_orchestration("parent", "Parent");
  for (const char* id : {"next", "parent"}) {
    const auto status = world.wait(id);
    ASSERT_EQ(status.state, OrchestrationState::kFailed);
    const auto* poison = std::get_if<PoisonError>(&*status.error);
    ASSERT_NE(poison, nullptr) << status.error_text();
    EXPECT_EQ(poison->instance, "next");
    EXPECT_EQ(poison->execution_id, 2U);
  }
  EXPECT_THAT(world.client().list_executions("next"), ElementsAre(1U, 2U));
  expect_complete_events("next", 2);
}

}  // namespace
}  // namespace perdure::test
