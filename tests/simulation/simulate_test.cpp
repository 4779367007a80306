// simulate(): that it is content with workflows that are right, and finds each kind of planted bug with the run that
// shows it.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "simulation/simulate_scene.h"

namespace perdure::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Kind = SimulationFindingKind;

// ---- workflows that are right ----

TEST_F(Simulate, IsContentWithAWorkflowThatIsRight) {
  workload.start("order-1", "Order", 7)
      .at(1min, "approve order-1", approve_when_asked)
      .expect("order-1",
              [](const OrchestrationStatus& status) {
                const auto text = status.result<std::string>();
                // After a month without a node nobody asks any more.
                return text == "paid 700" || text == "nobody approved it" ? "" : "it ended with " + text;
              })
      .expect([](const Client&) { return world.charged.size() > 1 ? "charged under two keys" : ""; });
  const SimulationResult result = run({1, 100});
  EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(result.seeds, 100U);
  EXPECT_EQ(result.runs, 1 + 2 * result.crash_points + 100);
  EXPECT_GE(result.crash_points, 4U);
  EXPECT_GE(result.faults, 2 * result.crash_points + 100);
  EXPECT_GE(result.requests, 20 * result.runs);
}

TEST_F(Simulate, GivesTheSameResultForTheSameSeeds) {
  workload.start("order-1", "Order", 7).at(1min, "approve order-1", [](const Client& client) {
    client.raise_event("order-1", "approved");
  });
  workload.expect([](const Client&) { return world.charges > 1 ? "charged twice" : ""; });
  const SimulationResult first = run({1, 40});
  const SimulationResult second = run({1, 40});
  EXPECT_FALSE(first.ok());  // there is something to compare
  EXPECT_EQ(first.to_string(), second.to_string());
}

TEST_F(Simulate, RunsOneRunAloneThatAFindingNames) {
  workload.start("c", "ChargeOnly", 5).expect([](const Client&) { return world.charges == 1 ? "" : "charged twice"; });
  const SimulationResult all = run({1, 100});
  ASSERT_THAT(all.findings, ElementsAre(is_finding(Kind::kWrongEnd, "", "charged twice"))) << all;
  EXPECT_GT(all.findings[0].runs, 1U);
  options.only = all.findings[0].run.to_string();
  EXPECT_EQ(all.findings[0].repeat(), "options.only = \"" + options.only + "\";");
  const SimulationResult again = run({1, 100});
  EXPECT_EQ(again.runs, 1U);
  ASSERT_THAT(again.findings, SizeIs(1)) << again;
  EXPECT_EQ(again.findings[0].log, all.findings[0].log);
  EXPECT_THAT(again.findings[0].log, Not(IsEmpty()));
}

TEST_F(Simulate, IsContentWithATimerBeyondItsTimeLimitThatLost) {
  registry.add_orchestration("Patient", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    const auto first = co_await select{ctx.schedule_wait<void>("approved"), ctx.schedule_timer(24h * 365 * 20)};
    co_return first.index() == 0 ? std::string("approved") : std::string("too late");
  });
  workload.start("p", "Patient", Raw()).at(1h, "approve p", [](const Client& client) {
    client.raise_event("p", "approved");
  });
  const SimulationResult result = run({1, 20});
  EXPECT_TRUE(result.ok()) << result;
}

TEST_F(Simulate, FindsAnInstanceThatWaitsForATimerBeyondItsTimeLimit) {
  registry.add_orchestration(
      "Sleeper", [](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_timer(24h * 365 * 20); });
  workload.start("s", "Sleeper", Raw());
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "s", "before the time limit"))) << result;
}

// ---- planted bugs ----

TEST_F(Simulate, FindsNondeterminismEvenWithoutACrash) {
  workload.start("r", "Restless", Raw());
  const SimulationResult result = run({1, 10});
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kNondeterminism, "r", "+ TimerCreated"))) << result;
  EXPECT_EQ(result.findings[0].run.to_string(), "calm");
  EXPECT_EQ(result.runs, 1U);
  EXPECT_THAT(result.stopped, HasSubstr("without faults"));
}

