// Seed 004: what no node has code for is tried again with growing pauses, because the next deployment may have it, and
// ends as poison when that takes too long. It can be cancelled, terminated and deleted meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/provider_admin.h>
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

const std::vector<Milliseconds> kDefaultPauses = {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s, 60s};

std::vector<Milliseconds> pauses(const UnregisteredBackoff& backoff, std::uint32_t attempts) {
  std::vector<Milliseconds> found;
  for (std::uint32_t attempt = 1; attempt <= attempts; ++attempt) found.push_back(backoff.after(attempt));
  return found;
}

// Seed 004: test_backoff_calculation_exponential
TEST(UnregisteredBackoffPauses, DoubleWithEachAttempt) {
  EXPECT_THAT(pauses({}, 6), ElementsAre(1s, 2s, 4s, 8s, 16s, 32s));
  EXPECT_EQ(pauses({}, 10), kDefaultPauses);
}

// Seed 004: test_backoff_caps_at_max
TEST(UnregisteredBackoffPauses, NeverExceedTheirMaximum) {
  for (const std::uint32_t attempt : {7U, 8U, 33U, 64U, 65U, 4'294'967'295U}) {
    EXPECT_EQ(UnregisteredBackoff{}.after(attempt), 60s) << attempt;
  }
  // The exponent ends at 6 even if the maximum is far away.
  const UnregisteredBackoff far{.base = 1s, .max = 24h};
  EXPECT_THAT(pauses(far, 9), ElementsAre(1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s, 64s));
  EXPECT_EQ((UnregisteredBackoff{.base = 2min, .max = 1min}).after(1), 1min);
}

// Seed 004: test_backoff_respects_custom_config
TEST(UnregisteredBackoffPauses, FollowTheOptions) {
  const UnregisteredBackoff fast{.base = 100ms, .max = 500ms};
  EXPECT_THAT(pauses(fast, 5), ElementsAre(100ms, 200ms, 400ms, 500ms, 500ms));
  EXPECT_EQ(fast.after(0), 100ms);
}

class Unregistered : public InEveryWorld {
 protected:
  // A node that has other things to do.
  auto& start_old_node(RuntimeOptions options = {}) {
    Registry registry;
    registry.add_orchestration("Existing", [](Ctx ctx, int n) -> Orchestration<int> {
      if (n > 0) co_return ctx.continue_as_new(n - 1, StartOptions().version("2.0.0"));
      co_return n;
    });
    registry.add_orchestration(
        "CallsNobody", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Nobody"); });
    registry.add_orchestration("Parent", [](Ctx ctx, std::string child) -> Orchestration<int> {
      const auto outcome =
          co_await ctx.schedule_sub_orchestration<int>(child, 1, SubOrchestrationOptions().instance_id("child"))
              .as_result();
      if (!outcome) throw OrchestrationError("told: " + std::string(outcome.error().message()));
      co_return *outcome;
    });
    return world.start_node(registry, std::move(options));
  }
  [[nodiscard]] std::uint64_t tries(std::string_view kind = "orchestration") const {
    return world.metrics().counter_value(metric::kUnregisteredBackoff.name, {{"kind", kind}});
  }
  [[nodiscard]] OrchestrationStatus status(const std::string& instance = "i") const {
    return world.client().get_orchestration_status(instance);
  }
  // It is tried at these distances and not in between; when this returns, it was tried once more than there are pauses.
  void expect_tries_after(const std::vector<Milliseconds>& rests, std::string_view kind = "orchestration") {
    world.settle();
    std::uint64_t expected = 1;
    for (const Milliseconds rest : rests) {
      ASSERT_EQ(tries(kind), expected);
      world.advance(rest - 1ms);
      ASSERT_EQ(tries(kind), expected) << "before its pause of " << rest.count() << " ms was over";
      ASSERT_FALSE(status().ended());
      world.advance(1ms);
      ++expected;
    }
    EXPECT_EQ(tries(kind), rests.size());  // the last one is no try any more
  }
  static void expect_poison(const OrchestrationStatus& status, PoisonSubject subject, std::uint32_t max_attempts) {
    ASSERT_EQ(status.state, OrchestrationState::kFailed);
    const auto* error = std::get_if<PoisonError>(&*status.error);
    ASSERT_NE(error, nullptr) << status.error_text();
    EXPECT_EQ(error->subject, subject);
    EXPECT_EQ(error->attempts, max_attempts + 1);
    EXPECT_EQ(error->max_attempts, max_attempts);
  }
};
PERDURE_IN_EVERY_WORLD(Unregistered);

// ---- Until the end -------------------------------------------------------------------------------------------------

// Seed 004: unknown_orchestration_fails_gracefully
TEST_P(Unregistered, AnUnknownOrchestrationIsTriedTenTimesAndThenFails) {
  start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kPending);
  expect_tries_after(kDefaultPauses);
  expect_poison(status(), PoisonSubject::kOrchestration, 10);
  EXPECT_EQ(std::get<PoisonError>(*status().error).instance, "i");
  EXPECT_THAT(status().error_text(), HasSubstr("i"));
  EXPECT_EQ(status().name, "Nobody");
  EXPECT_THAT(world.event_kinds("i"), ElementsAre("OrchestrationStarted", "OrchestrationFailed"));
  EXPECT_EQ(world.metrics().counter_total(metric::kOrchestrationPoison.name), 1U);
  world.advance(24h);
  EXPECT_EQ(tries(), 10U);
}

TEST_P(Unregistered, EachTryIsLoggedWithWhatIsMissing) {
  start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  world.advance(1s);
  std::vector<CapturedLogRecord> warnings = world.log().records();
  std::erase_if(warnings, [](const auto& record) { return record.level != LogLevel::kWarn; });
  ASSERT_EQ(warnings.size(), 2U);
  const CapturedLogRecord& second = warnings.back();
  EXPECT_EQ(second.field("instance_id"), "i");
  EXPECT_EQ(second.field("orchestration_name"), "Nobody");
  EXPECT_EQ(second.field("orchestration_version"), "latest");
  EXPECT_EQ(second.field("attempt_count"), "2");
  EXPECT_EQ(second.field("max_attempts"), "10");
  EXPECT_EQ(second.field("remaining_attempts"), "8");
  EXPECT_EQ(second.field("backoff_ms"), "2000");
}

// Seed 004: unknown_version_fails_gracefully
TEST_P(Unregistered, AnUnknownVersionIsTriedTenTimesAndThenFails) {
  start_old_node();
  world.client().start_orchestration("i", "Existing", 0, StartInstanceOptions().version("9.9.9"));
  expect_tries_after(kDefaultPauses);
  expect_poison(status(), PoisonSubject::kOrchestration, 10);
  EXPECT_EQ(status().version, SemanticVersion::of("9.9.9"));
  EXPECT_THAT(world.event_kinds("i"), ElementsAre("OrchestrationStarted", "OrchestrationFailed"));
}

// Seed 004: continue_as_new_to_missing_version_fails_gracefully
TEST_P(Unregistered, AContinuationWithAnUnknownVersionIsTriedTenTimesAndThenFails) {
  start_old_node();
  world.client().start_orchestration("i", "Existing", 1);
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kRunning);
  expect_tries_after(kDefaultPauses);
  expect_poison(status(), PoisonSubject::kOrchestration, 10);
  // What the first execution did stays what it was.
  EXPECT_EQ(world.client().get_execution_info("i", 1).status, ExecutionStatus::kContinuedAsNew);
}

