// Connecting: schemas that are made and migrated, and what is refused, in words that help.
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/postgres_provider.h>
#include <perdure/provider_admin.h>
#include "providers/postgres/schema.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProviderError refusal(const std::string& url, const PostgresOptions& options = {}) {
  try {
    static_cast<void>(PostgresProvider::connect(url, options));
  } catch (const ProviderFailure& failure) {
    return failure.error();
  }
  ADD_FAILURE() << "it was not refused";
  return {ProviderErrorKind::kUnsupported, ""};
}

// A schema of the test's own.
class PostgresConnect : public ::testing::Test {
 protected:
  PostgresConnect() : session(shared_postgres_url()) {
    options.schema = "connect_test_" + std::to_string(::getpid());
    session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
  }
  ~PostgresConnect() override { session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE"); }

  PostgresSession session;
  PostgresOptions options;
};

TEST_F(PostgresConnect, TwentyNodesThatStartTogetherMakeOneSchema) {
  std::vector<std::thread> nodes;
  std::vector<std::string> problems(20);
  for (std::string& problem : problems) {
    nodes.emplace_back([this, &problem] {
      try {
        const auto store = PostgresProvider::connect(shared_postgres_url(), options);
        problem = store->read_status("nobody").value() ? "there is somebody" : "";
      } catch (const std::exception& error) {
        problem = error.what();
      }
    });
  }
  for (std::thread& node : nodes) node.join();
  EXPECT_THAT(problems, ::testing::Each(""));
  EXPECT_EQ(
      session.value("SELECT count(*) || ' of version ' || max(version) FROM " + options.schema + ".perdure_store"),
      "1 of version " + std::to_string(postgres::migrations().size()));
}

TEST_F(PostgresConnect, AStoreIsThereAgain) {
  MessageRecord start;
  start.kind = MessageKind::kStartOrchestration;
  start.instance = "order-1";
  start.name = "Order";
  start.body = "x";
  ASSERT_TRUE(
      PostgresProvider::connect(shared_postgres_url(), options)->enqueue_start(start, StartPolicy::kFail).has_value());
  const auto again = PostgresProvider::connect(shared_postgres_url(), options);
  EXPECT_TRUE(again->read_status("order-1").value().has_value());
  PostgresOptions other = options;
  other.schema += "_other";
  EXPECT_FALSE(PostgresProvider::connect(shared_postgres_url(), other)->read_status("order-1").value().has_value());
  session.execute("DROP SCHEMA " + other.schema + " CASCADE");
}

TEST_F(PostgresConnect, ANewerFormatIsRefusedAndLeftAlone) {
  static_cast<void>(PostgresProvider::connect(shared_postgres_url(), options));
  session.execute("UPDATE " + options.schema + ".perdure_store SET version = 99");
  const ProviderError error = refusal(shared_postgres_url(), options);
  EXPECT_EQ(error.kind(), ProviderErrorKind::kIncompatibleStore);
  EXPECT_THAT(error.message(), HasSubstr("format 99"));
  EXPECT_EQ(session.value("SELECT version FROM " + options.schema + ".perdure_store"), "99");
}

TEST_F(PostgresConnect, SomebodyElsesTablesAreLeftAlone) {
  session.execute("CREATE SCHEMA " + options.schema + "; CREATE TABLE " + options.schema + ".theirs(x int)");
  const ProviderError error = refusal(shared_postgres_url(), options);
  EXPECT_EQ(error.kind(), ProviderErrorKind::kIncompatibleStore);
  EXPECT_THAT(error.message(), HasSubstr("not Perdure's"));
  EXPECT_EQ(session.value("SELECT count(*) FROM pg_tables WHERE schemaname = $1", {options.schema}), "1");
}

TEST_F(PostgresConnect, AMigrationThatFailsChangesNothing) {
  postgres::Connection connection({.url = shared_postgres_url(),
                                   .schema = options.schema,
                                   .connect_timeout = Milliseconds(10'000),
                                   .answer_timeout = Milliseconds(10'000)});
  const std::vector<std::string> broken{"CREATE TABLE first(x int)", "CREATE TABLE second(x int); SELECT 1 / 0"};
  EXPECT_THROW(postgres::migrate(connection, options.schema, broken), postgres::PostgresError);
  EXPECT_EQ(session.value("SELECT count(*) FROM pg_namespace WHERE nspname = $1", {options.schema}), "0");
  postgres::migrate(connection, options.schema, std::span(broken).first(1));
  EXPECT_EQ(session.value("SELECT version FROM " + options.schema + ".perdure_store"), "1");
}

TEST_F(PostgresConnect, OptionsThatCannotWorkAreNamed) {
  const auto refused = [this](const std::function<void(PostgresOptions&)>& change) {
    PostgresOptions changed = options;
    change(changed);
    const ProviderError error = refusal(shared_postgres_url(), changed);
    EXPECT_EQ(error.kind(), ProviderErrorKind::kInvalidArgument);
    return error.message();
  };
  EXPECT_THAT(refused([](PostgresOptions& o) { o.schema.clear(); }), HasSubstr("schema"));
  EXPECT_THAT(refused([](PostgresOptions& o) { o.schema.assign(51, 'x'); }), HasSubstr("50 bytes"));
  EXPECT_THAT(refused([](PostgresOptions& o) { o.connections = 0; }), HasSubstr("connection"));
  EXPECT_THAT(refused([](PostgresOptions& o) { o.answer_timeout = Milliseconds(0); }), HasSubstr("timeouts"));
  EXPECT_THAT(refused([](PostgresOptions& o) { o.poll_interval = Milliseconds(0); }), HasSubstr("poll"));
}

TEST_F(PostgresConnect, ASchemaMayHaveAnyName) {
  PostgresOptions strange = options;
  strange.schema = "It's a \"name\" of " + std::to_string(::getpid());
  const auto store = PostgresProvider::connect(shared_postgres_url(), strange);
  EXPECT_FALSE(store->read_status("nobody").value().has_value());
  session.execute("DROP SCHEMA \"It's a \"\"name\"\" of " + std::to_string(::getpid()) + "\" CASCADE");
}

TEST(PostgresRefusals, AreInWordsThatHelp) {
  const PostgresServer server;
  const ProviderError no_database = refusal(server.url("nowhere"));
  EXPECT_EQ(no_database.kind(), ProviderErrorKind::kUnavailable);
  EXPECT_THAT(no_database.message(), HasSubstr("nowhere"));

  server.execute("CREATE ROLE guest LOGIN");
  const std::string guest = "host=127.0.0.1 port=" + std::to_string(server.port()) + " user=guest dbname=postgres";
  const ProviderError not_allowed = refusal(guest);
  EXPECT_EQ(not_allowed.kind(), ProviderErrorKind::kUnavailable);
  EXPECT_THAT(not_allowed.message(), HasSubstr("grant"));

  const ProviderError no_tls = refusal(guest + " sslmode=require");
  EXPECT_EQ(no_tls.kind(), ProviderErrorKind::kUnavailable) << "options for TLS go to libpq as they are";
  EXPECT_THAT(no_tls.message(), HasSubstr("SSL"));

  server.execute("ALTER ROLE guest CONNECTION LIMIT 1");
  const PostgresSession only(guest);
  EXPECT_THAT(refusal(guest).message(), HasSubstr("too many connections"));
}

TEST(PostgresRefusals, NeverShowAPassword) {
  PostgresServer server;
  server.stop_fast();
  const std::string port = std::to_string(server.port());
  for (const std::string& url : {"postgresql://me:sec-ret@127.0.0.1:" + port + "/postgres",
                                 "host=127.0.0.1 user=me password=sec-ret dbname=postgres port=" + port,
                                 std::string("postgresql://me:sec-ret@127.0.0.1:nonsense/postgres")}) {
    const ProviderError error = refusal(url);
    EXPECT_EQ(error.kind(), ProviderErrorKind::kUnavailable);
    EXPECT_THAT(error.to_string(), Not(HasSubstr("sec-ret")));
  }
}

}  // namespace
}  // namespace perdure::test
