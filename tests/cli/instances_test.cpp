// status, list, show and tree
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include "cli/program_run.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kEscape = "\x1b[";

bool is_time(const nlohmann::json& value) {
  static const std::regex kIso(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
  return value.is_string() && std::regex_match(value.get<std::string>(), kIso);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

// ---- what holds for every command on a store ----

TEST(EveryLook, NeedsAStore) {
  ASSERT_EQ(::unsetenv("PERDURE_STORE"), 0);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"status", "x"},
                                                                                         {"list"},
                                                                                         {"show", "x"},
                                                                                         {"history", "x"},
                                                                                         {"tree", "x"},
                                                                                         {"kv", "x"},
                                                                                         {"queues"},
                                                                                         {"nodes"},
                                                                                         {"stuck"},
                                                                                         {"metrics"}}) {
    SCOPED_TRACE(arguments.front());
    const ProgramRun none = run_perdure(arguments);
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_THAT(none.err, HasSubstr("no store given; pass --store sqlite:PATH"));

    auto missing = arguments;
    missing.insert(missing.end(), {"--store", "sqlite:no/such/store.db"});
    const ProgramRun gone = run_perdure(missing);
    EXPECT_EQ(gone.exit_code, 5);
    EXPECT_THAT(gone.err, HasSubstr("there is no store at 'no/such/store.db'"));
    EXPECT_THAT(gone.out, IsEmpty());

    missing.emplace_back("--json");
    const ProgramRun as_json = run_perdure(missing);
    EXPECT_EQ(as_json.exit_code, 5);
    EXPECT_EQ(nlohmann::json::parse(as_json.err).at("exit_code"), 5);
  }
}

TEST(EveryLook, NamesAnInstanceThatIsNotThere) {
  for (const char* command : {"status", "show", "history", "tree", "kv"}) {
    SCOPED_TRACE(command);
    const ProgramRun run = sample_store().run({command, "nobody"});
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr("nobody"));
    EXPECT_EQ(sample_store().run({command}).exit_code, 2) << "it needs an instance";
  }
}

TEST(EveryLook, IsColouredOnATerminalOnly) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"status", "order-1"},
                                             {"list"},
                                             {"show", "family"},
                                             {"history", "order-1"},
                                             {"history", "order-1", "--format", "timeline"},
                                             {"history", "order-1", "--follow"},
                                             {"tree", "family"},
                                             {"kv", "order-1"},
                                             {"queues"},
                                             {"stuck"},
                                             {"metrics"}}) {
    SCOPED_TRACE(arguments.front() + ' ' + arguments.back());
    const ProgramRun piped = sample_store().run(arguments);
    const ProgramRun shown = sample_store().run(arguments, true);
    EXPECT_EQ(piped.exit_code, shown.exit_code);
    EXPECT_THAT(piped.out, Not(HasSubstr(kEscape)));
    EXPECT_THAT(shown.out, HasSubstr(kEscape));
    auto as_json = arguments;
    as_json.emplace_back("--json");
    EXPECT_THAT(sample_store().run(as_json, true).out, Not(HasSubstr(kEscape)));
  }
}

TEST(EveryLook, TakesTheStoreFromTheEnvironment) {
  ASSERT_EQ(::setenv("PERDURE_STORE", sample_store().argument().c_str(), 1), 0);
  const ProgramRun run = run_perdure({"status", "order-1"});
  const SqliteFile other;
  const ProgramRun written = other.run({"status", "order-1"});
  ASSERT_EQ(::unsetenv("PERDURE_STORE"), 0);
  EXPECT_EQ(written.exit_code, 3) << "what is written counts";
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, StartsWith("order-1  Completed\n"));
}

// ---- status ----