// Seed 004, edge case 4: very short max_attempts; and options of one's own
TEST_P(Unregistered, FewAttemptsFailEarlier) {
  RuntimeOptions options;
  options.max_attempts = 3;
  start_old_node(options);
  world.client().start_orchestration("i", "Nobody", 7);
  expect_tries_after({1s, 2s, 4s});
  expect_poison(status(), PoisonSubject::kOrchestration, 3);
}

TEST_P(Unregistered, ThePausesFollowTheOptionsOfTheNode) {
  RuntimeOptions options;
  options.max_attempts = 5;
  options.unregistered_backoff = {.base = 100ms, .max = 500ms};
  start_old_node(options);
  world.client().start_orchestration("i", "Nobody", 7);
  expect_tries_after({100ms, 200ms, 400ms, 500ms, 500ms});
  expect_poison(status(), PoisonSubject::kOrchestration, 5);
}

TEST_P(Unregistered, AnUnknownActivityIsTriedTenTimesAndThenFailsItsOrchestration) {
  start_old_node();
  world.client().start_orchestration("i", "CallsNobody");
  expect_tries_after(kDefaultPauses, "activity");
  expect_poison(status(), PoisonSubject::kActivity, 10);
  const auto error = std::get<PoisonError>(*status().error);
  EXPECT_EQ(error.activity_name, "Nobody");
  EXPECT_EQ(error.activity_id, 2U);
  EXPECT_THAT(world.event_kinds("i"),
              ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityFailed", "OrchestrationFailed"));
  EXPECT_EQ(world.metrics().counter_total(metric::kActivityPoison.name), 1U);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// The code sees the timeout that it asked for, not poison, however many attempts are allowed.
TEST_P(Unregistered, AnUnknownActivityTimesOutIfItsStartIsTimed) {
  Registry registry;
  registry.add_orchestration("Hurried", [](Ctx ctx, int minutes) -> Orchestration<std::string> {
    const auto outcome =
        co_await ctx.schedule_activity<int>("Nobody", ActivityOptions().schedule_to_start_timeout(minutes * 1min))
            .as_result();
    co_return outcome ? "done" : std::string(outcome.error().message());
  });
  RuntimeOptions options;
  options.max_attempts = 2;
  world.start_node(registry, options);
  for (const int minutes : {1, 60}) {
    const std::string instance = std::to_string(minutes);
    world.client().start_orchestration(instance, "Hurried", minutes);
    world.advance(minutes * 1min - 1ms);
    EXPECT_FALSE(status(instance).ended()) << instance;
    world.advance(1ms);
    ASSERT_TRUE(status(instance).ended()) << instance;
    EXPECT_THAT(status(instance).result<std::string>(), HasSubstr("was not started by any worker")) << instance;
  }
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Unregistered, AnActivityWithATimedStartRunsWhenItsCodeComesInTime) {
  Registry registry;
  registry.add_orchestration("Hurried", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Nobody", ActivityOptions().schedule_to_start_timeout(1h));
  });
  auto& old = world.start_node(registry);
  world.client().start_orchestration("i", "Hurried");
  world.advance(30min);
  world.stop_node(old);
  registry.add_activity("Nobody", [](ActivityContext& ctx) { return static_cast<int>(ctx.attempt()); });
  world.start_node(registry);
  world.advance(1min);
  EXPECT_EQ(status().result<int>(), 1);
}

// A node without the code dies with the activity locked. The store cannot tell this from a start, so the timeout no
// longer applies and later attempts count.
TEST_P(Unregistered, ALostFetchOfAnUnknownActivityCountsAsItsStart) {
  if (GetParam().threads) GTEST_SKIP() << "a node that dies needs a world without threads";
  Registry registry;
  registry.add_orchestration("Hurried", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Nobody", ActivityOptions().schedule_to_start_timeout(1h));
  });
  RuntimeOptions options;
  options.max_attempts = 2;
  options.fetch_only_registered = true;
  auto& first = world.start_node(registry, options);
  world.client().start_orchestration("i", "Hurried");
  world.settle();
  world.stop_node(first);
  ASSERT_EQ(world.store()->fetch_work_items({}).value().items.size(), 1U);  // by the node that dies
  options.fetch_only_registered = false;
  world.start_node(registry, options);
  expect_poison(world.wait("i"), PoisonSubject::kActivity, 2);
}

