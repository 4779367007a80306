// Connections that are lost, servers that restart, and commits whose answer never comes.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include <perdure/provider_admin.h>
#include "postgres/orders.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

// A server of the test's own, which it may hurt.
class PostgresRecovery : public ::testing::Test {
 protected:
  PostgresRecovery() {
    options.connections = 2;
    options.answer_timeout = Milliseconds(5'000);
    store = PostgresProvider::connect(server.url(), options);
  }

  // How many instances a node gets.
  [[nodiscard]] std::size_t fetched() const {
    OrchestrationFetch fetch;
    fetch.limit = 5;
    return store->fetch_orchestration_items(fetch).value().items.size();
  }
  void cut_connections() const {
    server.execute(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = 'perdure'");
  }

  PostgresServer server;
  PostgresOptions options;
  std::shared_ptr<Provider> store;
};

TEST_F(PostgresRecovery, ConnectionsThatTheServerHasClosedAreReplaced) {
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  cut_connections();
  // Not even something that must not be repeated fails: the loss shows before it is sent.
  const ProviderResult<StartOutcome> started = store->enqueue_start(start_of("b"), StartPolicy::kFail);
  ASSERT_TRUE(started.has_value()) << started.error().to_string();
  EXPECT_EQ(fetched(), 2U);
}

TEST_F(PostgresRecovery, AServerThatIsDownIsUnavailableAndComesBack) {
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const Timestamp before = store->now();
  server.kill();
  const ProviderResult<StartOutcome> refused = store->enqueue_start(start_of("b"), StartPolicy::kFail);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind(), ProviderErrorKind::kUnavailable);
  EXPECT_TRUE(refused.error().retryable());
  EXPECT_GE(store->now(), before) << "time goes on without the server";
  server.start();
  EXPECT_TRUE(store->enqueue_start(start_of("b"), StartPolicy::kFail).has_value());
  EXPECT_EQ(fetched(), 2U);
}

TEST_F(PostgresRecovery, ARepeatedCommitIsFoundByItsId) {
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const OrchestrationItem item = store->fetch_orchestration_item().value().value();
  const TurnCommit commit = first_turn_of(item, 77);
  ASSERT_FALSE(store->ack_orchestration_item(commit).value().repeated);
  server.restart();
  const ProviderResult<CommitAnswer> again = store->ack_orchestration_item(commit);
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(store->admin()->read_history("a").value().size(), 1U);
}

// As the server does to one of two that wait for each other, or that cannot be put in an order.
TEST_F(PostgresRecovery, WhatTheServerUndoesBecauseOfOthersIsTriedAgain) {
  for (const std::string state : {"40P01", "40001"}) {
    server.execute("CREATE SEQUENCE tries");  // whose numbers outlive what is undone
    server.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('public.tries') <= 3"
        " THEN RAISE EXCEPTION 'not now' USING ERRCODE = '" +
        state + "'; END IF; RETURN NEW; END $$");
    server.execute("CREATE TRIGGER refusal BEFORE INSERT ON perdure.messages FOR EACH ROW EXECUTE FUNCTION refuse()");
    const ProviderResult<StartOutcome> started = store->enqueue_start(start_of(state), StartPolicy::kFail);
    EXPECT_TRUE(started.has_value()) << started.error().to_string();
    EXPECT_EQ(server.execute("SELECT last_value FROM tries"), "4");
    server.execute("DROP FUNCTION refuse() CASCADE");
    server.execute("DROP SEQUENCE tries");
  }
  EXPECT_EQ(store->admin()->queue_depths().value().messages, 2U);
}

TEST_F(PostgresRecovery, AStandbyIsRefusedWithTheWayOut) {
  const std::unique_ptr<PostgresServer> standby = server.make_standby("other");
  try {
    static_cast<void>(PostgresProvider::connect(standby->url(), options));
    FAIL() << "a standby cannot be written";
  } catch (const ProviderFailure& failure) {
    EXPECT_EQ(failure.error().kind(), ProviderErrorKind::kUnavailable);
    EXPECT_THAT(failure.error().message(), HasSubstr("target_session_attrs=read-write"));
  }
}

}  // namespace
}  // namespace perdure::test
