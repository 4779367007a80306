// Code that no node has: policies are refused where they are set, and errors name what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

class UnregisteredCode : public Threaded {
 protected:
  UnregisteredCode() {
    options.worker_node_id = "node-7";
    options.max_attempts = 1;
    options.unregistered_backoff = {.base = 1ms, .max = 1ms};
    registry.add_orchestration(
        "Flow", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Nothing"); });
  }
  Registry registry;
};

TEST_F(UnregisteredCode, PolicyIsRefusedWhereItIsSet) {
  const auto runtime = run(registry);
  EXPECT_THROW(runtime->set_version_policy("Flow", VersionPolicy::exact({9, 0, 0})), std::invalid_argument);
  EXPECT_THROW(runtime->set_version_policy("Other", VersionPolicy::latest()), std::invalid_argument);
  EXPECT_NO_THROW(runtime->set_version_policy("Flow", VersionPolicy::exact({1, 0, 0})));
}

TEST_F(UnregisteredCode, RuntimeRefusesRegistryWithSuchAPolicy) {
  registry.set_version_policy("Flow", VersionPolicy::exact({9, 0, 0}));
  EXPECT_THROW(run(registry), std::invalid_argument);
}

TEST_F(UnregisteredCode, ErrorNamesTheOrchestration) {
  const auto runtime = run(registry);
  client.start_orchestration("i", "Missing", StartInstanceOptions().version("3.1.4"));
  EXPECT_THAT(end_of("i").error_text(),
              AllOf(HasSubstr("not registered: orchestration 'Missing' version 3.1.4"), HasSubstr("node 'node-7'")));
}

TEST_F(UnregisteredCode, ErrorNamesTheVersionThatIsMissing) {
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow", StartInstanceOptions().version("2.0.0"));
  EXPECT_THAT(end_of("i").error_text(), HasSubstr("not registered: orchestration 'Flow' version 2.0.0"));
}

TEST_F(UnregisteredCode, ErrorNamesTheActivity) {
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_THAT(end_of("i").error_text(),
              AllOf(HasSubstr("not registered: activity 'Nothing'"), HasSubstr("node 'node-7'")));
}

TEST_F(UnregisteredCode, ErrorNamesTheNodesThatWereAsked) {
  for (int number = 1; number <= 6; ++number) {
    NodeInfo node;
    node.id = "other-" + std::to_string(number);
    if (number == 1) node.orchestrations = {{"Flow", {1, 1, 0}}, {"Flow", {1, 2, 0}}, {"Missing", {2, 0, 0}}};
    if (number == 2) node.activities = {"Nothing"};
    ASSERT_TRUE(store->register_node(node));
  }
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow", StartInstanceOptions().version("2.0.0"));
  EXPECT_THAT(end_of("i").error_text(),
              HasSubstr("nodes of the store: 'node-7' (version 1.0.0), 'other-1' (versions 1.1.0, 1.2.0), 'other-2', "
                        "'other-3', 'other-4' and 2 others"));
  client.start_orchestration("j", "Flow");
  EXPECT_THAT(end_of("j").error_text(),
              HasSubstr("nodes of the store: 'node-7', 'other-1', 'other-2' (has it), 'other-3', 'other-4' and 2 "
                        "others"));
}

TEST_F(UnregisteredCode, ClientThatWasMovedFromThrows) {
  Client moved = std::move(client);
  EXPECT_FALSE(client.has_management_capability());                          // NOLINT(bugprone-use-after-move)
  EXPECT_THROW((void)client.get_orchestration_status("i"), ClientError);     // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(client.start_orchestration("i", "Flow"), ClientError);        // NOLINT(bugprone-use-after-move)
  EXPECT_THROW((void)client.wait_for_orchestration("i", 1ms), ClientError);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW((void)client.list_all_instances(), ClientError);              // NOLINT(bugprone-use-after-move)
  EXPECT_NO_THROW((void)moved.get_orchestration_status("i"));
}

}  // namespace
}  // namespace perdure::test
