// kv, queues, nodes, stuck and metrics; and the commands that look on PostgreSQL
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include "cli/program_run.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

MessageRecord queued(const std::string& instance, EventId id, const std::string& name) {
  MessageRecord activity;
  activity.kind = MessageKind::kExecuteActivity;
  activity.instance = instance;
  activity.execution = 1;
  activity.activity_id = id;
  activity.name = name;
  return activity;
}

// ---- kv ----

TEST(Kv, AllValues) {
  const ProgramRun run = sample_store().run({"kv", "order-1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(StartsWith("KEY    UPDATED"), HasSubstr("stage  "), HasSubstr("\"done\"\n"),
                             HasSubstr("  4200\n")));
  const auto document = sample_store().run({"kv", "order-1", "--json"}).json();
  EXPECT_EQ(document["instance"], "order-1");
  ASSERT_EQ(document["values"].size(), 2U);
  EXPECT_EQ(document["values"][0]["key"], "stage");
  EXPECT_EQ(document["values"][1]["value"], 4200);
}

TEST(Kv, OneValueAlone) {
  EXPECT_EQ(sample_store().run({"kv", "order-1", "total"}).out, "4200\n");
  EXPECT_EQ(sample_store().run({"kv", "order-1", "stage", "--json"}).json(),
            nlohmann::json({{"instance", "order-1"}, {"key", "stage"}, {"value", "done"}}));
}

TEST(Kv, WhatIsMissing) {
  const ProgramRun key = sample_store().run({"kv", "order-1", "colour"});
  EXPECT_EQ(key.exit_code, 3);
  EXPECT_THAT(key.err, HasSubstr("instance 'order-1' has no value for key 'colour'"));
  const ProgramRun none = sample_store().run({"kv", "family"});
  EXPECT_EQ(none.exit_code, 0) << "it is there and has none";
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("has no values"));
}

// ---- queues ----

TEST(Queues, Depths) {
  const auto document = sample_store().run({"queues", "--json"}).json();
  EXPECT_EQ(document, nlohmann::json({{"messages", 1},          // the start that nobody can take
                                      {"delayed_messages", 3},  // timers, of the ended instances too
                                      {"activities", 0},
                                      {"locked_activities", 0},
                                      {"delayed_activities", 0}}));
  EXPECT_EQ(sample_store().run({"queues"}).out,
            "QUEUE         READY  LOCKED  DELAYED\n"
            "orchestrator  1      -       3\n"
            "worker        0      0       0\n");
}

TEST(Queues, Activities) {
  const SqliteFile store;
  const ProgramRun empty = store.run({"queues", "--activities"});
  EXPECT_THAT(empty.err, HasSubstr("no activity is queued"));

  ASSERT_TRUE(store.provider()->enqueue_activity(queued("a", 2, "Slow")));
  const auto item = store.provider()->fetch_work_item();
  ASSERT_TRUE(item && item.value());
  ASSERT_TRUE(store.provider()->heartbeat(
      std::vector<Heartbeat>{{.token = item.value()->token, .details = R"({"done":3})", .extend_for = {}}})[0]);
  ASSERT_TRUE(store.provider()->enqueue_activity(queued("b", 5, "Next")));

  const ProgramRun text = store.run({"queues", "--activities"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("worker        1      1       0"), HasSubstr("locked until "),
                              HasSubstr(R"({"done":3})"), HasSubstr("ready")));
  const auto document = store.run({"queues", "--activities", "--json"}).json();
  ASSERT_EQ(document["queued_activities"].size(), 2U);
  EXPECT_EQ(document["next"], nullptr);
  const auto& slow = document["queued_activities"][0];
  EXPECT_EQ(slow["name"], "Slow");
  EXPECT_EQ(slow["locked"], true);
  EXPECT_EQ(slow["attempts"], 1);
  EXPECT_EQ(slow["heartbeat"], nlohmann::json({{"done", 3}}));

  const auto of_b = store.run({"queues", "--activities", "--instance", "b", "--json"}).json()["queued_activities"];
  ASSERT_EQ(of_b.size(), 1U);
  EXPECT_EQ(of_b[0]["instance"], "b");
  const auto page = store.run({"queues", "--activities", "--limit", "1", "--json"}).json();
  ASSERT_TRUE(page["next"].is_string());
  const auto rest =
      store.run({"queues", "--activities", "--limit", "1", "--json", "--cursor", page["next"].get<std::string>()});
  EXPECT_EQ(rest.json()["queued_activities"][0]["instance"], "b");
  EXPECT_EQ(store.run({"queues", "--instance", "b"}).exit_code, 2) << "it narrows --activities";
}

// ---- nodes and stuck ----

