// export and import: what one store has, another has afterwards.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/client.h>
#include <perdure/memory_provider.h>
#include <perdure/runtime.h>
#include "cli/exit_code.h"
#include "cli/input_run.h"
#include "cli/instance_copies.h"
#include "cli/instance_file.h"
#include "cli/program_run.h"
#include "providers/history_damage.h"
#include "support/eventually.h"
#include "support/postgres_schema.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

const std::vector<std::string>& ended_samples() {
  static const std::vector<std::string> kIds{"order-1",  "order-2",    "rounds",    "family",    "family-a",
                                             "family-b", "family-b-1", "cancelled", "terminated"};
  return kIds;
}

// Everything that clients and operators can see of an ended instance.
void expect_same_instance(Provider& one, Provider& other, const std::string& id) {
  EXPECT_EQ(one.admin()->instance_info(id).value(), other.admin()->instance_info(id).value());
  auto status = other.read_status(id).value().value();
  const auto expected = one.read_status(id).value().value();
  status.incarnation = expected.incarnation;  // each store has one of its own
  EXPECT_EQ(status, expected) << id;
  EXPECT_EQ(one.read_stats(id).value(), other.read_stats(id).value()) << id;
  EXPECT_EQ(one.read_key_values(id).value(), other.read_key_values(id).value()) << id;
  EXPECT_EQ(one.admin()->read_key_value_snapshot(id).value(), other.admin()->read_key_value_snapshot(id).value());
  EXPECT_EQ(one.admin()->list_children(id).value(), other.admin()->list_children(id).value()) << id;
  const auto executions = one.admin()->list_executions(id).value();
  ASSERT_EQ(executions, other.admin()->list_executions(id).value()) << id;
  for (const ExecutionId execution : executions) {
    EXPECT_EQ(one.admin()->execution_info(id, execution).value(), other.admin()->execution_info(id, execution).value());
    EXPECT_EQ(one.admin()->read_history(id, execution).value(), other.admin()->read_history(id, execution).value());
  }
}

// The file of the samples.
class Transfer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    exported_ = source().run({"export", "-o", file("all")});
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static const SqliteFile& source() { return sample_store(); }
  static const ProgramRun& exported() { return exported_; }
  static std::string file(const std::string& name) { return folder_->file(name); }

 private:
  static std::unique_ptr<TemporaryFolder> folder_;
  static ProgramRun exported_;
};
std::unique_ptr<TemporaryFolder> Transfer::folder_;
ProgramRun Transfer::exported_;

TEST_F(Transfer, WhatHasEndedIsExportedAndTheRestIsCounted) {
  EXPECT_EQ(exported().exit_code, cli::kSuccess) << exported().err;
  EXPECT_EQ(exported().out, "exported 9 instances to " + file("all") +
                                "; 1 were skipped because they or their children are still running\n");
  EXPECT_THAT(content_of(file("all")), StartsWith("{\"format\":\"perdure instances\",\"version\":1}\n"));
  EXPECT_EQ(lines_of(content_of(file("all"))).back(), "{\"instances\":9}");
  const ProgramRun json = source().run({"export", "--name", "Order", "-o", file("orders"), "--json"});
  EXPECT_EQ(json.json(),
            (nlohmann::json{{"file", file("orders")}, {"instances", 2}, {"roots", 2}, {"left_out_running", 0}}));
}

TEST_F(Transfer, AnotherStoreShowsTheSame) {
  const SqliteFile target;
  const ProgramRun imported = target.run({"import", file("all")});
  ASSERT_EQ(imported.exit_code, cli::kSuccess) << imported.err;
  EXPECT_EQ(imported.out, "imported 9 instances\n");
  for (const std::string& id : ended_samples()) expect_same_instance(*source().provider(), *target.provider(), id);
  ASSERT_EQ(target.run({"export", "-o", file("again")}).exit_code, cli::kSuccess);
  EXPECT_EQ(content_of(file("again")), content_of(file("all")));
}

TEST_F(Transfer, PostgresAndBack) {
  const PostgresSchema schema(Timestamp(Milliseconds{1'700'000'000'000}));
  const std::vector<std::string> there{"--store", shared_postgres_url(), "--schema", schema.name()};
  const auto with_store = [&there](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), there.begin(), there.end());
    return run_perdure(arguments);
  };
  const ProgramRun imported = with_store({"import", file("all")});
  ASSERT_EQ(imported.exit_code, cli::kSuccess) << imported.err;
  for (const std::string& id : ended_samples()) expect_same_instance(*source().provider(), *schema.connect(), id);
  ASSERT_EQ(with_store({"export", "-o", file("postgres")}).exit_code, cli::kSuccess);
  EXPECT_EQ(content_of(file("postgres")), content_of(file("all")));
  const ProgramRun again = with_store({"import", file("all")});
  EXPECT_EQ(again.exit_code, cli::kConflict);
  EXPECT_THAT(again.err, HasSubstr("'order-1' already exists"));
  const SqliteFile back;
  ASSERT_EQ(back.run({"import", file("postgres")}).exit_code, cli::kSuccess);
  for (const std::string& id : ended_samples()) expect_same_instance(*source().provider(), *back.provider(), id);
}

