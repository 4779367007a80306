// Every workload for a fraction of a second: what it reports is there and agrees with itself. How fast it was is not
// asked.
#include "cli/bench/workloads.h"

#include <cmath>

#include <gmock/gmock.h>

#include "bench/program.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

// What docs/performance.md promises for every workload.
constexpr const char* kFields[] = {"workload",
                                   "store",
                                   "sync",
                                   "in_flight",
                                   "steps",
                                   "workflows_per_s",
                                   "steps_per_s",
                                   "p50_us",
                                   "p99_us",
                                   "step_p50_us",
                                   "cpu_us_per_step",
                                   "commits_per_step",
                                   "bytes_per_step",
                                   "rss_mb",
                                   "floor_commit_p50_us",
                                   "ceiling_steps_per_s",
                                   "ratio_to_floor",
                                   "ratio_to_ceiling",
                                   "fast_path",
                                   "seconds"};

std::vector<std::string> quick(const std::string& workload, const StoreFolder& folder) {
  return {workload, "--store", folder.store(), "--sync", "normal", "--seconds", "0.2", "--json"};
}

nlohmann::json report_of(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = run_bench(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.exit_code == 0 ? outcome.json() : nlohmann::json::object();
}

void expect_agreement(const nlohmann::json& report);

class EveryWorkload : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryWorkload, ReportsEveryFieldAgreesWithItselfAndLeavesNothingBehind) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick(GetParam(), folder), {"--instances", "20", "--delay-ms", "1"});
  for (const char* field : kFields) EXPECT_TRUE(report.contains(field)) << field;
  EXPECT_EQ(report.value("workload", ""), GetParam());
  EXPECT_EQ(report.value("store", ""), folder.store());
  EXPECT_EQ(report.value("sync", ""), "normal");
  EXPECT_EQ(report.value("fast_path", false), true);
  EXPECT_GT(report.value("rss_mb", 0.0), 0);
  EXPECT_GE(report.value("seconds", 0.0), 0.2);
  EXPECT_TRUE(folder.is_empty());
  if (GetParam() == "idle") {
    EXPECT_EQ(report.at("instances"), 20);
    EXPECT_GE(report.at("idle_cpu_percent"), 0);
    EXPECT_TRUE(report.at("p50_us").is_null());
  } else {
    expect_agreement(report);
  }
}

void expect_agreement(const nlohmann::json& report) {
  const double seconds = report.at("seconds");
  const double operations = report.at("operations");
  EXPECT_GT(operations, 0);
  const auto near = [](double one, double other) { return std::abs(one - other) <= 0.02 * other + 0.001; };
  EXPECT_TRUE(near(report.at("operations_per_s").get<double>() * seconds, operations));
  EXPECT_TRUE(near(report.at("steps_per_s").get<double>() * seconds, report.at("steps")));
  EXPECT_LE(report.at("p50_us"), report.at("p99_us"));
  EXPECT_GT(report.at("p50_us"), 0);
  EXPECT_GT(report.at("floor_commit_p50_us"), 0);
  EXPECT_GT(report.at("ceiling_steps_per_s"), 0);
  EXPECT_GT(report.at("commits_per_operation"), 0);
  EXPECT_GT(report.at("cpu_us_per_operation"), 0);
  if (report.at("operation") != "activity") {
    EXPECT_EQ(report.at("steps"), 0);
    EXPECT_TRUE(report.at("cpu_us_per_step").is_null());
    EXPECT_TRUE(report.at("ratio_to_floor").is_null());
    EXPECT_TRUE(report.at("ratio_to_ceiling").is_null());
    return;
  }
  EXPECT_EQ(report.at("steps"), report.at("operations"));
  EXPECT_TRUE(near(report.at("ratio_to_floor").get<double>() * report.at("floor_commit_p50_us").get<double>(),
                   report.at("step_p50_us")));
  EXPECT_TRUE(near(report.at("ratio_to_ceiling").get<double>() * report.at("ceiling_steps_per_s").get<double>(),
                   report.at("steps_per_s")));
}

