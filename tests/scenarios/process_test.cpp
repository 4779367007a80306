// Processes that die, and others that go on: real ones, on a real file.
#include <array>
#include <csignal>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenarios/process_workflows.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

class Processes : public ::testing::Test {
 protected:
  Processes() {
    std::string pattern = (std::filesystem::temp_directory_path() / "perdure-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = pattern;
  }
  ~Processes() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // The wait status of the process when it is gone.
  static int run_child(std::vector<std::string> arguments) {
    std::string program = PERDURE_NODE_CHILD;
    std::vector<char*> pointers{program.data()};
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t process = 0;
    if (::posix_spawn(&process, PERDURE_NODE_CHILD, nullptr, nullptr, pointers.data(), environ) != 0) return -1;
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  static bool ended_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  static bool died_of(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

 private:
  std::filesystem::path folder_;
};

// The attempts of all 64 rise while they die together; from half of the attempts on each is fetched alone, and only the
// one that is to blame goes on dying.
TEST_F(Processes, OneAbortingTurnInABatchOf64IsPoisonedAndTheOthersComplete) {
  const std::string path = file("store.db");
  {
    const Client client(SqliteProvider::open(path));
    for (int i = 0; i < kBatch; ++i) client.start_orchestration(batch_instance(i), i == 17 ? "Bad" : "Good", i);
  }
  int deaths = 0;
  int status = run_child({"batch", path});
  for (; died_of(status, SIGABRT) && deaths < 100; ++deaths) status = run_child({"batch", path});
  ASSERT_TRUE(ended_well(status)) << "wait status " << status << " after " << deaths << " deaths";
  EXPECT_EQ(deaths, 10) << "as many as max_attempts, and no more";

  const Client client(SqliteProvider::open(path));
  for (int i = 0; i < kBatch; ++i) {
    const auto ended = client.get_orchestration_status(batch_instance(i));
    if (i == 17) {
      EXPECT_EQ(ended.state, OrchestrationState::kFailed);
      ASSERT_TRUE(ended.error.has_value());
      EXPECT_TRUE(std::holds_alternative<PoisonError>(*ended.error)) << ended.error_text();
    } else {
      EXPECT_EQ(ended.state, OrchestrationState::kCompleted) << ended.error_text();
    }
  }
}

// A process dies before or after each single call that changes the store; the next one finishes what it left.
TEST_F(Processes, WhateverAKilledProcessLeftIsFinishedByTheNext) {
  int point = 0;
  bool reached_the_end = false;
  while (!reached_the_end && point < 400) {
    ++point;
    const std::string path = file(std::to_string(point) + ".db");
    const std::string journal = file(std::to_string(point) + ".journal");
    Client(SqliteProvider::open(path)).start_orchestration("mixed", "Mixed", 1);
    const int first = run_child({"mixed", path, journal, std::to_string(point)});
    reached_the_end = ended_well(first);
    ASSERT_TRUE(reached_the_end || died_of(first, SIGKILL)) << "point " << point << ", wait status " << first;
    if (!reached_the_end) {
      ASSERT_TRUE(ended_well(run_child({"mixed", path, journal, "0"}))) << "point " << point;
    }
    const auto status = Client(SqliteProvider::open(path)).get_orchestration_status("mixed");
    ASSERT_EQ(status.state, OrchestrationState::kCompleted) << "point " << point << ": " << status.error_text();
    ASSERT_EQ(status.result<std::string>(), kMixedResult) << "point " << point;
  }
  EXPECT_TRUE(reached_the_end);
  EXPECT_GT(point, 30) << "the workflow makes more calls than that";
}

}  // namespace
}  // namespace perdure::test