TEST_F(Simulate, FindsNondeterminismAfterACrashEvenIfAFailureIsExpected) {
  workload.start("r", "Restless", Raw()).expect("r", [](const OrchestrationStatus& status) {
    return status.state == OrchestrationState::kFailed ? "" : "a failure is expected here";
  });
  options.only = "crash-after:1";
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kNondeterminism, "r", "nondeterministic"))) << result;
  EXPECT_THAT(result.findings[0].text,
              AllOf(HasSubstr("- 2  ActivityScheduled 'Reserve'"), HasSubstr("+ TimerCreated")));
  EXPECT_EQ(result.findings[0].run, (SimulatedRun{SimulatedRunKind::kCrashAfter, 1}));
}

TEST_F(Simulate, FindsAnInstanceThatNobodyHelps) {
  workload.start("w", "WaitForApproval", Raw());
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "w", "event 'approved'"))) << result;
}

TEST_F(Simulate, FindsAnEventThatIsLostOnlyWhenAProcessDies) {
  workload.start("w", "ReserveAndWait", 1).at(1s, "approve w", [](const Client& client) {
    client.raise_event("w", "approved");
  });
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "w", "event 'approved'"))) << result;
  EXPECT_EQ(result.findings[0].run.kind, SimulatedRunKind::kCrashBefore);
}

TEST_F(Simulate, NamesOfAStuckFamilyTheParentOnly) {
  workload.start("p", "ParentOfWaiting", Raw());
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "p", "event 'approved'"))) << result;
}

TEST_F(Simulate, FindsAWorkflowThatNeverEnds) {
  workload.start("t", "Ticking", 0);
  options.max_steps = 500;
  const SimulationResult busy = run();
  ASSERT_THAT(busy.findings, ElementsAre(is_finding(Kind::kStuck, "t", "has not come to rest after 501 steps")));
  EXPECT_THAT(busy.findings[0].text, HasSubstr("things go on happening"));
}

TEST_F(Simulate, FindsAClientThatNeverGetsWhatItWants) {
  workload.start("c", "ChargeOnly", 5).at(0s, "wait for the moon", [](const Client&) { return false; });
  options.time_limit = 24h * 30;
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "", "wait for the moon"))) << result;
}

TEST_F(Simulate, FindsAnInstanceThatFailsIfNothingElseIsExpected) {
  registry.replace_activity(kCharge.name(), [](const auto& call, const Payload&) {
    call->end(ApplicationError{ApplicationErrorKind::kActivityFailed, "no money", false});
  });
  workload.start("c", "ChargeOnly", 5);
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kWrongEnd, "c", "no money"))) << result;
}

TEST_F(Simulate, TellsTwoExpectationsApart) {
  workload.start("c", "ChargeOnly", 5)
      .expect([](const Client&) { return world.charges > 0 ? "charged at all" : ""; })
      .expect([](const Client&) { throw std::runtime_error("not content"); });
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kWrongEnd, "", "charged at all"),
                                           is_finding(Kind::kWrongEnd, "", "not content")))
      << result;
}

TEST_F(Simulate, FindsWhatAClientThrows) {
  workload.start("c", "ChargeOnly", 5).at(1s, "ask the oracle", [](const Client&) {
    throw std::runtime_error("it is silent");
  });
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kException, "", "ask the oracle: it is silent"))) << result;
}

TEST_F(Simulate, RefusesAWaitInsteadOfHanging) {
  workload.start("w", "WaitForApproval", Raw()).at(1s, "wait for w", [](const Client& client) {
    client.wait_for_orchestration("w", 1h);
  });
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kException, "", "a wait for instance 'w'"))) << result;
}

TEST_F(Simulate, RefusesAnActivityThatIsCompletedLater) {
  std::vector<ActivityCompletion<std::string>> open;
  registry.replace_activity(
      kCharge.name(),
      detail::make_async_activity_handler([&open](ActivityContext, int, ActivityCompletion<std::string> completion) {
        open.push_back(std::move(completion));
      }));
  workload.start("c", "ChargeOnly", 5);
  const SimulationResult result = run();
  ASSERT_THAT(result.findings,
              ElementsAre(is_finding(Kind::kException, "c", "'Charge' (2) of instance 'c' has returned")))
      << result;
}

