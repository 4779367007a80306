// The store that the commands' tests look at is as program_run.h says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program_run.h"

namespace perdure::test {
namespace {

TEST(Samples, ThereIsOneInstanceOfEachKind) {
  const SqliteFile store;
  fill_with_samples(store.provider());
  const Client client(store.provider());
  const auto state = [&](const char* instance) { return client.get_orchestration_status(instance).state; };
  EXPECT_EQ(state("order-1"), OrchestrationState::kCompleted);
  EXPECT_EQ(state("order-2"), OrchestrationState::kFailed);
  EXPECT_EQ(state("waiting"), OrchestrationState::kRunning);
  EXPECT_EQ(state("cancelled"), OrchestrationState::kCancelled);
  EXPECT_EQ(state("terminated"), OrchestrationState::kTerminated);
  EXPECT_EQ(state("foreign"), OrchestrationState::kPending);
  EXPECT_EQ(client.get_orchestration_status("rounds").execution_id, 3U);
  EXPECT_EQ(client.get_instance_tree("family").ids.size(), 4U);
  EXPECT_EQ(store.run({"version"}).exit_code, 2) << "version takes no store";
  EXPECT_EQ(run_perdure({"version"}).exit_code, 0);
}

}  // namespace
}  // namespace perdure::test