// Seed 004, edge case 2: sub-orchestrations
TEST_P(Unregistered, TheParentOfAnUnknownChildFailsWithItsPoison) {
  start_old_node();
  world.client().start_orchestration("i", "Parent", "Nobody");
  expect_tries_after(kDefaultPauses);
  expect_poison(status("child"), PoisonSubject::kOrchestration, 10);
  const auto parent = world.wait("i");
  expect_poison(parent, PoisonSubject::kOrchestration, 10);
  EXPECT_EQ(std::get<PoisonError>(*parent.error).instance, "child");
}

TEST_P(Unregistered, TheParentOfAChildThatContinuedWithAnUnknownVersionIsTold) {
  start_old_node();
  world.client().start_orchestration("i", "Parent", "Existing");
  expect_tries_after(kDefaultPauses);
  EXPECT_EQ(status("child").state, OrchestrationState::kFailed);
  expect_poison(world.wait("i"), PoisonSubject::kOrchestration, 10);
}

// ---- The code comes in time ----------------------------------------------------------------------------------------

TEST_P(Unregistered, TheNextDeploymentFindsTheStartAndEverythingBehindIt) {
  auto& old = start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  world.advance(1s);
  world.client().enqueue_event("i", "numbers", 1);
  world.client().enqueue_event("i", "numbers", 2);
  world.settle();
  EXPECT_EQ(tries(), 2U) << "messages do not end the pause";
  world.stop_node(old);
  Registry registry;
  registry.add_orchestration("Nobody", [](Ctx ctx, int n) -> Orchestration<std::vector<int>> {
    std::vector<int> numbers{n};
    numbers.push_back(co_await ctx.dequeue_event<int>("numbers"));
    numbers.push_back(co_await ctx.dequeue_event<int>("numbers"));
    co_return numbers;
  });
  world.start_node(registry);
  world.advance(1'999ms);
  EXPECT_EQ(status().state, OrchestrationState::kPending);
  world.advance(1ms);
  EXPECT_THAT(status().result<std::vector<int>>(), ElementsAre(7, 1, 2));
}

TEST_P(Unregistered, TheNextDeploymentFindsTheActivity) {
  auto& old = start_old_node();
  world.client().start_orchestration("i", "CallsNobody");
  world.advance(1s);
  EXPECT_EQ(tries("activity"), 2U);
  world.stop_node(old);
  Registry registry;
  registry.add_orchestration(
      "CallsNobody", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Nobody"); });
  registry.add_activity("Nobody", [](ActivityContext& ctx) { return static_cast<int>(ctx.attempt()); });
  world.start_node(registry);
  EXPECT_EQ(world.wait("i").result<int>(), 3);
}

// ---- Ended by hand -------------------------------------------------------------------------------------------------

// Seed 004: test_cancel_orchestration_during_unregistered_backoff
TEST_P(Unregistered, ACancelIsHonouredAtOnceWithoutTheCode) {
  start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  world.advance(1s);
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled);
  EXPECT_THAT(status().error_text(), HasSubstr("changed my mind"));
  EXPECT_THAT(world.event_kinds("i"),
              ElementsAre("OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"));
  world.advance(1h);
  EXPECT_EQ(tries(), 2U);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// The fetch that a cancel leads to is one more than is allowed; the cancel is honoured all the same.
TEST_P(Unregistered, ACancelInTheLastPauseIsHonouredToo) {
  RuntimeOptions options;
  options.max_attempts = 2;
  start_old_node(options);
  world.client().start_orchestration("i", "Nobody", 7);
  world.advance(1s);
  ASSERT_EQ(tries(), 2U);
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled) << status().error_text();
}

TEST_P(Unregistered, ACancelOfAContinuationIsHonouredAtOnceWithoutTheCode) {
  start_old_node();
  world.client().start_orchestration("i", "Existing", 1);
  world.settle();
  ASSERT_EQ(tries(), 1U);
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled);
  EXPECT_THAT(world.event_kinds("i"),
              ElementsAre("OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"));
}

