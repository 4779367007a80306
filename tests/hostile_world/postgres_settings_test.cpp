// Settings that an administrator has made for a role or a database, and that other programs want. A node sets for
// itself what it depends on.
#include <exception>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include "providers/postgres/connection.h"
#include "support/postgres_schema.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A little of everything that reaches the server.
Registry hostile_registry() {
  Registry registry;
  registry.add_activity("Echo", [](ActivityContext&, const std::string& text) { return text; });
  registry.add_orchestration("Child", [](OrchestrationContext ctx, std::string text) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Echo", text, ActivityOptions().session("s'\\"));
  });
  registry.add_orchestration("Flow", [](OrchestrationContext ctx, std::string text) -> Orchestration<std::string> {
    ctx.set_custom_status(text);
    ctx.set_kv_value("key '\\", text);
    std::string echo = co_await ctx.schedule_activity<std::string>("Echo", text);
    co_await ctx.schedule_timer(10ms);
    echo = co_await ctx.schedule_sub_orchestration<std::string>("Child", echo);
    co_return echo + co_await ctx.dequeue_event<std::string>("go");
  });
  return registry;
}

// Whether a workflow completes on it, and what it stored is what it was given.
void expect_works(const std::shared_ptr<Provider>& store) {
  const std::string text = "it's a \\ \"test\" \n of 100% naïve 數據";
  const Client client(store);
  const Runtime runtime(store, hostile_registry());
  client.start_orchestration("i", "Flow", text);
  client.enqueue_event("i", "go", text);
  const OrchestrationStatus status = client.wait_for_orchestration("i", 30s);
  ASSERT_TRUE(status.completed()) << status.error_text();
  EXPECT_EQ(status.result<std::string>(), text + text);
  EXPECT_EQ(status.custom_status, text);
  EXPECT_EQ(client.get_kv_value<std::string>("i", "key '\\"), text);
  EXPECT_FALSE(client.read_execution_history("i").empty());
}

struct RoleSettings {
  std::string name;
  std::string settings;  // "a = b; c = d"
};

class PostgresSettings : public ::testing::TestWithParam<RoleSettings> {
 protected:
  PostgresSettings() {
    execute_alone("CREATE ROLE " + role + " LOGIN; GRANT CREATE ON DATABASE " +
                  session.value("SELECT quote_ident(current_database())") + " TO " + role);
    options.schema = role + " schema";
  }
  ~PostgresSettings() override {
    try {
      execute_alone("DROP SCHEMA IF EXISTS \"" + options.schema + "\" CASCADE; DROP OWNED BY " + role + "; DROP ROLE " +
                    role);
    } catch (const std::exception& error) {
      ADD_FAILURE() << role << " stays behind: " << error.what();
    }
  }
  // Rights on the database are one row, and the server refuses a change of it that meets another one. Tests in other
  // processes share the server.
  void execute_alone(const std::string& statements) {
    session.execute("BEGIN; SELECT pg_advisory_xact_lock(770032); " + statements + "; COMMIT");
  }
  void set(const std::string& settings) {
    std::string left = settings + ";";
    while (!left.empty()) {
      const std::size_t end = left.find(';');
      session.execute("ALTER ROLE " + role + " SET " + left.substr(0, end));
      left.erase(0, end + 1);
    }
  }
  [[nodiscard]] std::string url() const { return shared_postgres_url() + "?user=" + role; }
  // A connection of a store has its own settings, whatever those of the role or of the URL are.
  void expect_own_settings(const std::string& url) const {
    const auto deadline = [this] { return postgres::deadline_after(options.answer_timeout); };
    postgres::Connection connection({.url = url,
                                     .schema = options.schema,
                                     .connect_timeout = options.connect_timeout,
                                     .answer_timeout = options.answer_timeout},
                                    deadline());
    connection.set_up(options.schema, deadline());
    const std::string patience = std::to_string(options.answer_timeout.count());
    const auto setting = [&](const std::string& name) {
      return connection.execute("SELECT setting FROM pg_settings WHERE name = '" + name + "'", deadline());
    };
    EXPECT_EQ(setting("lock_timeout"), "0");
    EXPECT_EQ(setting("idle_session_timeout"), "0");
    EXPECT_EQ(setting("statement_timeout"), patience);
    EXPECT_EQ(setting("idle_in_transaction_session_timeout"), patience);
    EXPECT_EQ(setting("default_transaction_isolation"), "read committed");
    EXPECT_EQ(setting("search_path"), '"' + options.schema + '"');
  }

  const std::string role = "perdure_hostile_" + std::to_string(::getpid());
  PostgresSession session{shared_postgres_url()};
  PostgresOptions options;
};