std::vector<std::string> all_workloads() {
  std::vector<std::string> names;
  for (const cli::bench::Workload& workload : cli::bench::workloads()) names.emplace_back(workload.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Bench, EveryWorkload, ::testing::ValuesIn(all_workloads()),
                         [](const auto& each) { return each.param; });

// A workflow is its start, the fetch of its first turn, that turn, and one write for each step.
TEST(BenchCounts, AStepOfASequenceIsOneWriteWithTheFastPath) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("seq", folder), {"--steps", "10"});
  EXPECT_GE(report.at("commits_per_step"), 1.2);
  EXPECT_LE(report.at("commits_per_step"), 1.6);
  EXPECT_EQ(report.at("steps"), report.at("workflows").get<int>() * 10);
}

TEST(BenchCounts, AndFourWithoutIt) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("seq", folder), {"--steps", "10", "--fast-path", "off"});
  EXPECT_EQ(report.at("fast_path"), false);
  EXPECT_GE(report.at("commits_per_step"), 4.0);
  EXPECT_LE(report.at("commits_per_step"), 4.6);
}

TEST(BenchCounts, ManyInFlightShareTheirCommits) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("seq", folder), {"--in-flight", "32"});
  EXPECT_LT(report.at("commits_per_step"), 1.0);
  EXPECT_EQ(report.at("observed_by"), "store");
  EXPECT_EQ(report.at("workers"), 32);
  EXPECT_EQ(report.at("ceiling_batch"), 32);
}

// The start, four events and the activity have it: input, scheduled, completed, result.
TEST(BenchCounts, APayloadIsWrittenSixTimes) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("payload", folder), {"--bytes", "50000"});
  EXPECT_GE(report.at("bytes_per_step"), 6 * 50'000);
  EXPECT_LE(report.at("bytes_per_step"), 6 * 50'000 + 5'000);
}

TEST(BenchCounts, TimersTellHowLateTheyWere) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("timers", folder), {"--steps", "3", "--delay-ms", "2"});
  EXPECT_EQ(report.at("operations"), report.at("workflows").get<int>() * 3);
  EXPECT_GE(report.at("lateness_p50_us"), 0);
  EXPECT_LE(report.at("lateness_p50_us"), report.at("lateness_p99_us"));
  EXPECT_GE(report.at("step_p50_us"), 1'000);
}

TEST(BenchCounts, StressIsThePublishedWorkload) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("stress", folder));
  EXPECT_EQ(report.at("in_flight"), 20);
  EXPECT_EQ(report.at("width"), 5);
  EXPECT_EQ(report.at("delay_ms"), 10);
  EXPECT_EQ(report.at("workers"), 2);
  EXPECT_EQ(report.at("turns"), 2);
  EXPECT_EQ(report.at("ceiling_batch"), 100);
}

TEST(BenchCounts, ChildrenAreCountedWithTheirParents) {
  const StoreFolder folder;
  const nlohmann::json report = report_of(quick("children", folder), {"--width", "3"});
  EXPECT_EQ(report.at("operations"), report.at("workflows").get<int>() * 3);
}

TEST(BenchOutput, TheTextHasALineForEachFigureAndProgressGoesElsewhere) {
  const StoreFolder folder;
  const Outcome outcome = run_bench({"noop", "--store", folder.store(), "--sync", "normal", "--seconds", "0.1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("workflows_per_s"));
  EXPECT_THAT(outcome.out, HasSubstr("floor_commit_p50_us"));
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("cpu_us_per_step"))) << "a noop has no steps";
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("warming up")));
  EXPECT_THAT(outcome.err, HasSubstr("warming up"));
}

TEST(BenchOutput, WithoutAStoreItMakesOneUnderTheTemporaryFolder) {
  const Outcome outcome = run_bench({"noop", "--sync", "normal", "--seconds", "0.1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string store = outcome.json().at("store");
  ASSERT_THAT(store, ::testing::StartsWith("sqlite:" + std::filesystem::temp_directory_path().string()));
  const std::filesystem::path path = store.substr(std::string("sqlite:").size());
  EXPECT_FALSE(std::filesystem::exists(path.parent_path()));
}

TEST(BenchOutput, AStoreInMemoryIsAStore) {
  const Outcome outcome = run_bench({"seq", "--store", "sqlite::memory:", "--seconds", "0.1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(outcome.json().at("steps"), 0);
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

}  // namespace
}  // namespace perdure::test