TEST_P(Unregistered, ATerminationIsHonouredAtOnceWithoutTheCode) {
  start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  world.advance(1s);
  world.client().terminate_instance("i", "no use");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kTerminated);
  EXPECT_THAT(status().error_text(), HasSubstr("no use"));
  EXPECT_THAT(world.event_kinds("i"), ElementsAre("OrchestrationStarted", "OrchestrationFailed"));
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Unregistered, TheParentOfACancelledUnknownChildIsTold) {
  start_old_node();
  world.client().start_orchestration("i", "Parent", "Nobody");
  world.settle();
  world.client().cancel_instance("child", "changed my mind");
  world.settle();
  EXPECT_EQ(status("child").state, OrchestrationState::kCancelled);
  EXPECT_EQ(status().state, OrchestrationState::kFailed);
  EXPECT_THAT(status().error_text(), HasSubstr("told: cancelled: changed my mind"));
}

TEST_P(Unregistered, ACancelledParentReachesItsUnknownChild) {
  start_old_node();
  world.client().start_orchestration("i", "Parent", "Nobody");
  world.settle();
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled);
  EXPECT_EQ(status("child").state, OrchestrationState::kCancelled);
}

// An execution that was begun by a node with the code, and cancelled on one without.
TEST_P(Unregistered, ACancelWithoutTheCodeReachesActivitiesAndChildren) {
  Registry registry;
  registry.add_orchestration("Nobody", [](Ctx ctx, int) -> Orchestration<int> {
    auto activity = ctx.schedule_activity<int>("Work", ActivityOptions().tag("nowhere"));
    auto child = ctx.schedule_sub_orchestration<int>("CallsNobody", SubOrchestrationOptions().instance_id("child"));
    co_await ctx.schedule_wait<int>("go");
    co_return co_await activity + co_await child;
  });
  auto& with_code = world.start_node(registry);
  world.client().start_orchestration("i", "Nobody", 7);
  world.until([&] { return world.client().get_queue_depths().activities == 1; });
  world.stop_node(with_code);
  start_old_node();
  world.until([&] { return status("child").state == OrchestrationState::kRunning; });
  world.client().raise_event("i", "go", 1);
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kRunning);
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled);
  EXPECT_EQ(status("child").state, OrchestrationState::kCancelled);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// Seed 004: test_force_delete_orchestration_during_unregistered_backoff
