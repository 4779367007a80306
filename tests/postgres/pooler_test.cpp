// Behind PgBouncer.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include "postgres/orders.h"
#include "providers/postgres/connection.h"
#include "providers/postgres/connector.h"
#include "support/eventually.h"
#include "support/postgres_bouncer.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PostgresPooler, WorksInSessionMode) {
  const PostgresServer server;
  const PgBouncer pooler(server, "session");
  PostgresOptions options;
  options.poll_interval = Milliseconds(600'000);  // only a notification ends the wait in time
  const auto store = PostgresProvider::connect(pooler.url(), options);
  const auto other = PostgresProvider::connect(pooler.url(), options);
  std::optional<bool> woken;
  std::thread waiter([&] {
    WorkWait wait;
    wait.orchestrations.emplace();
    woken = store->wait_for_work(wait, store->now() + Milliseconds(60'000)).value();
  });
  while (server.execute("SELECT count(*) FROM perdure.waiters") == "0") std::this_thread::yield();
  ASSERT_TRUE(other->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  waiter.join();
  EXPECT_EQ(woken, true);
  EXPECT_TRUE(store->fetch_orchestration_item().value().has_value());
}

constexpr Milliseconds kLongest{60'000};

// However long the machine stands still: a connection that is late is not refused for the mode of the pooler.
void expect_refusal(const PgBouncer& pooler) {
  PostgresOptions options;
  options.connect_timeout = kLongest;
  options.answer_timeout = kLongest;
  try {
    static_cast<void>(PostgresProvider::connect(pooler.url(), options));
    FAIL() << "it was not refused";
  } catch (const ProviderFailure& failure) {
    EXPECT_EQ(failure.error().kind(), ProviderErrorKind::kUnsupported) << failure.what();
    EXPECT_THAT(failure.error().message(), HasSubstr("session mode"));
  }
}

// Everything that was set in a session of the pooler and that other clients would find there.
std::vector<std::string> leftovers(const PgBouncer& pooler) {
  constexpr std::size_t kSessions = 5;  // more than a refused store has met
  std::vector<PostgresSession> clients;
  clients.reserve(kSessions);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < kSessions; ++i) {
    clients.emplace_back(pooler.url());
    clients.back().execute("BEGIN");  // each gets another session
    for (const auto& row :
         clients.back().rows("SELECT name || '=' || setting FROM pg_settings WHERE source = 'session' AND name NOT IN"
                             " ('application_name', 'client_encoding')"  // the pooler's own
                             " UNION ALL SELECT 'statement ' || name FROM pg_prepared_statements WHERE name <> ''"
                             " UNION ALL SELECT 'channel ' || c FROM pg_listening_channels() c")) {
      found.push_back(row.front());
    }
  }
  return found;
}

TEST(PostgresPooler, IsRefusedInTransactionModeAndLeavesNothingBehind) {
  const PostgresServer server;
  const PgBouncer pooler(server, "transaction");
  EXPECT_THAT(leftovers(pooler), IsEmpty());
  expect_refusal(pooler);
  EXPECT_THAT(leftovers(pooler), IsEmpty());
}

// Other clients take the sessions that the store has just used.
TEST(PostgresPooler, IsRefusedInTransactionModeWhileOthersUseIt) {
  const PostgresServer server;
  const PgBouncer pooler(server, "transaction");
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  others.reserve(3);
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      PostgresSession session(pooler.url());
      while (!done) session.execute("SELECT 1");
    });
  }
  for (int i = 0; i < 300; ++i) expect_refusal(pooler);
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT_THAT(leftovers(pooler), IsEmpty());
}

std::unique_ptr<postgres::Connection> connect(postgres::Connector& connector, const PgBouncer& pooler) {
  return connector.connect(
      {.url = pooler.url(), .schema = "perdure", .connect_timeout = kLongest, .answer_timeout = kLongest},
      postgres::deadline_after(kLongest));
}

// Every connection of a store is checked, not only its first one.
TEST(PostgresPooler, AConnectionInTransactionModeIsRefusedBeforeItSetsAnything) {
  const PostgresServer server;
  const PgBouncer pooler(server, "transaction");
  postgres::Connector connector;
  for (int i = 0; i < 20; ++i) {
    try {
      static_cast<void>(connect(connector, pooler));
      FAIL() << "it was not refused";
    } catch (const postgres::PostgresError& error) {
      EXPECT_EQ(error.state(), postgres::kSharedSession) << error.what();
    }
  }
  EXPECT_THAT(leftovers(pooler), IsEmpty());
}

// Returns when the sessions of the pooler that was there before have ended: none of them shows that it was checked.
void restart(const PostgresServer& server, PgBouncer& pooler, const std::string& pool_mode) {
  const std::string sessions_from_before =
      "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND backend_start < '" +
      server.execute("SELECT clock_timestamp()") + "'";
  pooler.restart(pool_mode);
  EXPECT_TRUE(eventually([&] { return server.execute(sessions_from_before) == "0"; }));
}

