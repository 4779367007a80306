// Behind PgBouncer.
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include "postgres/orders.h"
#include "support/postgres_bouncer.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

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

TEST(PostgresPooler, IsRefusedInTransactionMode) {
  const PostgresServer server;
  const PgBouncer pooler(server, "transaction");
  try {
    static_cast<void>(PostgresProvider::connect(pooler.url()));
    FAIL() << "it was not refused";
  } catch (const ProviderFailure& failure) {
    EXPECT_EQ(failure.error().kind(), ProviderErrorKind::kUnsupported);
    EXPECT_THAT(failure.error().message(), HasSubstr("session mode"));
  }
}

}  // namespace
}  // namespace perdure::test