TEST_F(Simulate, TakesAnAsynchronousActivityThatCompletesAtOnce) {
  registry.replace_activity(kCharge.name(), detail::make_async_activity_handler(
                                                [](ActivityContext, int, ActivityCompletion<std::string> completion) {
                                                  completion.complete("paid");
                                                }));
  workload.start("c", "ChargeOnly", 5);
  const SimulationResult result = run({1, 10});
  EXPECT_TRUE(result.ok()) << result;
}

// A workflow cannot break the store's books. A client can confuse the audit: it takes the message for one to the old w.
// The store refuses a message for an id that the same function has deleted, and buffers one before the next start.
TEST_F(Simulate, LetsAClientDeleteSendAndStartAtOnce) {
  workload.start("w", "WaitForApproval", Raw()).at(1min, "replace w", [](const Client& client) {
    client.delete_instance("w", true);
    EXPECT_THROW(client.cancel_instance("w"), ClientError);
    client.enqueue_event("w", "inbox", "early");
    client.start_orchestration("w", "Order", 7);
  });
  const SimulationResult result = run();
  EXPECT_TRUE(result.ok()) << result;
}

TEST_F(Simulate, LetsAClientDeleteAndStartAtOnce) {
  workload.start("w", "WaitForApproval", Raw()).at(1min, "replace w", [](const Client& client) {
    client.delete_instance("w", true);
    client.start_orchestration("w", "Order", 7);
  });
  const SimulationResult result = run();
  EXPECT_TRUE(result.ok()) << result;
}

// ---- activities that run more than once ----

TEST_F(Simulate, CountsHowOftenAnActivityRanForOneSchedule) {
  int most = 0;
  workload.start("c", "ChargeOnly", 5).expect([&most](const Client&) { most = std::max(most, world.charges); });
  const SimulationResult result = run();
  EXPECT_TRUE(result.ok()) << result;
  ASSERT_THAT(result.repeated_activities, SizeIs(1)) << result;
  const RepeatedActivity& charge = result.repeated_activities[0];
  EXPECT_EQ(charge.name, "Charge");
  EXPECT_EQ(charge.instance, "c");
  EXPECT_EQ(charge.execution, 1U);
  EXPECT_EQ(charge.activity_id, 2U);
  EXPECT_EQ(charge.times, 2U);
  EXPECT_EQ(charge.runs, 1U);  // when it had run and its outcome was not stored, and at no other moment
  EXPECT_EQ(charge.run.kind, SimulatedRunKind::kCrashBefore);
  EXPECT_EQ(most, 2);
}

TEST_F(Simulate, ReportsRepeatedActivitiesIfAsked) {
  options.report_repeated_activities = true;
  workload.start("c", "ChargeOnly", 5);
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kRepeatedActivity, "c", "'Charge' (2) ran 2 times")));
  EXPECT_EQ(result.findings[0].run, result.repeated_activities.at(0).run);
}

TEST_F(Simulate, DeliversMessagesThatWereSentBeforeTheStart) {
  registry.add_orchestration("Reads", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_return co_await ctx.dequeue_event<std::string>("letters");
  });
  workload.at(0s, "write to r", [](const Client& client) { client.enqueue_event("r", "letters", "early"); })
      .at(1h, "start r", [](const Client& client) { client.start_orchestration("r", "Reads"); })
      .expect("r", [](const OrchestrationStatus& status) {
        return status.completed() && status.result<std::string>() == "early" ? "" : "it did not read the letter";
      });
  const SimulationResult result = run({1, 20});
  EXPECT_TRUE(result.ok()) << result;
}

// Messages for an id that is not started are kept for a day; a workflow cannot rely on them.
TEST_F(Simulate, DoesNotBlameTheEngineForMessagesThatWereKeptForTooLong) {
  workload.at(0s, "write to w", [](const Client& client) { client.enqueue_event("w", "letters", "early"); })
      .at(72h, "start w", [](const Client& client) { client.start_orchestration("w", "WaitForApproval"); })
      .at(96h, "approve w", [](const Client& client) { client.raise_event("w", "approved"); });
  const SimulationResult result = run({1, 20});
  EXPECT_TRUE(result.ok()) << result;
}

}  // namespace
}  // namespace perdure::testing
