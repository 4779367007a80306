// Memory that runs out for a moment, wherever it is asked for: see memory_child.cpp. The workflow completes, in this
// process or in the next one.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/sqlite_scene.h"
#include "support/child_process.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::AnyOf;

// A store of its own on the server that tests share.
class NewSchema {
 public:
  NewSchema() { session_.execute("DROP SCHEMA IF EXISTS " + name_ + " CASCADE"); }
  NewSchema(const NewSchema&) = delete;
  NewSchema& operator=(const NewSchema&) = delete;
  ~NewSchema() { session_.execute("DROP SCHEMA IF EXISTS " + name_ + " CASCADE"); }
  [[nodiscard]] std::string store() const { return name_ + "@" + shared_postgres_url(); }

 private:
  std::string name_ = "perdure_memory_" + std::to_string(::getpid());
  PostgresSession session_{shared_postgres_url()};
};

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

// The call returns an error. A wait that fails leaves no waiter in the store, which would poll for it for ever.
TEST_F(MemoryShortage, FailsACallOfTheStoreAndNothingElse) {
  for (const std::string call : {"fetch", "read", "commit", "fetch work", "ack", "wait"}) {
    for (int count = 1; count < 12; count += count < 4 ? 1 : 3) {
      EXPECT_EQ(run({"call", call, new_store(), std::to_string(count)}), "completed") << call << " " << count;
    }
  }
}

TEST_F(MemoryShortage, FailsACallOfAPostgresStoreAndNothingElse) {
  for (const std::string call : {"fetch", "read", "commit", "fetch work", "ack", "wait"}) {
    for (const int count : {1, 2, 5, 12, 25}) {
      const NewSchema schema;
      EXPECT_EQ(run({"call", call, schema.store(), std::to_string(count)}), "completed") << call << " " << count;
    }
  }
}

// The failure of the call is no attempt: the next fetch finds the item, and need not wait for the end of its lock.
TEST_F(MemoryShortage, AFetchThatFailsLocksNothing) {
  EXPECT_EQ(run({"fetch", new_store()}), "released");
}

TEST_F(MemoryShortage, AFetchThatFailsOnPostgresLocksNothing) {
  const NewSchema schema;
  EXPECT_EQ(run({"fetch", schema.store()}), "released");
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

TEST_F(MemoryShortage, OpeningAPostgresStoreIsRefused) {
  std::string said;
  for (int count = 1; said != "opened"; count += 1 + count / 10) {
    ASSERT_LT(count, 10'000);
    const NewSchema schema;
    said = run({"open", schema.store(), std::to_string(count)});
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