TEST_P(Unregistered, AForcedDeleteLeavesNothingOfIt) {
  start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  world.advance(1s);
  try {
    world.client().delete_instance("i");
    ADD_FAILURE() << "a start that is queued counts as running";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kStillRunning) << error.what();
  }
  world.client().delete_instance("i", true);
  EXPECT_EQ(status().state, OrchestrationState::kNotFound);
  world.advance(1h);
  EXPECT_EQ(status().state, OrchestrationState::kNotFound);
  EXPECT_EQ(tries(), 2U);
  EXPECT_THAT(world.client().list_all_instances(), IsEmpty());
  // The name is free again, and begins with no attempts.
  world.client().start_orchestration("i", "Existing", 0);
  EXPECT_EQ(world.wait("i").result<int>(), 0);
}

// Seed 004: test_delete_poisoned_orchestration
TEST_P(Unregistered, APoisonedOneCanBeDeletedWithoutForce) {
  start_old_node();
  world.client().start_orchestration("i", "Nobody", 7);
  EXPECT_EQ(world.wait("i").state, OrchestrationState::kFailed);
  EXPECT_EQ(world.client().delete_instance("i").instances, 1U);
  EXPECT_EQ(status().state, OrchestrationState::kNotFound);
}

}  // namespace
}  // namespace perdure::test