TEST(PostgresPooler, AStoreIsRefusedAfterAChangeToTransactionModeAndResumesAfterTheNext) {
  const PostgresServer server;
  PgBouncer pooler(server, "session");
  PostgresOptions options;
  options.connect_timeout = kLongest;
  options.answer_timeout = kLongest;
  options.poll_interval_without_wake_ups = Milliseconds(1);  // the connection that listens is made anew all the time
  auto store = PostgresProvider::connect(pooler.url(), options);
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  restart(server, pooler, "transaction");
  std::optional<ProviderError> last;
  for (int i = 0; i < 20; ++i) {
    const auto status = store->read_status("a");
    ASSERT_FALSE(status.has_value());
    last = status.error();
  }
  EXPECT_EQ(last->kind(), ProviderErrorKind::kUnsupported) << last->message();
  EXPECT_THAT(last->message(), HasSubstr("session mode"));
  pooler.restart("session");
  EXPECT_TRUE(eventually([&] { return store->read_status("a").has_value(); }));
  restart(server, pooler, "transaction");
  EXPECT_FALSE(store->read_status("a").has_value());
  store.reset();  // its threads look at sessions, too
  EXPECT_THAT(leftovers(pooler), IsEmpty());
}

// Without a restart, which would end the sessions. The pooler has sessions for all who look, so none of them may leave
// the check because the machine stands still.
TEST(PostgresPooler, AConnectionIsRefusedAfterAChangeToTransactionModeThatCutsNothing) {
  const PostgresServer server;
  const PgBouncer pooler(server, "session");
  postgres::Connector connector(kLongest);
  const std::unique_ptr<postgres::Connection> first = connect(connector, pooler);
  const std::unique_ptr<postgres::Connection> second = connect(connector, pooler);
  pooler.reload("transaction");
  for (int i = 0; i < 20; ++i) {
    try {
      static_cast<void>(connect(connector, pooler));
      FAIL() << "it was not refused";
    } catch (const postgres::PostgresError& error) {
      EXPECT_EQ(error.state(), postgres::kSharedSession) << error.what();
    }
  }
}

TEST(PostgresPooler, AnotherConnectionCostsFewRoundTrips) {
  const PostgresServer server;
  const PgBouncer pooler(server, "session");
  postgres::Connector connector;
  const std::unique_ptr<postgres::Connection> first = connect(connector, pooler);
  for (int i = 0; i < 3; ++i) {
    const int before = pooler.queries();
    EXPECT_GT(before, 0);
    const std::unique_ptr<postgres::Connection> next = connect(connector, pooler);
    EXPECT_LE(pooler.queries() - before, 20);
  }
}

TEST(PostgresPooler, ConnectionsNeedNoSessionsButTheirOwn) {
  constexpr int kSessions = 3;
  const PostgresServer server;
  PgBouncer pooler(server, "session", kSessions);
  postgres::Connector connector;
  for (int times = 0; times < 3; ++times) {
    std::vector<std::unique_ptr<postgres::Connection>> all;
    for (int i = 0; i < kSessions; ++i) all.push_back(connect(connector, pooler));
    all.erase(all.begin());  // one is lost alone
    all.push_back(connect(connector, pooler));
    pooler.restart();
  }
}

// A store whose calls use all of its connections, because a table is locked.
class BusyStore {
 public:
  BusyStore(const PostgresServer& server, const std::string& url) : server_(server) {
    options_.connections = 4;
    options_.connect_timeout = kLongest;
    options_.answer_timeout = kLongest;
    store_ = PostgresProvider::connect(url, options_);
  }
  // Its connections, and the one that listens.
  [[nodiscard]] static constexpr int sessions() { return 5; }
  [[nodiscard]] Provider& provider() const { return *store_; }

  // Whether as many calls as there are connections reach the server at the same time.
  [[nodiscard]] bool uses_all_connections() const {
    PostgresSession locking(server_.url());
    locking.execute("BEGIN; LOCK TABLE perdure.instances IN ACCESS EXCLUSIVE MODE");
    std::vector<std::thread> callers;
    callers.reserve(options_.connections);
    for (std::size_t i = 0; i < options_.connections; ++i) {
      callers.emplace_back([&] { static_cast<void>(store_->read_status("a")); });
    }
    const bool reached = eventually([&] {
      return std::stoul(server_.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")) >= options_.connections;
    });
    locking.execute("ROLLBACK");
    for (std::thread& caller : callers) caller.join();
    return reached;
  }

 private:
  const PostgresServer& server_;
  PostgresOptions options_;
  std::shared_ptr<Provider> store_;
};

TEST(PostgresPooler, NeedsNoSessionsButThoseOfItsConnections) {
  const PostgresServer server;
  const PgBouncer pooler(server, "session", BusyStore::sessions());
  const BusyStore store(server, pooler.url());
  EXPECT_TRUE(store.uses_all_connections());
}

TEST(PostgresPooler, AllConnectionsReturnAfterARestartUnderLoad) {
  const PostgresServer server;
  PgBouncer pooler(server, "session", BusyStore::sessions());
  const BusyStore store(server, pooler.url());
  std::atomic<bool> done = false;
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      while (!done) static_cast<void>(store.provider().read_status("a"));
    });
  }
  for (int times = 0; times < 5; ++times) {
    pooler.restart();
    EXPECT_TRUE(eventually([&] { return store.provider().read_status("a").has_value(); }));
  }
  done = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(store.uses_all_connections());
}

TEST(PostgresPooler, IsRefusedInStatementMode) {
  const PostgresServer server;
  const PgBouncer pooler(server, "statement");
  expect_refusal(pooler);
}

}  // namespace
}  // namespace perdure::test