TEST(Status, TellsHowAnInstanceStands) {
  const ProgramRun completed = sample_store().run({"status", "order-1"});
  EXPECT_EQ(completed.exit_code, 0) << completed.err;
  EXPECT_THAT(lines(completed.out),
              ElementsAre("order-1  Completed", "  orchestration  Order 1.0.0", "  execution      1",
                          "  custom status  charged (version 2)", "  output         \"receipt for 4200\""));
  const ProgramRun failed = sample_store().run({"status", "order-2"});
  EXPECT_EQ(failed.exit_code, 0) << "to look at a failure is no failure";
  EXPECT_THAT(failed.out, AllOf(HasSubstr("order-2  Failed"), HasSubstr("card declined")));
  EXPECT_THAT(sample_store().run({"status", "waiting"}).out, HasSubstr("waiting  Running"));
  EXPECT_THAT(sample_store().run({"status", "foreign"}).out, HasSubstr("foreign  Pending"));
}

TEST(Status, AsJson) {
  const auto completed = sample_store().run({"status", "order-1", "--json"}).json();
  EXPECT_EQ(completed, nlohmann::json({{"instance", "order-1"},
                                       {"status", "Completed"},
                                       {"name", "Order"},
                                       {"version", "1.0.0"},
                                       {"execution_id", 1},
                                       {"output", "receipt for 4200"},
                                       {"error", nullptr},
                                       {"custom_status", "charged"},
                                       {"custom_status_version", 2}}));
  const auto failed = sample_store().run({"status", "order-2", "--json"}).json();
  EXPECT_EQ(failed["status"], "Failed");
  EXPECT_EQ(failed["output"], nullptr);
  EXPECT_EQ(failed["error"]["category"], "application");
  EXPECT_THAT(failed["error"]["message"].get<std::string>(), HasSubstr("card declined"));
  EXPECT_EQ(sample_store().run({"status", "terminated", "--json"}).json()["error"]["kind"], "terminated");
}

TEST(Status, OfAnIdThatWouldMoveATerminal) {
  const ProgramRun run = sample_store().run({"status", "red\x1b[31m\nline"}, false);
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("an instance id must not contain control characters, but is 'red\\u001b[31m\\nline'"));
  EXPECT_THAT(run.err, Not(HasSubstr("\x1b[31m")));
}

// ---- list ----

std::set<std::string> listed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "list");
  arguments.emplace_back("--json");
  const auto document = sample_store().run(arguments).json();
  std::set<std::string> ids;
  for (const auto& entry : document.at("instances")) ids.insert(entry.at("instance"));
  return ids;
}