// The timeouts hold until a connection has set its own. They must not end it before, however busy the machine is.
INSTANTIATE_TEST_SUITE_P(
    Roles, PostgresSettings,
    ::testing::Values(
        RoleSettings{"Timeouts",
                     "statement_timeout = '10s'; lock_timeout = '1ms'; idle_session_timeout = '10s';"
                     "idle_in_transaction_session_timeout = '10s'; tcp_user_timeout = 100"},
        RoleSettings{"Transactions",
                     "default_transaction_isolation = 'serializable'; default_transaction_deferrable = on;"
                     "synchronous_commit = off"},
        RoleSettings{"Text",
                     "standard_conforming_strings = off; backslash_quote = on; escape_string_warning = on;"
                     "bytea_output = 'escape'; client_encoding = 'LATIN1'; quote_all_identifiers = on"},
        RoleSettings{"Values",
                     "DateStyle = 'SQL, DMY'; TimeZone = 'Asia/Kathmandu'; IntervalStyle = 'sql_standard';"
                     "extra_float_digits = -15; array_nulls = off; transform_null_equals = on"},
        RoleSettings{"Names", "search_path = 'pg_temp, nowhere'; row_security = off; check_function_bodies = off"},
        RoleSettings{"Plans",
                     "enable_indexscan = off; enable_nestloop = off; enable_sort = off; work_mem = '64kB';"
                     "jit = on; jit_above_cost = 0; plan_cache_mode = 'force_custom_plan'; geqo_threshold = 2"}),
    [](const auto& settings) { return settings.param.name; });

// The schema is made, migrated and used under them.
TEST_P(PostgresSettings, OfARoleDoNotMatter) {
  set(GetParam().settings);
  expect_works(PostgresProvider::connect(url(), options));
  expect_own_settings(url());
}

class PostgresUrls : public PostgresSettings {};
INSTANTIATE_TEST_SUITE_P(
    Urls, PostgresUrls,
    ::testing::Values(RoleSettings{"Options",
                                   "options=-c%20search_path%3Dpg_catalog%20-c%20statement_timeout%3D10000"
                                   "%20-c%20default_transaction_isolation%3Dserializable"},
                      RoleSettings{"Name", "application_name=%27%3B%20DROP%20SCHEMA%20perdure%3B--%22%0A%1B%5B31m"},
                      RoleSettings{"Encoding", "client_encoding=SQL_ASCII&keepalives=0"}),
    [](const auto& settings) { return settings.param.name; });

TEST_P(PostgresUrls, SetNothingThatMatters) {
  const std::string with_settings = url() + "&" + GetParam().settings;
  expect_works(PostgresProvider::connect(with_settings, options));
  expect_own_settings(with_settings);
}

using PostgresReadOnlyRole = PostgresSettings;
INSTANTIATE_TEST_SUITE_P(Roles, PostgresReadOnlyRole, ::testing::Values(RoleSettings{}));

// An administrator, or a provider whose disk is nearly full, forbids changes and allows them again.
TEST_P(PostgresReadOnlyRole, IsUnavailableWithTheSettingByNameUntilItMayWrite) {
  const auto store = PostgresProvider::connect(url(), options);
  set("default_transaction_read_only = on");
  session.value("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = $1", {role});
  NodeInfo node;
  node.id = "node";
  const ProviderResult<void> refused = store->register_node(node);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind(), ProviderErrorKind::kUnavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("default_transaction_read_only"));
  try {
    static_cast<void>(PostgresProvider::connect(url(), options));
  } catch (const ProviderFailure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("default_transaction_read_only"));
  }
  session.execute("ALTER ROLE " + role + " RESET default_transaction_read_only");
  expect_works(store);
}

class PostgresSchemas : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Names, PostgresSchemas,
                         ::testing::Values("UPPER", "with \"quotes\" and 'more'", "back\\slash $1 $$", "two\nlines",
                                           "数据数据数据数据", "; drop schema public --", std::string(50, 'x')));

TEST_P(PostgresSchemas, OfAnyNameAreStoresApart) {
  PostgresSession session(shared_postgres_url());
  PostgresOptions options;
  options.schema = GetParam();
  const std::string quoted = session.value("SELECT quote_ident($1)", {options.schema});
  session.execute("DROP SCHEMA IF EXISTS " + quoted + " CASCADE");
  expect_works(PostgresProvider::connect(shared_postgres_url(), options));
  const PostgresSchema other(Timestamp(Milliseconds(1'700'000'000'000)));
  EXPECT_FALSE(other.connect()->read_status("i").value().has_value());
  session.execute("DROP SCHEMA " + quoted + " CASCADE");
}

}  // namespace
}  // namespace perdure::test
