// The servers that tests start do what the tests expect of them.
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/postgres_bouncer.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

TEST(PostgresServer, KeepsWhatWasCommittedHoweverItEnds) {
  PostgresServer server;
  const std::string url = server.url();
  server.execute("CREATE TABLE numbers AS SELECT 1 AS n");
  server.restart();
  server.execute("INSERT INTO numbers VALUES (2)");
  server.stop_immediately();
  EXPECT_FALSE(server.running());
  EXPECT_THROW(PostgresSession{url}, std::runtime_error);
  server.start();
  server.execute("INSERT INTO numbers VALUES (4)");
  server.kill();
  EXPECT_THROW(PostgresSession{url}, std::runtime_error);
  server.start();
  EXPECT_EQ(PostgresSession(url).value("SELECT sum(n) FROM numbers"), "7");
  EXPECT_EQ(PostgresSession(server.socket_url()).value("SELECT sum(n) FROM numbers"), "7");
  EXPECT_EQ(server.url(), url);
}

TEST(PostgresServer, LeavesNothingBehind) {
  std::filesystem::path folder;
  {
    const PostgresServer server;
    folder = server.data_folder().parent_path();
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(PostgresServer, TakesSettings) {
  const PostgresServer server({.durable = true, .max_connections = 17, .settings = {"work_mem = 7MB"}});
  EXPECT_EQ(server.execute("SHOW fsync"), "on");
  EXPECT_EQ(server.execute("SHOW max_connections"), "17");
  EXPECT_EQ(server.execute("SHOW work_mem"), "7MB");
  server.set("work_mem", "5MB");
  EXPECT_EQ(server.execute("SHOW work_mem"), "5MB");
}

TEST(PostgresServer, SaysWhatFailedAndShowsItsLog) {
  PostgresServer server;
  try {
    server.execute("SELECT nothing FROM nowhere");
    FAIL() << "there is no such table";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("relation \"nowhere\" does not exist"));
    EXPECT_THAT(error.what(), HasSubstr("The end of its log:"));
  }
  server.set("shared_preload_libraries", "no_such_library");
  EXPECT_THROW(server.restart(), std::runtime_error);
  EXPECT_FALSE(server.running());
}

TEST(PostgresServer, AStandbyHasWhatThePrimaryHadAndTakesItsPlace) {
  PostgresServer primary;
  primary.execute("CREATE TABLE numbers AS SELECT 1 AS n");
  const auto standby = primary.make_standby("other");
  primary.set("synchronous_standby_names", "other");
  primary.set("synchronous_commit", "remote_apply");
  EXPECT_EQ(standby->execute("SELECT pg_is_in_recovery()"), "t");
  primary.execute("INSERT INTO numbers VALUES (2)");
  EXPECT_TRUE(eventually([&] { return standby->execute("SELECT sum(n) FROM numbers") == "3"; }));
  primary.kill();
  standby->promote();
  standby->execute("INSERT INTO numbers VALUES (4)");
  EXPECT_EQ(standby->execute("SELECT sum(n) FROM numbers"), "7");
}

TEST(PostgresBouncer, StandsBetweenASessionAndTheServer) {
  const PostgresServer server;
  for (const char* const mode : {"session", "transaction"}) {
    const PgBouncer bouncer(server, mode);
    EXPECT_EQ(PostgresSession(bouncer.url()).value("SELECT 1"), "1") << mode;
  }
}

}  // namespace
}  // namespace perdure::test