TEST_F(Transfer, ThroughPipes) {
  const ProgramRun piped = source().run({"export", "family", "order-1"});
  EXPECT_EQ(piped.exit_code, cli::kSuccess);
  EXPECT_EQ(piped.err, "exported 5 instances\n");
  const SqliteFile target;
  const ProgramRun imported = run_with_input({"import", "-", "--store", target.argument(), "--json"}, piped.out);
  EXPECT_EQ(imported.exit_code, cli::kSuccess) << imported.err;
  EXPECT_EQ(imported.json(), (nlohmann::json{{"instances", 5}, {"roots", 2}, {"skipped_roots", 0}}));
  EXPECT_EQ(target.run({"export"}).out, piped.out);
  EXPECT_EQ(source().run({"export", "--json"}).exit_code, cli::kUsage) << "the output is taken";
}

TEST_F(Transfer, OnlyRootsThatHaveEndedCanBeNamed) {
  const ProgramRun running = source().run({"export", "waiting", "-o", file("none")});
  EXPECT_EQ(running.exit_code, cli::kConflict);
  EXPECT_THAT(running.err, HasSubstr("'waiting' is still running and would repeat its work"));
  EXPECT_EQ(source().run({"export", "family-a", "-o", file("none")}).exit_code, cli::kConflict);
  EXPECT_EQ(source().run({"export", "order-1", "nobody", "-o", file("none")}).exit_code, cli::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(file("none")));
  EXPECT_FALSE(std::filesystem::exists(file("none.unfinished")));
  EXPECT_EQ(source().run({"export", "order-1", "-o", file("no/such/folder")}).exit_code, cli::kUsage);
}

TEST_F(Transfer, NothingIsOverwritten) {
  const SqliteFile target;
  Client(target.provider()).start_orchestration("order-2", "Order", 1);
  const ProgramRun refused = target.run({"import", file("all")});
  EXPECT_EQ(refused.exit_code, cli::kConflict);
  EXPECT_THAT(refused.err, HasSubstr("'order-2' already exists, so nothing was imported"));
  EXPECT_THAT(Client(target.provider()).list_all_instances(), IsEmpty());
  const ProgramRun skipped = target.run({"import", file("all"), "--skip-existing"});
  EXPECT_EQ(skipped.exit_code, cli::kSuccess) << skipped.err;
  EXPECT_EQ(skipped.out, "imported 8 instances; 1 already existed and were skipped\n");
  EXPECT_EQ(target.run({"import", file("all"), "--skip-existing", "--json"}).json().at("skipped_roots"), 6);
}

TEST_F(Transfer, PostgresAndSqliteTakeATreeAsAWholeOrNotAtAll) {
  const SqliteFile sqlite;
  const PostgresSchema schema(Timestamp(Milliseconds{1'700'000'000'000}));
  for (const auto& target : {sqlite.provider(), schema.connect()}) {
    // A queued start makes an id known, though no list shows it.
    MessageRecord start;
    start.kind = MessageKind::kStartOrchestration;
    start.instance = "family-b";
    ASSERT_TRUE(target->enqueue_message(start));
    const auto imported =
        dynamic_cast<InstanceImport&>(*target).import_instances(cli::copy_tree(*source().provider(), "family"));
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().kind(), ProviderErrorKind::kAlreadyExists);
    EXPECT_THAT(imported.error().message(), HasSubstr("'family-b'"));
    EXPECT_EQ(target->read_status("family").value(), std::nullopt);
    EXPECT_EQ(target->admin()->system_metrics().value(), SystemMetrics());
  }
}

TEST_F(Transfer, MessagesThatWaitForAnIdDoNotStandInTheWay) {
  const SqliteFile sqlite;
  const PostgresSchema schema(Timestamp(Milliseconds{1'700'000'000'000}));
  for (const auto& target : {sqlite.provider(), schema.connect()}) {
    const Client client(target);
    client.raise_event("family-b", "early", {.even_if_missing = true});
    client.enqueue_event("family", "queue", "early");
    client.enqueue_event("another", "queue", "early");
    const auto imported =
        dynamic_cast<InstanceImport&>(*target).import_instances(cli::copy_tree(*source().provider(), "family"));
    ASSERT_TRUE(imported) << imported.error().message();
    for (const char* id : {"family", "family-a", "family-b", "family-b-1"}) {
      expect_same_instance(*source().provider(), *target, id);
    }
    const QueueDepths left = client.get_queue_depths();
    EXPECT_EQ(left.messages + left.delayed_messages, 1U) << "a copy has ended: nothing would read its messages";
  }
}

