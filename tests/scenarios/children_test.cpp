// Orchestrations that start others: what children tell their parents, and how far an end reaches down the tree.
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;
using State = OrchestrationState;

using Children = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Children);

SubOrchestrationOptions with_id(const std::string& id) {
  return SubOrchestrationOptions().instance_id(id);
}

// Parents with one child, "child of <parent>", of the orchestration that their input names.
Registry family() {
  Registry registry;
  registry.add_orchestration("Wait",
                             [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  registry.add_orchestration("Fail", [](Ctx) -> Orchestration<int> {
    throw OrchestrationError("no bread");
    co_return 0;
  });
  registry.add_orchestration("Glutton", [](Ctx ctx) -> Orchestration<int> {
    ctx.set_kv_value("food", std::string(Limits().max_kv_value_bytes + 1, 'x'));
    co_return 0;
  });
  registry.add_orchestration("Restless", [](Ctx ctx) -> Orchestration<int> {
    if (ctx.execution_id() < 4) co_return ctx.continue_as_new();
    co_return co_await ctx.schedule_wait<int>("go");
  });
  registry.add_orchestration("Careful", [](Ctx ctx, std::string child) -> Orchestration<std::string> {
    const auto options = with_id("child of " + ctx.instance_id());
    const auto outcome = co_await ctx.schedule_sub_orchestration<int>(child, options).as_result();
    if (outcome) co_return std::to_string(*outcome);
    co_return (outcome.error().is_cancelled() ? "cancelled, " : "failed, ") + outcome.error().message();
  });
  registry.add_orchestration("Trusting", [](Ctx ctx, std::string child) -> Orchestration<int> {
    const auto options = with_id("child of " + ctx.instance_id());
    co_return co_await ctx.schedule_sub_orchestration<int>(child, options);
  });
  return registry;
}

State state_of(World& world, const std::string& instance) {
  return world.client().get_orchestration_status(instance).state;
}

// ---- What a parent is told ----

TEST_P(Children, AChildReportsItsResult) {
  world.start_node(family());
  world.client().start_orchestration("p", "Careful", "Wait");
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("child of p").parent, "p");
  world.client().raise_event("child of p", "go", 7);
  EXPECT_EQ(world.wait("p").result<std::string>(), "7");
  EXPECT_EQ(state_of(world, "child of p"), State::kCompleted);
}

TEST_P(Children, AChildReportsItsFailure) {
  world.start_node(family());
  world.client().start_orchestration("careful", "Careful", "Fail");
  world.client().start_orchestration("trusting", "Trusting", "Fail");
  world.client().start_orchestration("host", "Careful", "Glutton");
  EXPECT_EQ(world.wait("careful").result<std::string>(), "failed, no bread");
  EXPECT_EQ(world.wait("trusting").state, State::kFailed);
  EXPECT_THAT(world.wait("trusting").error_text(), HasSubstr("no bread"));
  EXPECT_THAT(world.wait("host").result<std::string>(), AllOf(HasSubstr("failed"), HasSubstr("max_kv_value_bytes")));
  EXPECT_EQ(world.client().get_kv_value<std::string>("child of host", "food"), std::nullopt);
}

TEST_P(Children, AChildThatIsEndedFromOutsideTellsItsParent) {
  world.start_node(family());
  for (const char* id : {"a", "b"}) world.client().start_orchestration(id, "Careful", "Wait");
  world.settle();
  world.client().cancel_instance("child of a", "by hand");
  world.client().terminate_instance("child of b", "by force");
  EXPECT_THAT(world.wait("a").result<std::string>(), AllOf(HasSubstr("cancelled"), HasSubstr("by hand")));
  EXPECT_THAT(world.wait("b").result<std::string>(), AllOf(HasSubstr("failed"), HasSubstr("by force")));
  EXPECT_EQ(state_of(world, "child of a"), State::kCancelled);
  EXPECT_EQ(state_of(world, "child of b"), State::kTerminated);
}

TEST_P(Children, AChildThatNobodyHasCodeForEndsItsParentAsPoison) {
  world.start_node(family());
  world.client().start_orchestration("p", "Careful", "Unknown");
  const Timestamp start = world.now();
  const auto status = world.wait("p");
  EXPECT_GE(world.now() - start, 303s);  // 1, 2, 4, 8, 16, 32 and four times 60
  // Only errors of an application are for the code to see.
  EXPECT_EQ(status.state, State::kFailed);
  ASSERT_TRUE(status.error.has_value());
  EXPECT_TRUE(std::holds_alternative<PoisonError>(*status.error)) << status.error_text();
  EXPECT_THAT(status.error_text(), HasSubstr("child of p"));
  EXPECT_EQ(state_of(world, "child of p"), State::kFailed);
}

TEST_P(Children, AChildThatNobodyHasCodeForCanBeCancelled) {
  world.start_node(family());
  for (const char* id : {"a", "b"}) world.client().start_orchestration(id, "Careful", "Unknown");
  world.advance(10s);
  world.client().cancel_instance("child of a", "by hand");
  world.client().cancel_instance("b", "no use");
  world.settle();
  EXPECT_THAT(world.client().get_orchestration_status("a").result<std::string>(), HasSubstr("by hand"));
  for (const char* id : {"child of a", "b", "child of b"}) EXPECT_EQ(state_of(world, id), State::kCancelled) << id;
}

// Design, section 6: a parent never waits for ever. A child that cannot be started because its id is taken will never
// report, so the parent must hear of it at once.
TEST_P(Children, AChildWhoseIdIsTakenTellsItsParent) {
  world.start_node(family());
  for (const char* id : {"child of a", "child of b"}) world.client().start_orchestration(id, "Wait");
  world.settle();
  world.client().raise_event("child of a", "go", 1);
  world.settle();
  world.client().start_orchestration("a", "Careful", "Wait");  // one that has ended
  world.client().start_orchestration("b", "Careful", "Wait");  // one that runs
  world.advance(1h);
  EXPECT_TRUE(world.client().get_orchestration_status("a").ended());
  EXPECT_TRUE(world.client().get_orchestration_status("b").ended());
  EXPECT_EQ(state_of(world, "child of b"), State::kRunning);
  world.client().raise_event("child of b", "go", 2);
  EXPECT_EQ(world.wait("child of b").result<int>(), 2);
}

// ---- Executions: W2, W3, W4 ----

TEST_P(Children, AChildThatContinuesAsNewStillReportsToItsParent) {
  world.start_node(family());
  world.client().start_orchestration("p", "Careful", "Restless");
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("child of p").execution_id, 4U);
  world.client().raise_event("child of p", "go", 4);
  EXPECT_EQ(world.wait("p").result<std::string>(), "4");
}

