// The storm in short, as `make storm` runs it for longer: it must be clean, it must be able to fail, and it must leave
// nothing behind.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cluster/store_address.h"
#include "cluster/storm/lock_audit.h"
#include "postgres/orders.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kNotPossible = 77;

class PostgresStorm : public ::testing::Test {
 protected:
  void SetUp() override {  // the server's user must find its folder in there
    std::filesystem::permissions(folder.path(),
                                 std::filesystem::perms::others_exec | std::filesystem::perms::group_exec,
                                 std::filesystem::perm_options::add);
  }
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {PERDURE_STORM, "seed=1", "calm=2", "round=10", "silence_least=3", "silence_most=5"});
    return arguments;
  }
  [[nodiscard]] std::vector<std::string> environment() const { return {"TMPDIR=" + folder.path().string()}; }
  // Ends the test if this machine does not permit it.
  void run(const std::vector<std::string>& arguments) {
    ChildProcess program(command(arguments), errors_file, environment());
    finish(program);
  }
  void finish(ChildProcess& program) {
    constexpr Milliseconds kLongPatience{280'000};
    for (std::string line = program.answer(kLongPatience); !line.empty(); line = program.answer(kLongPatience)) {
      printed += line + "\n";
    }
    const int wait_status = program.end();
    ASSERT_TRUE(WIFEXITED(wait_status)) << wait_status << errors();
    status = WEXITSTATUS(wait_status);
    if (status == kNotPossible) GTEST_SKIP() << errors();
  }
  [[nodiscard]] std::string errors() const {
    std::ifstream file(errors_file);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Whether activities have run.
  [[nodiscard]] bool has_ledger() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      std::error_code none;
      if (std::filesystem::file_size(entry.path() / "ledger", none) > 0 && !none) return true;
    }
    return false;
  }
  void expect_that_nothing_is_left() const {
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(process.path() / "cmdline");
      const std::string words{std::istreambuf_iterator<char>(file), {}};
      EXPECT_THAT(words, Not(HasSubstr(folder.path().string()))) << process.path();
    }
  }

  const TemporaryFolder folder;
  const TemporaryFolder log_folder;
  const std::string errors_file = log_folder.file("errors");
  std::string printed;
  int status = -1;
};

TEST_F(PostgresStorm, LosesNothingAndRepeatsNothingWithoutAnExcuse) {
  run({"seconds=12"});
  if (IsSkipped()) return;
  EXPECT_EQ(status, 0) << printed << errors();
  EXPECT_THAT(printed, HasSubstr("clean: nothing lost"));
  expect_that_nothing_is_left();
}

TEST_F(PostgresStorm, SeesThatANodeDoesWrong) {
  run({"seconds=3", "planted=drop-line"});
  if (IsSkipped()) return;
  EXPECT_EQ(status, 1) << printed << errors();
  EXPECT_THAT(printed, HasSubstr("but it never ran"));
  EXPECT_THAT(printed, HasSubstr("NOT CLEAN"));
  expect_that_nothing_is_left();
}

TEST_F(PostgresStorm, LeavesNothingBehindWhenItIsInterrupted) {
  ChildProcess program(command({"seconds=600"}), errors_file, environment());
  constexpr std::chrono::seconds kStartPatience{120};  // for a server, a pooler, nodes and their first activity
  ASSERT_TRUE(eventually([&] { return has_ledger() || program.ended_within(Milliseconds(0)); }, kStartPatience));
  if (!program.ended_within(Milliseconds(0))) program.send(SIGTERM);
  finish(program);
  if (IsSkipped()) return;
  EXPECT_EQ(status, 1) << printed << errors();
  EXPECT_THAT(printed, HasSubstr("interrupted: nothing was checked"));
  expect_that_nothing_is_left();
}

// Two nodes that have the lock of an instance or an activity at the same time, because the test changes rows.
TEST(PostgresStormAudit, SeesALockThatIsGrantedTwice) {
  const PostgresServer server;
  const auto store = open_store({server.url(), "perdure"});
  constexpr Milliseconds kLock{60'000};
  PostgresSession session(server.url());
  session.execute(storm::lock_audit_script("perdure", kLock));
  const auto grants = [&] { return session.value("SELECT count(*) FROM perdure.locks_granted_twice"); };
  OrchestrationFetch fetch;
  fetch.lock_timeout = kLock;
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  ASSERT_TRUE(store->fetch_orchestration_item(fetch).value().has_value());
  ASSERT_FALSE(store->fetch_orchestration_item(fetch).value().has_value());
  EXPECT_EQ(grants(), "0");
  session.execute("UPDATE perdure.instances SET ready_at = 0, locked_until = 0");
  ASSERT_TRUE(store->fetch_orchestration_item(fetch).value().has_value());
  EXPECT_EQ(grants(), "0") << "the lock had expired";
  session.execute("UPDATE perdure.instances SET ready_at = 0");
  ASSERT_TRUE(store->fetch_orchestration_item(fetch).value().has_value());
  EXPECT_EQ(grants(), "1");
}

}  // namespace
}  // namespace perdure::test
