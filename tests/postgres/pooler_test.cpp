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

void expect_refusal(const PgBouncer& pooler) {
  try {
    static_cast<void>(PostgresProvider::connect(pooler.url()));
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

// Every connection of a store is checked, not only its first one.
TEST(PostgresPooler, AConnectionInTransactionModeIsRefusedBeforeItSetsAnything) {
  const PostgresServer server;
  const PgBouncer pooler(server, "transaction");
  for (int i = 0; i < 20; ++i) {
    try {
      const postgres::Connection connection({.url = pooler.url(),
                                             .schema = "perdure",
                                             .connect_timeout = Milliseconds(60'000),
                                             .answer_timeout = Milliseconds(60'000)});
      FAIL() << "it was not refused";
    } catch (const postgres::PostgresError& error) {
      EXPECT_EQ(error.state(), postgres::kSharedSession) << error.what();
    }
  }
  EXPECT_THAT(leftovers(pooler), IsEmpty());
}

TEST(PostgresPooler, AStoreIsRefusedAfterAChangeToTransactionModeAndResumesAfterTheNext) {
  const PostgresServer server;
  PgBouncer pooler(server, "session");
  PostgresOptions options;
  options.poll_interval_without_wake_ups = Milliseconds(1);  // the connection that listens is made anew all the time
  auto store = PostgresProvider::connect(pooler.url(), options);
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  pooler.restart("transaction");
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
  pooler.restart("transaction");
  EXPECT_FALSE(store->read_status("a").has_value());
  store.reset();  // its threads look at sessions, too
  EXPECT_THAT(leftovers(pooler), IsEmpty());
}

TEST(PostgresPooler, IsRefusedInStatementMode) {
  const PostgresServer server;
  const PgBouncer pooler(server, "statement");
  expect_refusal(pooler);
}

}  // namespace
}  // namespace perdure::test