TEST_F(Transfer, TheCommandImportsAnIdThatAMessageWaitsFor) {
  for (const bool skip_existing : {false, true}) {
    const SqliteFile target;
    Client(target.provider()).enqueue_event("order-2", "queue", 1);
    std::vector<std::string> command{"import", file("all")};
    if (skip_existing) command.emplace_back("--skip-existing");
    const ProgramRun imported = target.run(command);
    ASSERT_EQ(imported.exit_code, cli::kSuccess) << imported.err;
    EXPECT_EQ(imported.out, "imported 9 instances\n");
  }
}

TEST_F(Transfer, ImportedInstancesLiveOnAmongTheOthers) {
  const SqliteFile target;
  ASSERT_EQ(target.run({"import", file("all")}).exit_code, cli::kSuccess);
  const Client client(target.provider());
  {
    const Runtime runtime(target.provider(), sample_registry());
    client.start_orchestration("order-9", "Order", 9);
    EXPECT_TRUE(client.wait_for_orchestration("order-9", kPatience).completed());
    client.start_orchestration("order-1", "Order", 10, StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal));
    EXPECT_EQ(client.wait_for_orchestration("order-1", kPatience).output, "\"receipt for 10\"");
    client.raise_event("order-2", "nobody listens");
  }
  EXPECT_EQ(client.get_orchestration_status("order-2").state, OrchestrationState::kFailed);
  EXPECT_EQ(client.delete_instance("family").instances, 4U);
}

TEST_F(Transfer, PrunedExecutionsStayAway) {
  const SqliteFile one;
  const SqliteFile other;
  ASSERT_EQ(one.run({"import", file("all")}).exit_code, cli::kSuccess);
  ASSERT_EQ(one.run({"prune", "rounds"}).exit_code, cli::kSuccess);
  const std::string pruned = one.run({"export", "rounds"}).out;
  ASSERT_EQ(run_with_input({"import", "-", "--store", other.argument()}, pruned).exit_code, cli::kSuccess);
  expect_same_instance(*one.provider(), *other.provider(), "rounds");
  EXPECT_EQ(Client(other.provider()).list_executions("rounds"), std::vector<ExecutionId>{3});
}

TEST_F(Transfer, ADamagedHistoryIsNotExported) {
  const SqliteFile store;
  ASSERT_EQ(store.run({"import", file("all")}).exit_code, cli::kSuccess);
  dynamic_cast<HistoryDamage&>(*store.provider()).damage_history("order-1");
  const ProgramRun refused = store.run({"export", "-o", file("damaged")});
  EXPECT_EQ(refused.exit_code, cli::kStoreFailed);
  EXPECT_THAT(refused.err, HasSubstr("order-1"));
  EXPECT_FALSE(std::filesystem::exists(file("damaged")));
}

// ---- damaged files ----

struct FileDamage {
  const char* name;
  std::string (*damage)(std::vector<std::string> lines);
  const char* told;
};

const std::vector<FileDamage>& file_damages() {
  static const std::vector<FileDamage> kDamages{
      {"empty", [](std::vector<std::string>) { return std::string(); }, "line 1: the file is truncated"},
      {"foreign", [](std::vector<std::string>) { return std::string("id,name\n1,2\n"); },
       "line 1: the file was not written by 'perdure export'"},
      {"newer",
       [](std::vector<std::string> lines) {
         lines[0] = R"({"format":"perdure instances","version":2})";
         return joined_lines(lines);
       },
       "line 1: the file has version 2 of its format"},
      {"truncated",
       [](std::vector<std::string> lines) {
         lines.pop_back();
         return joined_lines(lines);
       },
       "the file is truncated"},
      {"a line is missing",
       [](std::vector<std::string> lines) {
         lines.erase(lines.begin() + 5);
         return joined_lines(lines);
       },
       "line "},
      {"changed",
       [](std::vector<std::string> lines) {
         lines[1].replace(lines[1].find("\"name\":\"Order\""), 14, "\"name\":\"Odder\"");
         return joined_lines(lines);
       },
       "the checksum does not match the lines from 2 on: instance 'order-1' was changed"},
      {"no JSON",
       [](std::vector<std::string> lines) {
         lines[2] = "{";
         return joined_lines(lines);
       },
       "line 3: "},
      {"no field",
       [](std::vector<std::string> lines) {
         lines[1] = R"({"instance":"x","parent":null})";
         return joined_lines(lines);
       },
       "line 2: the field 'name' is missing"},
      {"wrong count",
       [](std::vector<std::string> lines) {
         lines.back() = R"({"instances":8})";
         return joined_lines(lines);
       },
       "the file should contain 8 instances, but contains 9"},
      {"more behind it", [](std::vector<std::string> lines) { return joined_lines(lines) + "{}\n"; },
       "unexpected data after the last line"},
  };
  return kDamages;
}

