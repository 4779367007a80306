// What an administrator does to a server that nodes work on. They wait until it is undone, and go on by themselves.
#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include "support/eventually.h"
#include "support/postgres_bouncer.h"
#include "support/postgres_schema.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"
#include "support/when_available.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr int kSteps = 5;

Registry chain_registry() {
  Registry registry;
  registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
  registry.add_orchestration("Chain", [](OrchestrationContext ctx) -> Orchestration<int> {
    int n = 0;
    while (n < kSteps) n = co_await ctx.schedule_activity<int>("Add", n);
    co_return n;
  });
  return registry;
}

// A server that all of them hurt, each in a database of its own, and a node on it as a role with the documented rights.
class PostgresOutages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    PostgresServerOptions options;
    options.max_connections = 30;
    server_ = std::make_unique<PostgresServer>(options);
    server_->execute("CREATE ROLE node LOGIN");
  }
  static void TearDownTestSuite() { server_.reset(); }

  PostgresOutages() {
    server_->execute("CREATE DATABASE " + database);
    admin.emplace(server_->url(database));
    direct = PostgresProvider::connect(server_->url(database));
    admin->execute(documented_rights("perdure", "node"));
    start_node(url());
  }
  ~PostgresOutages() override {
    runtime.reset();
    store.reset();
    direct.reset();
    admin.reset();
    try {
      server_->execute("DROP DATABASE IF EXISTS " + database + " WITH (FORCE)");
    } catch (const std::exception& error) {  // a session may take longer to end than the server waits for it
      std::cout << database << " stays behind: " << error.what() << '\n';
    }
  }

  [[nodiscard]] std::string url() const { return server_->url(database) + "?user=node"; }
  // With short limits, which the machine may exceed before the test has begun.
  void start_node(const std::string& url) {
    PostgresOptions options;
    options.connections = 3;
    options.answer_timeout = 1'500ms;
    options.connect_timeout = 1s;
    store = when_available([&] { return PostgresProvider::connect(url, options); });
    runtime = when_available([&] { return std::make_unique<Runtime>(store, chain_registry()); });
  }
  void start(int count) {
    for (int i = 0; i < count; ++i) Client(direct).start_orchestration("i" + std::to_string(started++), "Chain");
  }
  void expect_completed() const {
    for (int i = 0; i < started; ++i) {
      const auto status = Client(direct).wait_for_orchestration("i" + std::to_string(i), 120s);
      EXPECT_TRUE(status.completed()) << i << ": " << status.error_text();
    }
  }
  // Until the node has met the fault.
  void expect_noticed() const {
    EXPECT_TRUE(eventually([&] { return !runtime->health().store_available; }));
  }
  // The first errors may be others: those of connections that were cut, or of calls that took too long.
  void expect_error(const ::testing::Matcher<const ProviderError&>& expected) const {
    std::optional<ProviderError> last;
    EXPECT_TRUE(eventually([&] {
      last = runtime->health().last_error;
      return last && ::testing::Matches(expected)(*last);
    })) << (last ? last->to_string() : "no error");
  }
  static auto says(const std::string& words) {
    return ::testing::ResultOf([](const ProviderError& error) { return error.message(); }, HasSubstr(words));
  }
  void cut_connections() const {
    server_->execute("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = 'node'");
  }

  static inline std::unique_ptr<PostgresServer> server_;
  static inline int databases_ = 0;
  const std::string database = "store" + std::to_string(++databases_);
  std::optional<PostgresSession> admin;
  std::shared_ptr<Provider> direct;  // of the owner, for what the test itself does
  std::shared_ptr<Provider> store;
  std::unique_ptr<Runtime> runtime;
  int started = 0;
};

TEST_F(PostgresOutages, EachConnectionIsTerminatedUnderLoadAgainAndAgain) {
  start(30);
  for (int round = 0; round < 20; ++round) {
    admin->rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node' ORDER BY random() LIMIT 2");
    admin->rows("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'node'");
  }
  admin->rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node' AND query LIKE 'LISTEN%'");
  expect_completed();
}

