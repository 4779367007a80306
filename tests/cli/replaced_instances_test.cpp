// Commands that read an instance in several steps, and an instance that is started again between two of them.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/client.h>
#include <perdure/memory_provider.h>
#include <perdure/runtime.h>
#include "cli/exit_code.h"
#include "cli/history_follower.h"
#include "cli/instance_copies.h"
#include "cli/program_run.h"
#include "support/eventually.h"
#include "support/hooked_store.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReplacedInstances : public ::testing::Test {
 protected:
  // Starts it and waits until it has ended.
  void complete(const std::string& instance, const std::string& name) {
    const Runtime runtime(store, sample_registry());
    client.start_orchestration(instance, name, StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal));
    (void)client.wait_for_orchestration(instance, kPatience);
  }
  // Starts one that waits for an event.
  void begin_approval(const std::string& instance) {
    const Runtime runtime(store, sample_registry());
    client.start_orchestration(instance, "Approval");
    (void)client.wait_for_status_change(instance, 0, kPatience);
  }

  std::shared_ptr<Provider> store = make_memory_provider();
  Client client{store};
  std::shared_ptr<HookedStore> view = std::make_shared<HookedStore>(store);
};

TEST_F(ReplacedInstances, AnExportDoesNotCombineTwoTrees) {
  complete("family", "Family");
  act_before(*view, "info family-a", 1, [this] { complete("family", "Family"); });
  try {
    (void)cli::copy_tree(*view, "family");
    FAIL() << "the root and its children are of different trees";
  } catch (const cli::CommandError& error) {
    EXPECT_EQ(error.exit_code(), cli::kConflict);
    EXPECT_THAT(error.what(), HasSubstr("the tree of instance 'family' was deleted or started again"));
  }
  EXPECT_EQ(cli::copy_tree(*view, "family").size(), 4U);
}

std::vector<std::string> started_names(const std::string& lines) {
  std::vector<std::string> names;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("event_id") == 1) names.push_back(event.at("details").at("name"));
  }
  return names;
}

TEST_F(ReplacedInstances, AFollowedHistoryBeginsAnew) {
  begin_approval("i");
  // The events that are there have been printed.
  act_before(*view, "history i", 2, [this] {
    client.delete_instance("i", true);
    complete("i", "Family");
  });
  std::ostringstream out;
  std::ostringstream err;
  const cli::Context context{.out = out, .err = err, .json = true};
  cli::follow_history(context, view, {.instance = "i", .json = true, .timeout = "60s"});
  EXPECT_THAT(started_names(out.str()), ElementsAre("Approval", "Family"));
  EXPECT_THAT(out.str(), HasSubstr("OrchestrationCompleted"));
  EXPECT_EQ(err.str(), "{\"warning\":\"instance 'i' was deleted and started again; its new history follows\"}\n");
}

TEST_F(ReplacedInstances, AFollowedTableBeginsAnewWithALineOfText) {
  begin_approval("i");
  act_before(*view, "history i", 2, [this] {
    client.delete_instance("i", true);
    complete("i", "Family");
  });
  std::ostringstream out;
  std::ostringstream err;
  const cli::Context context{.out = out, .err = err};
  cli::follow_history(context, view, {.instance = "i", .timeout = "60s"});
  EXPECT_THAT(out.str(), HasSubstr("'Family'"));
  EXPECT_EQ(err.str(), "perdure: instance 'i' was deleted and started again; its new history follows\n");
}

// The next incarnation has no turn at first, so there is no history to read.
TEST_F(ReplacedInstances, AFollowedHistoryWaitsForTheNextIncarnation) {
  begin_approval("i");
  act_before(*view, "history i", 2, [this] {
    client.delete_instance("i", true);
    client.start_orchestration("i", "Family");
  });
  std::ostringstream out;
  std::ostringstream err;
  const cli::Context context{.out = out, .err = err};
  EXPECT_THROW(cli::follow_history(context, view, {.instance = "i", .json = true, .timeout = "500ms"}), ClientError);
  EXPECT_THAT(started_names(out.str()), ElementsAre("Approval"));
  EXPECT_THAT(err.str(), IsEmpty());
}

}  // namespace
}  // namespace perdure::test
