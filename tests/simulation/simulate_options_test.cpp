// simulate(): when runs are over, how it is told to run, and what it refuses.
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation/simulate_scene.h"

namespace perdure::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = SimulationFindingKind;

// ---- when it is over ----

TEST_F(Simulate, EndsWhenWhatItWaitsForHasEnded) {
  workload.start("t", "Ticking", 0).start("c", "ChargeOnly", 5, 24h).until({"c"});
  const SimulationResult result = run({1, 20});
  EXPECT_TRUE(result.ok()) << result;
}

TEST_F(Simulate, EndsWhenAConditionHolds) {
  workload.start("t", "Ticking", 0)
      .until([](const Client& client) { return client.get_orchestration_status("t").custom_status == "tick 9"; })
      .expect("t", [](const OrchestrationStatus& status) { return status.ended() ? "it has ended" : ""; });
  const SimulationResult result = run({1, 20});
  EXPECT_TRUE(result.ok()) << result;
}

TEST_F(Simulate, SaysThatAConditionNeverHeld) {
  workload.start("c", "ChargeOnly", 5).until([](const Client&) { return false; });
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "", "until()"))) << result;
}

TEST_F(Simulate, LetsClientsDeleteAndPrune) {
  workload.start("c", "ChargeOnly", 5)
      .start("t", "Ticking", 0)
      .at(5h, "prune t", [](const Client& client) { client.prune_executions("t"); })
      .at(6h, "terminate t", [](const Client& client) { client.terminate_instance("t"); })
      .at(1h, "delete c",
          [](const Client& client) {
            const auto state = client.get_orchestration_status("c").state;
            if (state == OrchestrationState::kCompleted) client.delete_instance("c");
            return state == OrchestrationState::kCompleted || state == OrchestrationState::kNotFound;
          })
      .expect([](const Client&) {});
  const SimulationResult result = run({1, 30});
  EXPECT_TRUE(result.ok()) << result;
}

TEST_F(Simulate, ServesAllTagsUnlessSomeAreNamed) {
  workload.start("g", "Tagged", Raw());
  EXPECT_TRUE(run({1, 10}).ok());
  options.tags = {"gpu"};
  EXPECT_TRUE(run({1, 10}).ok());
  options.tags = {"cpu"};
  const SimulationResult result = run();
  ASSERT_THAT(result.findings, ElementsAre(is_finding(Kind::kStuck, "g", "tag 'gpu'"))) << result;
}

// ---- how it is told to run ----

TEST_F(Simulate, StopsWhenToldTo) {
  workload.start("c", "ChargeOnly", 5);
  std::vector<std::size_t> planned;
  options.progress = [&planned](const SimulationProgress& progress) {
    planned.push_back(progress.planned);
    return progress.runs < 3;
  };
  const SimulationResult result = run({1, 50});
  EXPECT_EQ(result.runs, 3U);
  EXPECT_THAT(result.stopped, HasSubstr("progress"));
  EXPECT_FALSE(result.ok());
  const std::size_t all = 1 + 2 * result.crash_points + 50;
  EXPECT_THAT(planned, ElementsAre(1, all, all));
}