TEST_F(Transfer, DamagedFilesAreNamedWithTheLineAndLeaveNothing) {
  const SqliteFile target;
  for (const FileDamage& damage : file_damages()) {
    write_file(file("damaged"), damage.damage(lines_of(content_of(file("all")))));
    const ProgramRun refused = target.run({"import", file("damaged")});
    EXPECT_EQ(refused.exit_code, cli::kUsage) << damage.name << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(file("damaged") + ", line ")) << damage.name;
    EXPECT_THAT(refused.err, HasSubstr(damage.told)) << damage.name;
    EXPECT_THAT(Client(target.provider()).list_all_instances(), IsEmpty()) << damage.name;
  }
  EXPECT_EQ(target.run({"import", file("there is none")}).exit_code, cli::kUsage);
}

void read_all(const std::string& text) {
  std::istringstream stream(text);
  cli::InstanceFileReader reader(stream, "file");
  while (reader.next_tree()) {
  }
}

TEST_F(Transfer, NoChangedByteGoesUnnoticed) {
  std::string text = source().run({"export", "order-1"}).out;
  read_all(text);
  for (std::size_t at = 0; at < text.size(); at += 5) {
    const char before = text[at];
    text[at] = static_cast<char>(before ^ 1);
    EXPECT_THROW(read_all(text), std::invalid_argument) << "byte " << at << ": " << text;
    text[at] = before;
  }
}

TEST_F(Transfer, NoCutGoesUnnoticed) {
  const std::string text = source().run({"export", "order-1"}).out;
  for (std::size_t length = 0; length + 1 < text.size(); length += 11) {
    EXPECT_THROW(read_all(text.substr(0, length)), std::invalid_argument) << length;
  }
}

TEST(InstanceFile, AnyBytesComeBack) {
  InstanceCopy copy;
  copy.info.id = "id \xc3\xa9\"\\";
  copy.info.name = "name";
  copy.info.version = SemanticVersion{1, 2, 3};
  copy.info.output = std::string("\0\xfe", 2);
  copy.info.status = ExecutionStatus::kFailed;
  copy.info.created_at = Timestamp(Milliseconds{1});
  copy.info.updated_at = Timestamp(Milliseconds{9'999'999'999'999});
  copy.info.completed_at = Timestamp(Milliseconds{2});
  copy.custom_status = {.value = "status \xc3\xa9", .version = 7};
  copy.key_values = {{.key = "a\x80", .value = "", .updated_at = Timestamp(Milliseconds{1})},
                     {.key = "b", .value = "\xf0\x9f", .updated_at = {}}};
  ExecutionCopy execution;
  execution.info.status = copy.info.status;
  execution.info.output = copy.info.output;
  execution.info.completed_at = copy.info.completed_at;
  execution.carried_forward = 3;
  for (const std::string& body : {std::string(), std::string("x"), std::string("\xff"), std::string("\xff\xff"),
                                  std::string("\xff\xff\xff"), std::string("\0", 1)}) {
    ++execution.info.events;
    execution.history.push_back({.event_id = execution.info.events,
                                 .kind = 65'535,
                                 .turn = execution.info.events / 2,
                                 .time = Timestamp(Milliseconds{5}),
                                 .body = body});
  }
  copy.executions = {execution};
  std::ostringstream out;
  cli::InstanceFileWriter writer(out);
  writer.write_tree({copy});
  writer.finish();
  std::istringstream in(out.str());
  cli::InstanceFileReader reader(in, "file");
  const auto tree = reader.next_tree();
  ASSERT_TRUE(tree.has_value());
  ASSERT_EQ(tree->size(), 1U);
  EXPECT_EQ(tree->front(), copy);
  EXPECT_EQ(reader.next_tree(), std::nullopt);
}

TEST(InstanceFile, AStoreWithoutInstancesIsAFileToo) {
  const SqliteFile store;
  const ProgramRun empty = store.run({"export"});
  EXPECT_EQ(empty.out, "{\"format\":\"perdure instances\",\"version\":1}\n{\"instances\":0}\n");
  EXPECT_EQ(run_with_input({"import", "-", "--store", store.argument()}, empty.out).out, "imported 0 instances\n");
}

}  // namespace
}  // namespace perdure::test