TEST_P(Children, AParentInALaterExecutionHearsFromItsChildrenAfterARestart) {
  Registry registry = family();
  // Nothing but one child an execution, under a generated id.
  registry.add_orchestration("Rounds", [](Ctx ctx, int sum) -> Orchestration<int> {
    sum += co_await ctx.schedule_sub_orchestration<int>("Wait");
    if (ctx.execution_id() < 3) co_return ctx.continue_as_new(sum);
    co_return sum;
  });
  auto* node = &world.start_node(registry);
  world.client().start_orchestration("p", "Rounds", 0);
  for (const char* child : {"p::sub::2", "p::sub::2::2", "p::sub::3::2"}) {
    world.settle();
    EXPECT_EQ(state_of(world, child), State::kRunning) << child;
    world.stop_node(*node);
    node = &world.start_node(registry);
    world.client().raise_event(child, "go", 5);
  }
  EXPECT_EQ(world.wait("p").result<int>(), 15);
}

TEST_P(Children, AChildOfAnEarlierExecutionIsNotTakenForOneOfThisExecution) {
  Registry registry = family();
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
    if (ctx.execution_id() == 1) {
      const auto first = with_id("first");
      ctx.schedule_sub_orchestration<int>("Wait", first).detach();
      co_return ctx.continue_as_new();
    }
    const auto second = with_id("second");
    co_return co_await ctx.schedule_sub_orchestration<int>("Wait", second);
  });
  world.start_node(registry);
  world.client().start_orchestration("p", "Parent");
  world.settle();
  world.client().raise_event("first", "go", 1);
  world.settle();
  EXPECT_EQ(state_of(world, "first"), State::kCompleted);
  EXPECT_EQ(state_of(world, "p"), State::kRunning);
  world.client().raise_event("second", "go", 2);
  EXPECT_EQ(world.wait("p").result<int>(), 2);
}

// ---- Trees ----

// Runs until it is told to stop, and then ends with a result that nobody wants.
class Slow {
 public:
  void hold(const ActivityContext& context, const ActivityCompletion<int>& completion) {
    const std::scoped_lock lock(mutex_);
    ++started_;
    changed_.notify_all();
    callbacks_.emplace_back(context.stop_token(), [this, completion] {
      {
        const std::scoped_lock inner(stop_mutex_);
        ++stopped_;
      }
      completion.complete(1);
    });
  }
  // Where there are threads a world does not settle while an activity runs.
  void await_started(World& world, int count) {
    if (!world.kind().threads) world.settle();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return started_ >= count || !world.kind().threads; });
    EXPECT_EQ(started_, count);
  }
  [[nodiscard]] int stopped() {
    const std::scoped_lock lock(stop_mutex_);
    return stopped_;
  }

 private:
  std::mutex mutex_;
  std::mutex stop_mutex_;
  std::condition_variable changed_;
  int started_ = 0;
  int stopped_ = 0;
  std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