TEST_F(Simulate, StopsAfterSoManyFailingRuns) {
  workload.start("c", "ChargeOnly", 5).expect([](const Client&) { return world.charges == 1 ? "" : "charged twice"; });
  options.max_failing_runs = 3;
  options.log_lines = 0;
  const SimulationResult result = run({1, 1'000});
  ASSERT_THAT(result.findings, SizeIs(1));
  EXPECT_EQ(result.findings[0].runs, 3U);
  EXPECT_THAT(result.findings[0].log, IsEmpty());
  EXPECT_LT(result.seeds, 1'000U);
  EXPECT_THAT(result.stopped, HasSubstr("max_failing_runs"));
}

TEST_F(Simulate, TriesSomeCrashPointsIfThereAreTooMany) {
  workload.start("order-1", "Order", 7).at(1min, "approve order-1", approve_when_asked);
  options.max_crash_points = 2;
  const SimulationResult result = run();
  EXPECT_GT(result.crash_points, 2U);
  EXPECT_EQ(result.runs, 5U);
}

TEST_F(Simulate, RunsCalmlyIfNoFaultIsWanted) {
  workload.start("c", "ChargeOnly", 5);
  options.faults = "none";
  options.crash_at_every_write = false;
  const SimulationResult result = run({1, 10});
  EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(result.runs, 11U);
  EXPECT_EQ(result.faults, 0U);
  EXPECT_THAT(result.repeated_activities, IsEmpty());
}

TEST_F(Simulate, PrintsEverything) {
  workload.start("c", "ChargeOnly", 5).expect("c", [](const OrchestrationStatus&) {
    return world.charges == 1 ? "" : "charged twice";
  });
  std::ostringstream text;
  const SimulationResult result = run();
  text << result;
  EXPECT_THAT(text.str(), AllOf(HasSubstr("1 finding"), HasSubstr("wrong end, instance 'c', in 1 run, first in crash-"),
                                HasSubstr("  charged twice\n"), HasSubstr("options.only = \"crash-before:"),
                                HasSubstr("*** dies before the store hears of it"),
                                HasSubstr("'Charge' (2) of 'c': 2 times in crash-before:")));
}

// ---- bad input ----

std::string error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Simulate, RefusesAWorkloadThatMakesNoSense) {
  EXPECT_THAT(error_of([&] { static_cast<void>(run()); }), HasSubstr("the SimulatedWorkload is empty"));
  EXPECT_THAT(error_of([&] { workload.start("", "Order", 1); }), HasSubstr("the id of an instance"));
  EXPECT_THAT(error_of([&] { workload.at(-1s, "too early", [](const Client&) {}); }), HasSubstr("'too early'"));
  EXPECT_THAT(error_of([&] { workload.until(std::vector<std::string>()); }), HasSubstr("until() names no instance"));
  workload.start("a", "Nothing", 1);
  EXPECT_THAT(error_of([&] { workload.start("a", "Order", 1); }), HasSubstr("'a' is started twice"));
  EXPECT_THAT(error_of([&] { static_cast<void>(run()); }),
              AllOf(HasSubstr("'Nothing', which is not registered"), HasSubstr("'Order'")));
}

TEST_F(Simulate, RefusesARegistryWithErrors) {
  workload.start("c", "ChargeOnly", 5);
  registry.add_orchestration("ChargeOnly", charge_only);
  EXPECT_THAT(error_of([&] { static_cast<void>(run()); }), HasSubstr("ChargeOnly"));
}

TEST_F(Simulate, RefusesOptionsThatMakeNoSense) {
  workload.start("c", "ChargeOnly", 5);
  const auto error_with = [&](const SimulationOptions& wrong, SeedRange seeds) {
    return error_of([&] { static_cast<void>(simulate(registry, workload, seeds, wrong)); });
  };
  SimulationOptions wrong;
  wrong.faults = "crash,earthquake";
  EXPECT_THAT(error_with(wrong, {}), AllOf(HasSubstr("'earthquake'"), HasSubstr("time-jump")));
  wrong = {};
  wrong.faults = "crash,damage";
  EXPECT_THAT(error_with(wrong, {}), HasSubstr("'damage'"));
  wrong = {};
  wrong.nodes = 0;
  EXPECT_THAT(error_with(wrong, {}), HasSubstr("nodes must be 1 to 16"));
  wrong = {};
  wrong.time_limit = 0ms;
  EXPECT_THAT(error_with(wrong, {}), HasSubstr("time_limit"));
  wrong = {};
  wrong.tags = std::vector<std::string>(6, "x");
  EXPECT_THAT(error_with(wrong, {}), HasSubstr("tag"));
  EXPECT_THAT(error_with({}, {5, 4}), HasSubstr("the first seed, 5, is greater than the last, 4"));
  for (const std::string only : {"seed", "seed:x", "crash-before:0", "calm:1", "storm:1", "seed:1 "}) {
    wrong = {};
    wrong.only = only;
    EXPECT_THAT(error_with(wrong, {}), HasSubstr("'" + only + "' names no simulated run"));
  }
}

TEST(SimulatedRuns, AreReadAsTheyAreWritten) {
  for (const std::string text : {"calm", "crash-before:7", "crash-after:1", "seed:0", "seed:18446744073709551615"}) {
    EXPECT_EQ(SimulatedRun::parse(text).to_string(), text);
  }
}

}  // namespace
}  // namespace perdure::testing