TEST_F(PostgresOutages, ARightIsTakenAwayAndGrantedAgain) {
  for (const std::string right :
       {"UPDATE ON perdure.instances", "INSERT ON perdure.history", "USAGE ON SCHEMA perdure"}) {
    SCOPED_TRACE(right);
    admin->execute("REVOKE " + right + " FROM node");
    start(3);
    expect_noticed();
    expect_error(::testing::AnyOf(says("docs/clusters.md"), says("the right USAGE")));
    admin->execute("GRANT " + right + " TO node");
    expect_completed();
  }
}

TEST_F(PostgresOutages, TheDatabaseIsRenamedAndNamedBack) {
  admin.reset();
  start(3);
  server_->execute("ALTER DATABASE " + database + " ALLOW_CONNECTIONS false");
  cut_connections();
  server_->execute("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = '" + database +
                   "'");
  server_->execute("ALTER DATABASE " + database + " RENAME TO elsewhere");
  expect_noticed();
  server_->execute("ALTER DATABASE elsewhere RENAME TO " + database);
  server_->execute("ALTER DATABASE " + database + " ALLOW_CONNECTIONS true");
  start(3);
  expect_completed();
}

TEST_F(PostgresOutages, AllConnectionsOfTheServerAreTakenByOthers) {
  start(3);
  server_->execute("ALTER ROLE node CONNECTION LIMIT 0");
  cut_connections();
  expect_error(says("lower PostgresOptions::connections"));
  server_->execute("ALTER ROLE node CONNECTION LIMIT -1");
  start(3);
  expect_completed();
}

TEST_F(PostgresOutages, ASchemaIsDroppedUnderARunningNode) {
  start(1);
  expect_completed();
  admin->execute("DROP SCHEMA perdure CASCADE");
  expect_noticed();
  std::optional<ProviderResult<std::optional<InstanceStatus>>> status;
  EXPECT_TRUE(eventually([&] {  // again if the call only took too long
    status.emplace(store->read_status("i0"));
    return status->has_value() || status->error().kind() != ProviderErrorKind::kUnavailable;
  }));
  ASSERT_FALSE(status->has_value());
  EXPECT_EQ(status->error().kind(), ProviderErrorKind::kIncompatibleStore) << status->error().to_string();
  runtime->shutdown(1s);
  const auto again = PostgresProvider::connect(server_->url(database));
  EXPECT_FALSE(again->read_status("i0").value().has_value()) << "it is made anew, and empty";
}

TEST_F(PostgresOutages, ATableIsDroppedUnderARunningNode) {
  admin->execute("ALTER TABLE perdure.activities RENAME TO saved");
  start(3);
  expect_noticed();
  expect_error(::testing::ResultOf([](const ProviderError& error) { return error.kind(); },
                                   ProviderErrorKind::kIncompatibleStore));
  admin->execute("ALTER TABLE perdure.saved RENAME TO activities");
  start(3);
  expect_completed();
}

TEST_F(PostgresOutages, ATableIsLockedForLongerThanACallWaits) {
  admin->execute("BEGIN; LOCK TABLE perdure.instances IN ACCESS EXCLUSIVE MODE");
  expect_noticed();
  admin->execute("COMMIT");
  start(3);
  expect_completed();
}

class PostgresPoolerOutages : public PostgresOutages {
 protected:
  void go_through(PgBouncer& pooler) {
    runtime.reset();
    start_node(pooler.url(database));
    start(2);
    expect_completed();
  }
};

TEST_F(PostgresPoolerOutages, ItIsRestartedAndItsConnectionsAreKilled) {
  PgBouncer pooler(*server_, "session");
  go_through(pooler);
  start(5);
  pooler.restart();
  expect_completed();
  start(5);
  PostgresSession console(pooler.url("pgbouncer"));
  console.execute("KILL " + database);
  expect_noticed();
  console.execute("RESUME " + database);
  expect_completed();
}

}  // namespace
}  // namespace perdure::test
