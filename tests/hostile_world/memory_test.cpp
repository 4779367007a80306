// Memory that runs out for a moment, wherever it is asked for: see memory_child.cpp. The workflow completes, in this
// process or in the next one.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "providers/sqlite_scene.h"
#include "support/child_process.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::AnyOf;

class MemoryShortage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PERDURE_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  }
  // What the process says at its end; "aborted" if that is how it ends.
  [[nodiscard]] std::string run(const std::vector<std::string>& arguments) const {
    return run(PERDURE_MEMORY_CHILD, arguments);
  }
  [[nodiscard]] std::string run(const std::string& program, const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{program};
    command.insert(command.end(), arguments.begin(), arguments.end());
    ChildProcess child(command, folder.file("errors"));
    std::string said = child.answer();
    child.end();
    const bool aborted = WIFSIGNALED(child.wait_status()) && WTERMSIG(child.wait_status()) == SIGABRT;
    return aborted ? "aborted" : said;
  }
  [[nodiscard]] std::string new_store() { return folder.file(std::to_string(++stores_) + ".db"); }

  TemporaryFolder folder;

 private:
  int stores_ = 0;
};

TEST_F(MemoryShortage, FailsACallOfTheStoreAndNothingElse) {
  for (const std::string call : {"fetch", "read", "commit", "fetch work", "ack", "wait"}) {
    for (int count = 1; count < 12; count += count < 4 ? 1 : 3) {
      EXPECT_EQ(run({"call", call, new_store(), std::to_string(count)}), "completed") << call << " " << count;
    }
  }
}

// No workflow fails because a machine was short of memory for a moment: its turn or its activity runs again.
TEST_F(MemoryShortage, InTheUsersCodeCostsAnAttempt) {
  for (const std::string place : {"activity", "orchestration", "encode", "decode"}) {
    for (const int count : {1, 2, 5}) {
      EXPECT_EQ(run({"code", place, new_store(), std::to_string(count)}), "completed") << place << " " << count;
    }
  }
}

// A node that cannot take note of what it does ends its process: it cannot go on with half of the truth.
TEST_F(MemoryShortage, AnywhereInANodeLosesNothing) {
  for (int count = 1; count < 500; count += 1 + count / 5) {
    const std::string path = new_store();
    std::string said = run({"node", path, std::to_string(count)});
    if (said == "aborted") said = run({"node", path, "0"});
    EXPECT_EQ(said, "completed") << count;
    EXPECT_EQ(testing::integrity_of(path), "ok");
  }
}

// No code awaits the engine's own coroutine behind an activity with a RetryPolicy. Its failure abandons the turn.
TEST_F(MemoryShortage, InARetryPolicyAbandonsTheTurn) {
  for (const std::string scene : {"success", "failure", "next attempt", "deadline"}) {
    EXPECT_EQ(run(PERDURE_TURN_MEMORY_CHILD, {scene}), "complete") << scene;
  }
}

TEST_F(MemoryShortage, OpeningAStoreIsRefused) {
  const std::string path = new_store();
  std::string said;
  for (int count = 1; said != "opened"; ++count) {
    ASSERT_LT(count, 1'000);
    std::filesystem::remove(path);
    said = run({"open", path, std::to_string(count)});
    ASSERT_THAT(said, AnyOf("refused", "opened", "opened nevertheless")) << count;
  }
}

TEST_F(MemoryShortage, AStoreIsOpenedInLittleAddressSpaceOrRefused) {
  for (const int kibibytes : {0, 16, 64, 256, 1'024, 8'192, 16'384, 65'536}) {
    EXPECT_THAT(run({"limit", new_store(), std::to_string(kibibytes)}), AnyOf("refused", "opened")) << kibibytes;
  }
}

}  // namespace
}  // namespace perdure::test
