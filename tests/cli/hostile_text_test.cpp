// Text that would move a terminal never leaves the program: every command and its errors, on a store full of it.
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <perdure/history_text.h>
#include "cli/hostile_store.h"
#include "cli/instance_file.h"
#include "cli/program_run.h"
#include "cli/terminal_filter.h"

namespace perdure::test {
namespace {

using Arguments = std::vector<std::string>;
using ::testing::HasSubstr;

const HostileStore& hostile_store() {
  static const HostileStore kStore;
  return kStore;
}

std::string shown(const Arguments& arguments) {
  std::string line;
  for (const std::string& argument : arguments) line += argument + ' ';
  return line;
}

// As a pipe gets it, as JSON, and as a terminal with colours gets it.
void expect_harmless(Arguments arguments) {
  const ProgramRun plain = run_perdure(arguments);
  EXPECT_EQ(forbidden_in(plain.out), "") << shown(arguments) << "\nstdout";
  EXPECT_EQ(forbidden_in(plain.err), "") << shown(arguments) << "\nstderr";
  const ProgramRun coloured = run_perdure(arguments, true);
  EXPECT_EQ(forbidden_in(coloured.out, true), "") << shown(arguments) << "\nstdout with colours";
  EXPECT_THAT(coloured.out, Not(HasSubstr("\x1b[31m\xc2")));
  EXPECT_EQ(forbidden_in(coloured.err, true), "") << shown(arguments) << "\nstderr with colours";
  arguments.emplace_back("--json");
  const ProgramRun json = run_perdure(arguments);
  EXPECT_EQ(forbidden_in(json.out), "") << shown(arguments) << "\nstdout as JSON";
  EXPECT_EQ(forbidden_in(json.err), "") << shown(arguments) << "\nstderr as JSON";
  if (arguments.front().starts_with("--help")) return;  // a text in any case
  std::istringstream documents(json.out);
  while (!json.out.empty() && !(documents >> std::ws).eof()) {  // --follow has several
    nlohmann::json document;
    ASSERT_NO_THROW(documents >> document) << shown(arguments) << json.out;
  }
}

// The commands that read or change the store. Those that change it come last.
std::vector<Arguments> store_commands() {
  const std::string any(kHostile);
  const std::string hostile_id = "zombie-" + any;
  std::vector<Arguments> commands{
      {"list"},
      {"list", "--ids"},
      {"list", "--name", any},
      {"list", "--status", any},
      {"list", "--version", any},
      {"list", "--created-after", any},
      {"list", "--cursor", any},
      {"list", "--limit", "1"},
      {"list", "--limit", any},
      {"queues", "--activities"},
      {"queues", "--activities", "--limit", "1"},
      {"queues", "--activities", "--instance", any},
      {"nodes"},
      {"stuck"},
      {"metrics"},
      {"metrics", "--prometheus"},
      {"tree", "plain"},
      {"kv", "plain", "plain-key"},
      {"kv", "plain", "other-key"},
      {"kv", "plain", any},
      {"kv", "plain", "--full"},
      {"wait", "plain", "--kv", "plain-key", "--timeout", "0s"},
      {"wait", "plain", "--kv", "other-key", "--timeout", "0s"},
      {"wait", "plain", "--kv", any, "--timeout", "0s"},
      {"wait", "plain", "--status-change", "0"},
      {"wait", "completed", "--kv", any},
      {"wait", "pending", "--timeout", "0s"},
      {"wait", "plain", "--timeout", any},
      {"export", "plain"},
      {"export", "completed"},
      {"export", hostile_id},
      {"export", "--name", "Failing-" + any},
      {"export"},
      {"export", "completed", "-o", hostile_store().file("no-" + any) + "/file"},
      {"export", "completed", "-o", hostile_store().file("file-" + any)},
      {"import", hostile_store().file("no-" + any)},
      {"import", hostile_store().file("broken-" + any)},
      {"start", "new-" + any, "Unknown"},
      {"start", "new", "Unknown-" + any},
      {"start", "plain", "Unknown-" + any},
      {"start", "new", "Unknown", "--input", any},
      {"start", "new", "Unknown", "--input", "@" + hostile_store().file(any)},
      {"start", "new", "Unknown", "--version", any},
      {"start", "new", "Unknown", "--if-exists", any},
      {"raise", "plain", "event-" + any},
      {"raise", hostile_id, "event"},
      {"raise", "missing-" + any, "event"},
      {"raise", "plain", "event", "--data", any},
      {"enqueue", "plain", "queue-" + any},
      {"enqueue", "completed", "queue-" + any},
      {"delete", "plain", "completed-" + any, hostile_id, "--dry-run"},
      {"delete", "plain", hostile_id},
      {"delete", "child-" + any},
      {"delete", "--all", "--dry-run"},
      {"delete", "--all"},
      {"delete", "--name", any, "--yes"},
      {"prune", hostile_id},
      {"prune", "--all", "--dry-run"},
      {"cancel", "plain", "--reason", any},
      {"cancel", "completed", "--reason", any},
      {"terminate", "pending", "--reason", any},
      {"terminate", any},
      {"delete", "--all", "--yes"},
  };
  for (const char* command : {"status", "show", "history", "kv", "tree", "wait"}) {
    for (const std::string& id : {std::string("plain"), std::string("completed"), std::string("failed"), hostile_id}) {
      Arguments arguments{command, id};
      if (std::string_view(command) == "wait") arguments.insert(arguments.end(), {"--timeout", "0s"});
      commands.insert(commands.begin(), arguments);
    }
  }
  for (const char* format : {"table", "timeline", "text", "json"}) {
    commands.insert(commands.begin(), {"history", "plain", "--full", "--format", format});
    commands.insert(commands.begin(), {"history", "failed", "--format", format});
  }
  commands.insert(commands.begin(), {"history", "failed", "--follow"});
  commands.insert(commands.begin(), {"history", "plain", "--follow", "--timeout", "0s"});
  return commands;
}

// Those without a store, or whose errors alone can be hostile.
std::vector<Arguments> other_commands() {
  const std::string any(kHostile);
  return {{any},
          {"--" + any},
          {"list", "--" + any},
          {"list", any},
          {"list", "--store", any},
          {"list", "--store", "sqlite:/nowhere/" + any},
          {"list", "--store", "sqlite:" + hostile_store().file("broken-" + any)},
          {"list", "--store", "postgres://" + any + "@127.0.0.1:1/" + any},
          {"validate", "--store", "sqlite::memory:", "--only", any},
          {"validate", "--store", "sqlite:/nowhere/" + any},
          {"bench", any},
          {"bench", "seq", "--store", "sqlite:/nowhere/" + any},
          {"bench", "seq", "--store", "sqlite:" + hostile_store().file("broken-" + any)},
          {"simulate", "--seeds", any},
          {"simulate", "--seeds", "1", "--faults", any},
          {"torture", "--kills", "1", "--store", "sqlite:/nowhere/" + any},
          {"torture", "--kills", "1", "--store", "sqlite:" + hostile_store().file("broken-" + any)},
          {"torture", "--kills", any, "--store", "sqlite:x"},
          {"completion", any},
          {"completion", "bash"},
          {"completion", "zsh"},
          {"completion", "fish"},
          {"version", any},
          {"version"},
          {"--help-all"}};
}

TEST(HostileText, NoCommandLetsItOut) {
  std::ofstream(hostile_store().file("broken-" + std::string(kHostile)))
      << kHostile << "\n{\"" << kHostileJson << "\"}\n";
  for (Arguments arguments : store_commands()) {
    arguments.insert(arguments.end(), {"--store", hostile_store().argument()});
    expect_harmless(std::move(arguments));
  }
  for (const Arguments& arguments : other_commands()) expect_harmless(arguments);
}

TEST(HostileText, HistoriesAndExportsComeBackWhole) {
  const ProgramRun text = run_perdure({"history", "failed", "--format", "text", "--store", hostile_store().argument()});
  const std::vector<Event> history = read_history_text(text.out);
  const auto& started = std::get<events::OrchestrationStarted>(history.at(0).body);
  EXPECT_EQ(started.name, "Failing-" + std::string(kHostile));

  InstanceCopy copy;
  copy.info.id = "id";
  copy.info.name = "name";
  copy.info.status = ExecutionStatus::kCompleted;
  copy.info.completed_at = Timestamp(Milliseconds{2});
  copy.custom_status = {.value = std::string(kHostileJson), .version = 1};
  copy.key_values = {{.key = "key", .value = std::string(kHostile), .updated_at = {}},
                     {.key = "other", .value = std::string(kHostileJson) + "\\u009b\n", .updated_at = {}}};
  ExecutionCopy execution;
  execution.info.status = copy.info.status;
  execution.info.completed_at = copy.info.completed_at;
  copy.executions = {execution};
  std::ostringstream out;
  cli::InstanceFileWriter writer(out);
  writer.write_tree({copy});
  writer.finish();
  EXPECT_EQ(forbidden_in(out.str()), "");
  std::istringstream in(out.str());
  const auto tree = cli::InstanceFileReader(in, "file").next_tree();
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->front(), copy);
}

// Colours are marks with a secret: text cannot imitate them, and a character may come in parts.
TEST(HostileText, TheFilterPassesOnlyItsOwnMarks) {
  std::ostringstream target;
  cli::TerminalFilter filter(target, "123");
  std::ostream out(&filter);
  out << cli::terminal_mark("123", "31m") << "red" << cli::terminal_mark("123", "0m");
  out << cli::terminal_mark("124", "31m") << "\x1b[31m\x1b";
  for (const char byte : std::string("\xc3\xa9\xe2\x80\xae\xf0\x9f\x98\x80\xc3(")) out << byte;
  out << "\xe2\x80";
  filter.finish();
  EXPECT_EQ(target.str(),
            "\x1b[31mred\x1b[0m\\u001b12431m\\u001b[31m\\u001b\xc3\xa9\\u202e\xf0\x9f\x98\x80\\xc3(\\xe2\\x80");
}

// A command that is added must be added to the tables above.
TEST(HostileText, EveryCommandIsTried) {
  std::set<std::string> tried;
  for (const auto& commands : {store_commands(), other_commands()}) {
    for (const Arguments& arguments : commands) tried.insert(arguments.front());
  }
  std::istringstream help(run_perdure({"--help"}).out);
  std::string line;
  while (std::getline(help, line) && !line.starts_with("Subcommands") && !line.starts_with("SUBCOMMANDS")) {
  }
  std::size_t commands = 0;
  while (std::getline(help, line) && line.starts_with("  ")) {
    if (line.size() < 3 || line[2] == ' ') continue;  // a description that goes on
    ++commands;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(tried.contains(name)) << name;
  }
  EXPECT_GT(commands, 20U);
}

}  // namespace
}  // namespace perdure::test