TEST(Nodes, WithTheCodeTheyHave) {
  const SqliteFile store;
  EXPECT_EQ(store.run({"nodes"}).err, "no node is registered\n");
  EXPECT_THAT(store.run({"nodes", "--json"}).json()["nodes"], IsEmpty());

  RuntimeOptions options;
  options.worker_node_id = "node-7";
  options.worker_tag_filter = TagFilter::untagged_and({"gpu"});
  const Runtime runtime(store.provider(), sample_registry(), options);
  const ProgramRun text = store.run({"nodes"});
  EXPECT_THAT(text.out,
              AllOf(StartsWith("node-7\n"), HasSubstr("Order 1.0.0"), HasSubstr("Charge"), HasSubstr("untagged, gpu")));
  const auto nodes = store.run({"nodes", "--json"}).json()["nodes"];
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0]["node"], "node-7");
  EXPECT_EQ(nodes[0]["engine_version"], engine_version().to_string());
  EXPECT_EQ(nodes[0]["tags"]["listed"], nlohmann::json({"gpu"}));
  EXPECT_EQ(nodes[0]["orchestrations"][0], nlohmann::json({{"name", "Approval"}, {"version", "1.0.0"}}));
}

TEST(Stuck, IsANegativeAnswer) {
  const SqliteFile store;
  const ProgramRun none = store.run({"stuck"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.err, "nothing is stuck\n");

  const Runtime runtime(store.provider(), sample_registry());
  Client(store.provider()).start_orchestration("foreign", "Unknown");
  const ProgramRun one = store.run({"stuck"});
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_THAT(one.out, AllOf(HasSubstr("foreign"), HasSubstr("Unknown")));
  const ProgramRun as_json = store.run({"stuck", "--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_EQ(as_json.json()["stuck"][0]["instance"], "foreign");
  EXPECT_EQ(store.run({"stuck", "--limit", "0"}).exit_code, 2);
}

// ---- metrics ----

TEST(MetricsCommand, CountsEachInstanceOnce) {
  const auto document = sample_store().run({"metrics", "--json"}).json();
  EXPECT_EQ(document["instances"], 10);
  EXPECT_EQ(document["executions"], 12);
  EXPECT_EQ(document["running"], 1);
  EXPECT_EQ(document["completed"], 6);
  EXPECT_EQ(document["failed"], 1);
  EXPECT_EQ(document["cancelled"], 1);
  EXPECT_EQ(document["terminated"], 1);
  EXPECT_GT(document["events"], 30);
  EXPECT_EQ(document["queues"]["messages"], 1);
  const ProgramRun text = sample_store().run({"metrics"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("  instances   10\n"), HasSubstr("orchestrator  1")));
}

TEST(MetricsCommand, ForPrometheus) {
  const ProgramRun run = sample_store().run({"metrics", "--prometheus"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("# TYPE perdure_store_instances gauge\n"),
                             HasSubstr("perdure_store_instances{status=\"completed\"} 6\n"),
                             HasSubstr("perdure_store_instances{status=\"failed\"} 1\n"),
                             HasSubstr("perdure_store_executions 12\n"),
                             HasSubstr("perdure_store_queue_depth{queue=\"orchestrator\",state=\"delayed\"} 3\n")));
}

// ---- on PostgreSQL ----

// A schema of its own on the tests' server, with the server's clock.
class PostgresLooks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    PostgresOptions options;
    options.schema = schema();
    fill_with_samples(PostgresProvider::connect(shared_postgres_url(), options));
  }
  static void TearDownTestSuite() {
    PostgresSession(shared_postgres_url()).execute("DROP SCHEMA IF EXISTS " + schema() + " CASCADE");
  }
  static std::string schema() { return "cli_looks_" + std::to_string(::getpid()); }
  static ProgramRun run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--store", shared_postgres_url(), "--schema", schema()});
    return run_perdure(arguments);
  }
};

TEST_F(PostgresLooks, EveryCommandAnswers) {
  EXPECT_THAT(run({"status", "order-1"}).out, HasSubstr("order-1  Completed\n"));
  EXPECT_EQ(run({"status", "nobody"}).exit_code, 3);
  EXPECT_EQ(run({"list", "--all", "--limit", "3", "--json"}).json()["instances"].size(), 10U);
  EXPECT_EQ(run({"list", "--status", "running,failed", "--json"}).json()["instances"].size(), 2U);
  EXPECT_EQ(run({"show", "rounds", "--json"}).json()["executions"].size(), 3U);
  EXPECT_THAT(run({"tree", "family"}).out, HasSubstr("   └─ family-b-1  Leaf 1.0.0  Completed\n"));
  EXPECT_EQ(run({"kv", "order-1", "total"}).out, "4200\n");
  EXPECT_EQ(run({"queues", "--activities", "--json"}).json()["delayed_messages"], 3);
  EXPECT_THAT(run({"nodes", "--json"}).json()["nodes"], IsEmpty()) << "the node has left";
  EXPECT_EQ(run({"stuck"}).exit_code, 1);
  EXPECT_EQ(run({"metrics", "--json"}).json()["completed"], 6);
}

TEST_F(PostgresLooks, HistoriesAreFollowed) {
  const ProgramRun ended = run({"history", "rounds", "--execution", "1", "--follow", "--timeout", "30s"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("execution 1\n"), HasSubstr("execution 3\n")));
  EXPECT_EQ(run({"history", "waiting", "--follow", "--timeout", "1ms"}).exit_code, 4);
}

TEST_F(PostgresLooks, AServerThatIsNotThere) {
  const ProgramRun gone = run_perdure({"list", "--store", "postgres://somebody:secret@127.0.0.1:1/none"});
  EXPECT_EQ(gone.exit_code, 5);
  EXPECT_THAT(gone.err, ::testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace perdure::test
