// perdure simulate: which store the seeds run on, and how a failing seed is repeated there.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program_run.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

nlohmann::json simulate(const std::string& store) {
  const auto run = run_perdure({"simulate", "--seeds", "1..6", "--faults", "none", "--roots", "0", "--lifecycles",
                                "off", "--jobs", "1", "--store", store, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out);
}

TEST(Simulate, RunsEverySeedOnTheStoreThatIsAskedFor) {
  EXPECT_EQ(simulate("sqlite").at("sqlite_seeds"), 6);
  EXPECT_EQ(simulate("memory").at("sqlite_seeds"), 0);
}

TEST(Simulate, RefusesAStoreThatItDoesNotHave) {
  const auto run = run_perdure({"simulate", "--seeds", "1", "--store", "postgres"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--store"));
}

}  // namespace
}  // namespace perdure::test
