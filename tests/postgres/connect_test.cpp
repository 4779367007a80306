// Connecting: schemas that are made and migrated, and what is refused, in words that help.
#include <chrono>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/postgres_provider.h>
#include <perdure/provider_admin.h>
#include "postgres/orders.h"
#include "providers/postgres/schema.h"
#include "support/eventually.h"
#include "support/postgres_schema.h"
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

// With its first messages the server of this database says that the collations have changed.
TEST(PostgresNotices, AreNotPrintedWhileConnecting) {
  const PostgresServer server;
  const std::string columns = "SELECT count(*) FROM pg_attribute WHERE attname = 'datcollversion'";
  if (server.execute(columns) == "0") GTEST_SKIP() << "only servers since version 15 compare the collations";
  server.execute("CREATE DATABASE warned");
  server.execute("UPDATE pg_database SET datcollversion = '0' WHERE datname = 'warned'");
  ::testing::internal::CaptureStderr();
  const PostgresSession session(server.url("warned"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("WARNING")) << "it has nothing to say";
  ::testing::internal::CaptureStderr();
  const auto store = PostgresProvider::connect(server.url("warned"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(store->read_status("nobody").value().has_value());
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
  EXPECT_THAT(error.message(), HasSubstr("tables of another application"));
  EXPECT_EQ(session.value("SELECT count(*) FROM pg_tables WHERE schemaname = $1", {options.schema}), "1");
}

TEST_F(PostgresConnect, AMigrationThatFailsChangesNothing) {
  postgres::Connection connection({.url = shared_postgres_url(),
                                   .schema = options.schema,
                                   .connect_timeout = Milliseconds(60'000),
                                   .answer_timeout = Milliseconds(60'000)},
                                  postgres::deadline_after(Milliseconds(60'000)));
  connection.set_up(options.schema, postgres::deadline_after(Milliseconds(60'000)));
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

// Ids and names are UTF-8: a name that such a database cannot store would fail in the middle of a workflow.
TEST(PostgresRefusals, ADatabaseInAnotherEncodingIsRefused) {
  const PostgresServer server;
  for (const std::string encoding : {"LATIN1", "SQL_ASCII"}) {
    const std::string database = "in_" + encoding;
    server.execute("CREATE DATABASE \"" + database + "\" ENCODING '" + encoding +
                   "' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
    const ProviderError error = refusal(server.url(database));
    EXPECT_EQ(error.kind(), ProviderErrorKind::kIncompatibleStore);
    EXPECT_THAT(error.message(), HasSubstr("'" + database + "'"));
    EXPECT_THAT(error.message(), HasSubstr(encoding));
    EXPECT_THAT(error.message(), HasSubstr("ENCODING 'UTF8'"));
    EXPECT_EQ(
        PostgresSession(server.url(database)).value("SELECT count(*) FROM pg_namespace WHERE nspname = 'perdure'"),
        "0");
  }
}

TEST(PostgresRefusals, AreInWordsThatHelp) {
  const PostgresServer server;
  const ProviderError no_database = refusal(server.url("nowhere"));
  EXPECT_EQ(no_database.kind(), ProviderErrorKind::kUnavailable);
  EXPECT_THAT(no_database.message(), HasSubstr("nowhere"));
  EXPECT_THAT(no_database.message(), HasSubstr("create the database"));
  EXPECT_THAT(no_database.message(), Not(HasSubstr("check that the server runs")));

  const ProviderError no_user = refusal(server.url() + "?user=stranger");
  EXPECT_EQ(no_user.kind(), ProviderErrorKind::kUnavailable);
  EXPECT_THAT(no_user.message(), HasSubstr("check user and password"));

  server.execute("CREATE ROLE guest LOGIN");
  const std::string guest = "host=127.0.0.1 port=" + std::to_string(server.port()) + " user=guest dbname=postgres";
  const ProviderError not_allowed = refusal(guest);
  EXPECT_EQ(not_allowed.kind(), ProviderErrorKind::kUnavailable);
  EXPECT_THAT(not_allowed.message(), HasSubstr("grant"));
  EXPECT_THAT(not_allowed.message(), HasSubstr("docs/clusters.md"));

  const ProviderError no_tls = refusal(guest + " sslmode=require");
  EXPECT_EQ(no_tls.kind(), ProviderErrorKind::kUnavailable) << "options for TLS go to libpq as they are";
  EXPECT_THAT(no_tls.message(), HasSubstr("SSL"));

  server.execute("ALTER ROLE guest CONNECTION LIMIT 1");
  const PostgresSession only(guest);
  const ProviderError too_many = refusal(guest);
  EXPECT_THAT(too_many.message(), HasSubstr("too many connections"));
  EXPECT_THAT(too_many.message(), HasSubstr("lower PostgresOptions::connections"));
  EXPECT_THAT(too_many.message(), Not(HasSubstr("check that the server runs")));
}

TEST(PostgresRefusals, SayThatTheServerDoesNotRunOnlyIfItDoesNot) {
  PostgresServer server;
  server.stop_fast();
  EXPECT_THAT(refusal(server.url()).message(), HasSubstr("check that the server runs"));
}

class PostgresRights : public ::testing::Test {
 protected:
  PostgresRights() {
    static_cast<void>(PostgresProvider::connect(server.url()));  // the owner makes the schema
    server.execute("CREATE ROLE orders LOGIN");
  }
  [[nodiscard]] std::string url() const { return server.url() + "?user=orders"; }

  PostgresServer server;
};

// The rest of the tests on the shared server have no more rights either.
TEST_F(PostgresRights, ThoseThatTheDocumentsNameSuffice) {
  PostgresSession(server.url()).execute(documented_rights("perdure", "orders"));
  const auto store = PostgresProvider::connect(url());
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const OrchestrationItem item = store->fetch_orchestration_item().value().value();
  const ProviderResult<CommitAnswer> committed = store->ack_orchestration_item(first_turn_of(item, 77));
  EXPECT_TRUE(committed.has_value()) << committed.error().to_string();
}

TEST_F(PostgresRights, AMissingOneIsNamed) {
  PostgresSession session(server.url());
  session.execute(documented_rights("perdure", "orders"));
  session.execute("REVOKE ALL ON SEQUENCE perdure.instances_key_seq FROM orders");
  const auto store = PostgresProvider::connect(url());
  const ProviderResult<StartOutcome> started = store->enqueue_start(start_of("a"), StartPolicy::kFail);
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message(), HasSubstr("instances_key_seq"));
  EXPECT_THAT(started.error().message(), HasSubstr("docs/clusters.md"));

  session.execute("REVOKE ALL ON SEQUENCE perdure.store_time FROM orders");
  const ProviderError refused = refusal(url());
  EXPECT_THAT(refused.message(), HasSubstr("store_time"));
  EXPECT_THAT(refused.message(), HasSubstr("docs/clusters.md"));
}

// Another process migrates, and the role is not patient with locks.
TEST_F(PostgresConnect, AMigrationWaitsForAnotherWhateverTheRoleSays) {
  const PostgresServer server;
  server.execute("CREATE ROLE hasty LOGIN SUPERUSER");
  server.execute("ALTER ROLE hasty SET lock_timeout = '1ms'");
  PostgresSession other(server.url());
  other.execute("SELECT pg_advisory_lock(7238101124936)");
  std::future<std::string> connecting = std::async(std::launch::async, [&]() -> std::string {
    try {
      static_cast<void>(PostgresProvider::connect(server.url() + "?user=hasty"));
      return "";
    } catch (const ProviderFailure& failure) {
      return failure.what();
    }
  });
  EXPECT_TRUE(eventually([&] {
    return connecting.wait_for(std::chrono::seconds(0)) == std::future_status::ready ||
           server.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "1";
  }));
  other.execute("SELECT pg_advisory_unlock(7238101124936)");
  EXPECT_EQ(connecting.get(), "");
}

TEST(PostgresRefusals, NeverShowAPassword) {
  PostgresServer server;
  server.stop_fast();
  const std::string port = std::to_string(server.port());
  for (const std::string& url : {"postgresql://me:sec-ret@127.0.0.1:" + port + "/postgres",
                                 "host=127.0.0.1 user=me password=sec-ret dbname=postgres port=" + port,
                                 "postgresql://me@127.0.0.1:" + port + "/postgres?password=sec-ret&sslmode=disable"}) {
    const ProviderError error = refusal(url);
    EXPECT_EQ(error.kind(), ProviderErrorKind::kUnavailable);
    EXPECT_THAT(error.to_string(), Not(HasSubstr("sec-ret")));
  }
}

// The server runs and takes everyone without a password, so its own errors are among these.
TEST(PostgresRefusals, NeverShowAPartOfAMalformedUrl) {
  const PostgresServer server;
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  const std::vector<std::string> urls{
      "postgresql://postgres:SECRET%ss@" + host + "/postgres",
      "postgresql://postgres:SECRET%@" + host + "/postgres",
      "postgresql://postgres:SECRET%00@" + host + "/postgres",
      "postgresql://postgres:SECRET/SECRET@" + host + "/postgres",
      "postgresql://postgres:12/SECRET@" + host + "/postgres",
      "postgresql://postgres:12/SECRET?SECRET@" + host + "/postgres",
      "postgresql://postgres:12/3?sslmode=SECRET@" + host + "/postgres",
      "postgresql://postgres:12?sslmode=SECRET/@" + host + "/postgres",
      "postgresql://postgres:12/3?user=SECRET@" + host + "/postgres",
      "postgresql://postgres:SECRET@SECRET@" + host + "/postgres",
      "postgresql://postgres:x@SECRET@" + host + "/postgres",
      "postgresql://postgres:SECRET@[::1/postgres",
      "postgresql://postgres:SECRET@[::1]x/postgres",
      "postgresql://postgres:SECRET@127.0.0.1:SECRET/postgres",
      "postgresql://postgres:SECRET/postgres",
      "postgresql://postgres:SECRET",
      "postgresql://postgres:7777777/postgres",
      "postgresql://postgres:65536/postgres",
      "postgresql://postgres:77777777777777777777/postgres",
      "postgresql://postgres:0/postgres",
      "host=127.0.0.1,localhost port=,7777777 dbname=postgres",
      "postgresql://" + host + "/postgres?SECRET",
      "postgresql://" + host + "/postgres?foo=SECRET",
      "postgresql://" + host + "/postgres?password=SECRET%zz",
      "postgresql://" + host + "/postgres?password=SECRET&b=",
      "postgresql://" + host + "/postgres?password=SECRET=SECRET",
      "postgresql://" + host + "/postgres?Password=SECRET",
      "postgresql://" + host + "/postgres&password=SECRET",
      "postgresql://" + host + "/postgres;password=SECRET",
      "postgresql://" + host + "/postgres;Password=SECRET",
      "postgresql://" + host + "/postgres;PASSWORD = SECRET",
      "postgresql://" + host + "/postgres&pwd=SECRET",
      "postgresql://" + host + "/postgres;SECRET",
      "postgresql://postgres;pwd=SECRET@" + host + "/postgres",
      "postgresql://" + host + "/postgres?user=postgres;pwd%3DSECRET",
      "postgresql://" + host + "/postgres?sslmode=require;password%3DSECRET",
      "postgresql://" + host + "/postgres?sslmode=require;pwd%3DSECRET",
      "postgresql://" + host + "/postgres?target_session_attrs=any;Password%3DSECRET",
      "postgresql://" + host + "/postgres?connect_timeout=3;password%3DSECRET",
      "postgresql://" + host + "/postgres?application_name=me;password%3DSECRET",
      "postgresql://" + host + "/postgres?options=-c%20password%3DSECRET",
      "postgres:SECRET@" + host,
      "Postgres://postgres:SECRET@" + host + "/x",
      "postgress://postgres:SECRET@" + host + "/x",
      "postgresql:/postgres:SECRET@" + host + "/x",
      "mysql://postgres:SECRET@" + host + "/x",
      "host=127.0.0.1 password=SEC SECRET dbname=postgres",
      "host=127.0.0.1 password='SECRET dbname=postgres",
      "host=127.0.0.1 password=SECRET nonsense",
      "host=127.0.0.1 passwort=SECRET",
      "host=127.0.0.1 sslmode=require;password=SECRET",
      "host=127.0.0.1 sslmode='require password = SECRET'",
      "host=127.0.0.1 target_session_attrs=any;password=SECRET",
      "host=127.0.0.1 connect_timeout=3;password=SECRET",
      "host=127.0.0.1 gssencmode=disable&password=SECRET",
      "host=127.0.0.1;password=SECRET",
      "host=127.0.0.1 user=postgres;pwd=SECRET dbname=postgres port=" + std::to_string(server.port()),
      "host=127.0.0.1 user=postgres dbname=x;password=SECRET port=" + std::to_string(server.port()),
      "dbname=postgresql://postgres:SECRET@" + host + "/x port=" + std::to_string(server.port()),
  };
  for (const std::string& url : urls) {
    const ProviderError error = refusal(url);
    EXPECT_EQ(error.kind(), ProviderErrorKind::kInvalidArgument) << url << ": " << error.to_string();
    EXPECT_THAT(error.to_string(), Not(HasSubstr("SECRET"))) << url;
    EXPECT_THAT(error.to_string(), Not(HasSubstr("777"))) << url;
    EXPECT_THAT(error.message(), HasSubstr("%40")) << "it says what to write";
  }
}

}  // namespace
}  // namespace perdure::test