TEST(List, EveryInstanceIsALine) {
  const ProgramRun run = sample_store().run({"list"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto rows = lines(run.out);
  ASSERT_EQ(rows.size(), 11U) << run.out;
  EXPECT_THAT(rows.front(), StartsWith("INSTANCE"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("family-b-1"), HasSubstr("Cancelled"), HasSubstr("Terminated")));
  EXPECT_THAT(run.out, Not(HasSubstr("foreign"))) << "a queued start is no instance yet";
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(List, AsJson) {
  const auto document = sample_store().run({"list", "--name", "Rounds", "--json"}).json();
  EXPECT_EQ(document["next"], nullptr);
  ASSERT_EQ(document["instances"].size(), 1U);
  const auto& rounds = document["instances"][0];
  EXPECT_EQ(rounds["instance"], "rounds");
  EXPECT_EQ(rounds["status"], "Completed");
  EXPECT_EQ(rounds["execution_id"], 3);
  EXPECT_EQ(rounds["parent"], nullptr);
  EXPECT_TRUE(is_time(rounds["created_at"]) && is_time(rounds["updated_at"]) && is_time(rounds["completed_at"]));
}

TEST(List, Filters) {
  using Ids = std::set<std::string>;
  EXPECT_EQ(listed({"--status", "running"}), (Ids{"waiting"}));
  EXPECT_EQ(listed({"--status", "failed"}), (Ids{"order-2"})) << "cancelled and terminated have words of their own";
  EXPECT_EQ(listed({"--status", "Cancelled,terminated"}), (Ids{"cancelled", "terminated"}));
  EXPECT_EQ(listed({"--status", "failed", "--status", "running"}), (Ids{"order-2", "waiting"}));
  EXPECT_EQ(listed({"--name", "Order"}), (Ids{"order-1", "order-2"}));
  EXPECT_EQ(listed({"--name", "Order", "--version", "1.0.0", "--status", "completed"}), (Ids{"order-1"}));
  EXPECT_EQ(listed({"--version", "2.0.0"}), Ids{});
  EXPECT_EQ(listed({"--created-before", "1h"}), Ids{});
  EXPECT_EQ(listed({"--created-after", "1h"}).size(), 10U);
  EXPECT_EQ(listed({"--completed-before", "2999-01-01"}).size(), 9U);
  EXPECT_EQ(listed({"--created-before", "2999-01-01T00:00:00Z", "--name", "Leaf"}), (Ids{"family-a", "family-b-1"}));
}

TEST(List, Pages) {
  const auto first = sample_store().run({"list", "--limit", "4", "--json"}).json();
  EXPECT_EQ(first["instances"].size(), 4U);
  ASSERT_TRUE(first["next"].is_string());
  const auto second =
      sample_store().run({"list", "--limit", "4", "--json", "--cursor", first["next"].get<std::string>()}).json();
  EXPECT_EQ(second["instances"].size(), 4U);
  EXPECT_NE(first["instances"], second["instances"]);
  EXPECT_EQ(sample_store().run({"list", "--limit", "4", "--all", "--json"}).json()["instances"].size(), 10U);

  const ProgramRun text = sample_store().run({"list", "--limit", "4"});
  EXPECT_EQ(lines(text.out).size(), 5U);
  EXPECT_THAT(text.err, HasSubstr("more instances match; use --cursor '"));
  EXPECT_EQ(lines(sample_store().run({"list", "--limit", "3", "--all"}).out).size(), 11U);
}

TEST(List, OnlyIdsForOtherPrograms) {
  const ProgramRun run = sample_store().run({"list", "--ids", "--name", "Order"});
  EXPECT_THAT(lines(run.out), ::testing::UnorderedElementsAre("order-1", "order-2"));
}

TEST(List, NothingIsSaidOnTheSide) {
  const ProgramRun run = sample_store().run({"list", "--name", "Nothing"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_EQ(run.err, "no instance matches\n");
}

TEST(List, WrongArguments) {
  EXPECT_THAT(sample_store().run({"list", "--status", "asleep"}).err, HasSubstr("asleep"));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"list", "--status", "asleep"},
                                             {"list", "--version", "1.0"},
                                             {"list", "--created-after", "noon"},
                                             {"list", "--limit", "0"},
                                             {"list", "--cursor", "nonsense"},
                                             {"list", "more"}}) {
    const ProgramRun run = sample_store().run(wrong);
    EXPECT_EQ(run.exit_code, 2) << wrong[1] << ": " << run.err;
    EXPECT_THAT(run.out, IsEmpty());
  }
}

// ---- show ----

TEST(Show, AllAboutAnInstance) {
  const ProgramRun rounds = sample_store().run({"show", "rounds"});
  EXPECT_EQ(rounds.exit_code, 0) << rounds.err;
  EXPECT_THAT(rounds.out,
              AllOf(StartsWith("rounds  Completed\n"), HasSubstr("Rounds 1.0.0"), HasSubstr("EXECUTION  STATUS"),
                    HasSubstr("ContinuedAsNew"), HasSubstr("events, "), HasSubstr("bytes in this execution")));
  EXPECT_THAT(sample_store().run({"show", "order-2"}).out, AllOf(HasSubstr("card declined"), HasSubstr("application")));
  EXPECT_THAT(sample_store().run({"show", "family"}).out, HasSubstr("\nCHILDREN\nfamily-a\nfamily-b\n"));
  EXPECT_THAT(sample_store().run({"show", "family-b-1"}).out, HasSubstr("family-b\n")) << "its parent";
  EXPECT_THAT(sample_store().run({"show", "foreign"}).out, StartsWith("foreign  Pending\n"));
}

TEST(Show, AsJson) {
  const auto rounds = sample_store().run({"show", "rounds", "--json"}).json();
  EXPECT_EQ(rounds["status"], "Completed");
  ASSERT_EQ(rounds["executions"].size(), 3U);
  EXPECT_EQ(rounds["executions"][0]["status"], "ContinuedAsNew");
  EXPECT_EQ(rounds["executions"][2]["status"], "Completed");
  EXPECT_GT(rounds["executions"][0]["events"], 0);
  EXPECT_TRUE(is_time(rounds["executions"][0]["started_at"]));
  EXPECT_EQ(rounds["stats"]["key_values"], 1);
  EXPECT_EQ(rounds["open_activities"], nlohmann::json::array());
  const auto family = sample_store().run({"show", "family", "--json"}).json();
  EXPECT_EQ(family["children"], nlohmann::json({"family-a", "family-b"}));
  EXPECT_EQ(sample_store().run({"show", "family-a", "--json"}).json()["parent"], "family");
  EXPECT_EQ(sample_store().run({"show", "foreign", "--json"}).json()["executions"], nlohmann::json::array());
}

TEST(Show, OpenActivitiesAndLongValues) {
  const SqliteFile store;
  Registry registry = sample_registry();
  registry.add_orchestration(
      "Long", [](OrchestrationContext) -> Orchestration<std::string> { co_return std::string(2'000, 'x'); });
  {
    const Runtime runtime(store.provider(), registry);
    const Client client(store.provider());
    client.start_orchestration("long", "Long");
    (void)client.wait_for_orchestration("long", std::chrono::seconds(30));
  }
  MessageRecord activity;
  activity.kind = MessageKind::kExecuteActivity;
  activity.instance = "long";
  activity.execution = 1;
  activity.activity_id = 9;
  activity.name = "Unserved";
  ASSERT_TRUE(store.provider()->enqueue_activity(activity));

  const ProgramRun run = store.run({"show", "long"});
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("ACTIVITY  NAME      ATTEMPTS  STATE  HEARTBEAT\n9         Unserved  0         ready"),
                    HasSubstr("x... (2002 bytes)")));
  EXPECT_THAT(store.run({"show", "long", "--full"}).out, HasSubstr(std::string(2'000, 'x')));
  const auto open = store.run({"show", "long", "--json"}).json()["open_activities"];
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0]["name"], "Unserved");
  EXPECT_EQ(open[0]["locked"], false);
}

// ---- tree ----

TEST(Tree, IsDrawn) {
  const ProgramRun run = sample_store().run({"tree", "family"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(lines(run.out),
              ElementsAre("family  Family 1.0.0  Completed", "├─ family-a  Leaf 1.0.0  Completed",
                          "└─ family-b  Branch 1.0.0  Completed", "   └─ family-b-1  Leaf 1.0.0  Completed"));
  EXPECT_THAT(lines(sample_store().run({"tree", "family-b"}).out).size(), 2U) << "from there downwards";
}

TEST(Tree, AsJson) {
  const auto document = sample_store().run({"tree", "family", "--json"}).json();
  EXPECT_EQ(document["root"], "family");
  ASSERT_EQ(document["instances"].size(), 4U);
  EXPECT_EQ(document["instances"][0]["instance"], "family");
  EXPECT_EQ(document["instances"][0]["parent"], nullptr);
  std::set<std::string> parents;
  for (const auto& entry : document["instances"]) {
    if (entry["instance"] == "family-b-1") parents.insert(entry["parent"]);
  }
  EXPECT_THAT(parents, ElementsAre("family-b"));
}

}  // namespace
}  // namespace perdure::test