// As deep as the input says, with a running activity at each level.
Registry tree(const std::shared_ptr<Slow>& slow) {
  Registry registry = family();
  registry.add_async_activity(
      "Slow", [slow](ActivityContext context, ActivityCompletion<int> completion) { slow->hold(context, completion); });
  registry.add_orchestration("Tree", [](Ctx ctx, int depth) -> Orchestration<int> {
    auto activity = ctx.schedule_activity<int>("Slow");
    if (depth == 0) co_return co_await activity;
    const auto below = with_id("level " + std::to_string(depth - 1));
    co_await ctx.schedule_sub_orchestration<int>("Tree", depth - 1, below);
    co_return co_await activity;
  });
  return registry;
}

TEST_P(Children, ResultsComeUpThroughThreeLevels) {
  Registry registry;
  registry.add_activity("Leaf", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration("Tree", [](Ctx ctx, int depth) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 1; i <= 3; ++i) {
      parts.push_back(depth == 0 ? ctx.schedule_activity<int>("Leaf", i)
                                 : ctx.schedule_sub_orchestration<int>("Tree", depth - 1));
    }
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  world.start_node(registry);
  world.client().start_orchestration("root", "Tree", 2);
  EXPECT_EQ(world.wait("root").result<int>(), 54);
  EXPECT_EQ(world.client().get_instance_tree("root").ids.size(), 13U);
  EXPECT_EQ(world.client().delete_instance("root").instances, 13U);
}

TEST_P(Children, CancelReachesTheWholeTreeAndItsActivities) {
  const auto slow = std::make_shared<Slow>();
  world.start_node(tree(slow));
  world.client().start_orchestration("root", "Tree", 2);
  slow->await_started(world, 3);
  world.client().cancel_instance("root", "enough");
  world.settle();
  for (const char* id : {"root", "level 1", "level 0"}) EXPECT_EQ(state_of(world, id), State::kCancelled) << id;
  EXPECT_THAT(world.wait("root").error_text(), HasSubstr("enough"));
  EXPECT_EQ(slow->stopped(), 3);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Children, TerminateReachesTheWholeTreeAndItsActivities) {
  const auto slow = std::make_shared<Slow>();
  world.start_node(tree(slow));
  world.client().start_orchestration("root", "Tree", 2);
  slow->await_started(world, 3);
  world.client().terminate_instance("root", "enough");
  world.settle();
  EXPECT_EQ(state_of(world, "root"), State::kTerminated);
  for (const char* id : {"level 1", "level 0"}) EXPECT_EQ(state_of(world, id), State::kCancelled) << id;
  EXPECT_EQ(slow->stopped(), 3);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Children, ATreeIsDeletedFromItsRootAndARunningOneOnlyByForce) {
  world.start_node(family());
  world.client().start_orchestration("p", "Careful", "Wait");
  world.settle();
  const auto refused = [&](const char* id, bool force) {
    try {
      world.client().delete_instance(id, force);
    } catch (const ClientError& error) {
      return error.kind();
    }
    return ClientErrorKind::kStore;
  };
  EXPECT_EQ(refused("p", false), ClientErrorKind::kStillRunning);
  EXPECT_EQ(refused("child of p", true), ClientErrorKind::kSubOrchestration);
  EXPECT_EQ(world.client().delete_instance("p", true).instances, 2U);
  for (const char* id : {"p", "child of p"}) EXPECT_EQ(state_of(world, id), State::kNotFound) << id;
  // What the node remembers of them must not reach those who come after them.
  world.client().start_orchestration("p", "Careful", "Wait");
  world.settle();
  world.client().raise_event("child of p", "go", 3);
  EXPECT_EQ(world.wait("p").result<std::string>(), "3");
  EXPECT_EQ(refused("child of p", false), ClientErrorKind::kSubOrchestration);
  EXPECT_EQ(world.client().delete_instance("p").instances, 2U);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

using SteppedChildren = InEveryWorld;
INSTANTIATE_TEST_SUITE_P(Worlds, SteppedChildren, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& kind) { return kind.param.name(); });

// Here time must pass while activities run: that they are gone shows when their locks are renewed.
TEST_P(SteppedChildren, ForcedDeletionStopsWhatRuns) {
  const auto slow = std::make_shared<Slow>();
  world.start_node(tree(slow));
  world.client().start_orchestration("root", "Tree", 2);
  slow->await_started(world, 3);
  EXPECT_EQ(world.client().delete_instance("root", true).instances, 3U);
  world.advance(1min);
  EXPECT_EQ(slow->stopped(), 3);
  EXPECT_THAT(world.client().list_all_instances(), ElementsAre());
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// ---- The end of a parent: W5, W12 ----

// Ends as its input says, in the turn in which it was told to leave. By then it has a child, and it leaves a note.
Orchestration<int> leaving(Ctx ctx, std::string how) {
  if (how == "idle") co_return co_await ctx.schedule_wait<int>("never");
  const auto options = with_id("child of " + ctx.instance_id());
  auto child = ctx.schedule_sub_orchestration<int>("Wait", options);
  co_await ctx.schedule_wait<void>("leave");
  ctx.schedule_orchestration("Note", "note of " + ctx.instance_id());
  if (how == "fails") throw OrchestrationError("as it was told");
  if (how == "panics") throw 42;
  if (how == "exceeds a limit") ctx.set_kv_value("k", std::string(Limits().max_kv_value_bytes + 1, 'x'));
  if (how == "continues as new") co_return ctx.continue_as_new("idle");
  if (how == "goes on") co_await ctx.schedule_wait<void>("never");
  co_return 1;
}

Registry leavers() {
  Registry registry = family();
  registry.add_orchestration("Leaving", leaving);
  registry.add_orchestration("Note", [](Ctx) -> Orchestration<int> { co_return 1; });
  return registry;
}

TEST_P(Children, HoweverAParentEndsItsChildrenAreCancelledAndItsDetachedStartsLeave) {
  world.start_node(leavers());
  const std::vector<std::string> ends{"completes", "fails", "panics", "exceeds a limit", "continues as new"};
  for (const std::string& how : ends) world.client().start_orchestration(how, "Leaving", how);
  world.settle();
  for (const std::string& how : ends) world.client().raise_event(how, "leave");
  world.settle();
  for (const std::string& how : ends) {
    EXPECT_EQ(state_of(world, "child of " + how), State::kCancelled) << how;
    // A turn that breaks a limit loses its decisions; every other keeps them.
    EXPECT_EQ(state_of(world, "note of " + how), how == "exceeds a limit" ? State::kNotFound : State::kCompleted)
        << how;
  }
  EXPECT_EQ(state_of(world, "continues as new"), State::kRunning);
  EXPECT_EQ(world.client().get_instance_info("note of fails").parent, std::nullopt);
  EXPECT_EQ(world.client().delete_instance("fails").instances, 2U);
  EXPECT_EQ(state_of(world, "note of fails"), State::kCompleted);
}

TEST_P(Children, ACancelledTurnStillSendsItsDetachedStartsAndATerminatedOneDoesNotRun) {
  auto& node = world.start_node(leavers());
  for (const char* id : {"a", "b"}) world.client().start_orchestration(id, "Leaving", "goes on");
  world.settle();
  // Stopped, so that both messages come in one batch.
  world.stop_node(node);
  for (const char* id : {"a", "b"}) world.client().raise_event(id, "leave");
  world.client().cancel_instance("a");
  world.client().terminate_instance("b");
  world.start_node(leavers());
  EXPECT_EQ(world.wait("a").state, State::kCancelled);
  EXPECT_EQ(world.wait("b").state, State::kTerminated);
  for (const char* id : {"child of a", "child of b"}) EXPECT_EQ(state_of(world, id), State::kCancelled) << id;
  EXPECT_EQ(state_of(world, "note of a"), State::kCompleted);
  EXPECT_EQ(state_of(world, "note of b"), State::kNotFound);
}

// W9
TEST_P(Children, ADetachedStartUnderATakenIdChangesNothing) {
  world.start_node(leavers());
  world.client().start_orchestration("note of p", "Wait");
  world.client().start_orchestration("p", "Leaving", "completes");
  world.settle();
  world.client().raise_event("p", "leave");
  EXPECT_EQ(world.wait("p").result<int>(), 1);
  EXPECT_EQ(state_of(world, "note of p"), State::kRunning);
  world.client().raise_event("note of p", "go", 9);
  EXPECT_EQ(world.wait("note of p").result<int>(), 9);
}

TEST_P(Children, AParentWhoseCodeHasChangedFailsAndItsChildrenAreCancelled) {
  auto& node = world.start_node(leavers());
  world.client().start_orchestration("p", "Leaving", "completes");
  world.settle();
  world.stop_node(node);
  Registry changed = family();
  changed.add_orchestration("Leaving", [](Ctx ctx, std::string) -> Orchestration<int> {
    co_await ctx.schedule_timer(1h);
    co_return 1;
  });
  world.start_node(changed);
  world.client().raise_event("p", "leave");
  world.settle();
  const auto status = world.client().get_orchestration_status("p");
  EXPECT_EQ(status.state, State::kFailed);
  ASSERT_TRUE(status.error && std::holds_alternative<ConfigurationError>(*status.error)) << status.error_text();
  EXPECT_EQ(state_of(world, "child of p"), State::kCancelled);
}

}  // namespace
}  // namespace perdure::test
