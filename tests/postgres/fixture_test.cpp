// The server of a run of ctest goes with it.
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "support/child_process.h"
#include "support/eventually.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

class PostgresFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_postgres_is_borrowed()) GTEST_SKIP() << "PERDURE_TEST_POSTGRES names a server, so none is started";
  }

  // What the fixture's program prints.
  std::string fixture(const std::string& command) const {
    ChildProcess program(
        {PERDURE_POSTGRES_FIXTURE_CHILD, command, folder_.path().string(), std::to_string(pid_of_run_)});
    std::string said = program.answer();
    EXPECT_EQ(program.end(), 0) << said;
    return said;
  }
  [[nodiscard]] bool file_exists() const {
    return std::filesystem::exists(shared_postgres_file(folder_.path(), pid_of_run_));
  }
  [[nodiscard]] static bool answers(const std::string& url) {
    try {
      return PostgresSession(url).value("SELECT 1") == "1";
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  TemporaryFolder folder_;
  ChildProcess run_{{"/bin/sh", "-c", "echo $$; cat"}};  // in the place of ctest
  pid_t pid_of_run_ = std::stoi(run_.answer());
};

TEST_F(PostgresFixture, StopEndsTheServer) {
  const std::string url = fixture("start");
  EXPECT_TRUE(answers(url)) << url;
  EXPECT_TRUE(file_exists());
  fixture("stop");
  EXPECT_FALSE(answers(url));
  EXPECT_FALSE(file_exists());
}

TEST_F(PostgresFixture, AServerWhoseRunWasKilledEnds) {
  const std::string url = fixture("start");
  EXPECT_TRUE(answers(url)) << url;
  run_.kill();
  EXPECT_TRUE(eventually([&] { return !answers(url); }));
  EXPECT_TRUE(eventually([&] { return !file_exists(); }));
}

}  // namespace
}  // namespace perdure::test
