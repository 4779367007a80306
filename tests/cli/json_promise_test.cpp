// --json with arguments that make no sense: the error is one line of JSON on the standard error, and nothing else.
#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/program_run.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

using Words = std::vector<std::string>;

struct WrongArguments {
  Words words;
  const char* expected;  // in the error
  int exit_code = cli::kUsage;
};

std::string joined(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += word + ' ';
  return line;
}

void expect_json_error(const Words& words, const char* expected, int exit_code) {
  const ProgramRun run = run_perdure(words);
  EXPECT_EQ(run.exit_code, exit_code) << joined(words) << run.err;
  EXPECT_EQ(run.out, "") << joined(words);
  ASSERT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << joined(words) << run.err;
  const auto document = nlohmann::json::parse(run.err, nullptr, false);
  ASSERT_TRUE(document.is_object()) << joined(words) << run.err;
  EXPECT_EQ(document.at("exit_code"), exit_code) << joined(words);
  EXPECT_THAT(document.at("error").get<std::string>(), ::testing::HasSubstr(expected)) << joined(words);
}

// --json first, last and in between, as far as the command stands before it.
void expect_json_errors(const WrongArguments& wrong) {
  for (std::size_t place = std::min<std::size_t>(1, wrong.words.size()); place <= wrong.words.size(); ++place) {
    Words words = wrong.words;
    const auto before = words.begin() + static_cast<std::ptrdiff_t>(place);
    if (place > 1 && (before - 1)->starts_with('-') && place < words.size()) continue;  // it would be an option's value
    words.insert(before, "--json");
    expect_json_error(words, wrong.expected, wrong.exit_code);
  }
}

TEST(JsonPromise, WrongArgumentsAreAnErrorAsJson) {
  const std::string store = sample_store().argument();
  const std::vector<WrongArguments> table{
      {{}, ""},
      {{"nosuch"}, "there is no command 'nosuch'"},
      {{"nosuch", "order-1", "--store", store}, "there is no command 'nosuch'"},
      {{"--nosuch"}, ""},
      {{"metrics", "--prometheus", "--store", store}, "--prometheus cannot be combined with --json"},
      {{"history", "order-1", "--format", "text", "--store", store}, "--format text and --json are two formats"},
      {{"history", "order-1", "--format", "timeline", "--store", store}, "--format timeline and --json"},
      {{"history", "order-1", "--format", "table", "--store", store}, "--format table and --json"},
      {{"history", "order-1", "--format", "xml", "--store", store}, "xml"},
      {{"history", "order-1", "--timeout", "1s", "--store", store}, "--follow"},
      {{"history", "order-1", "--execution", "0", "--store", store}, "'0' is not a whole number"},
      {{"history", "order-1", "--execution", "9", "--store", store}, "has no execution 9", cli::kNotFound},
      {{"list"}, "no store given"},
      {{"list", "--store", "mysql://x"}, "the store must be written as"},
      {{"list", "--store", "sqlite:/nowhere/x.db"}, "there is no store at", cli::kStoreFailed},
      {{"list", "order-1", "--store", store}, "order-1"},
      {{"list", "--limit", "0", "--store", store}, "0"},
      {{"list", "--limit", "99999999999999999999", "--store", store}, "99999999999999999999"},
      {{"list", "--status", "happy", "--store", store}, "happy"},
      {{"list", "--created-after", "soon", "--store", store}, "soon"},
      {{"list", "--version", "one", "--store", store}, "one"},
      {{"list", "--cursor", "nonsense", "--store", store}, ""},
      {{"status", "--store", store}, "instance"},
      {{"status", "nosuch", "--store", store}, "there is no instance 'nosuch'", cli::kNotFound},
      {{"status", "a", "b", "--store", store}, "b"},
      {{"show", "nosuch", "--store", store}, "there is no instance", cli::kNotFound},
      {{"tree", "nosuch", "--store", store}, "nosuch", cli::kNotFound},
      {{"kv", "order-1", "nosuch", "--store", store}, "has no value for key 'nosuch'", cli::kNotFound},
      {{"queues", "--instance", "order-1", "--store", store}, "--activities"},
      {{"stuck", "--limit", "-1", "--store", store}, "-1"},
      {{"wait", "waiting", "--timeout", "1ms", "--store", store}, "did not end within", cli::kTimedOut},
      {{"wait", "waiting", "--timeout", "-1s", "--store", store}, "-1s"},
      {{"wait", "waiting", "--kv", "a", "--status-change", "1", "--store", store}, "--"},
      {{"start", "new", "--store", store}, "orchestration"},
      {{"start", "new", "Order", "--input", "{", "--store", store}, "--input is not JSON"},
      {{"start", "new", "Order", "--raw", "--store", store}, "--raw"},
      {{"start", "new", "Order", "--if-exists", "maybe", "--store", store}, "maybe"},
      {{"start", "", "Order", "--store", store}, "must not be empty"},
      {{"raise", "nosuch", "event", "--store", store}, "there is no instance 'nosuch'", cli::kNotFound},
      {{"enqueue", "order-1", "queue", "--store", store}, "has already ended", cli::kConflict},
      {{"cancel", "order-1", "--store", store}, "has already ended", cli::kConflict},
      {{"terminate", "--store", store}, "instance"},
      {{"delete", "--store", store}, "no instances selected"},
      {{"delete", "order-1", "--all", "--store", store}, "ids cannot be combined with filters"},
      {{"delete", "--all", "--store", store}, "--yes"},
      {{"delete", "--all", "--force", "--store", store}, "--force requires explicit instance ids"},
      {{"prune", "--all", "--keep-last", "-1", "--store", store}, "'-1' is not a whole number"},
      {{"export", "order-1", "--store", store}, "--json requires -o FILE"},
      {{"export", "waiting", "-o", "/dev/null", "--store", store}, "waiting", cli::kConflict},
      {{"export", "order-1", "-o", "/", "--store", store}, "name of a file"},
      {{"import", "/nowhere/file", "--store", store}, "cannot read the file"},
      {{"import", "/", "--store", store}, "cannot read the file"},
      {{"import", "-", "--store", store}, "standard input is not available"},
      {{"validate", "--store", "sqlite::memory:", "--only", "nothing"}, "no test begins with 'nothing'"},
      {{"bench"}, "WORKLOAD"},
      {{"bench", "nosuch"}, "nosuch"},
      {{"bench", "seq", "--store", store}, "already exists; name a file"},
      {{"simulate"}, "--seeds"},
      {{"simulate", "--seeds", "9..3"}, "the first seed is greater than the last"},
      {{"simulate", "--seeds", "1", "--faults", "flood"}, "there is no fault 'flood'"},
      {{"simulate", "--seeds", "1", "--nodes", "17"}, "17"},
      {{"torture", "--store", "sqlite:/nowhere/x.db"}, "--kills"},
      {{"torture", "--kills", "1", "--store", "sqlite::memory:"}, "processes cannot share a store in memory"},
      {{"torture", "--kills", "1", "--store", store}, "is in use"},
      {{"completion", "tcsh"}, "tcsh"},
      {{"version", "1"}, "1"},
  };
  for (const WrongArguments& wrong : table) expect_json_errors(wrong);
}

// An option that the command does not have, for every command that there is.
TEST(JsonPromise, EveryCommandRefusesAnUnknownOptionAsJson) {
  std::istringstream help(run_perdure({"--help"}).out);
  std::string line;
  while (std::getline(help, line) && !line.starts_with("Subcommands")) {
  }
  std::size_t commands = 0;
  while (std::getline(help, line) && line.starts_with("  ")) {
    if (line[2] == ' ') continue;
    ++commands;
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    expect_json_error({command, "--json", "--nosuch"}, "", cli::kUsage);
    expect_json_error({command, "--nosuch", "--json"}, "", cli::kUsage);
  }
  EXPECT_GT(commands, 20U);
}

// Warnings are JSON lines before the error, and progress is not shown.
TEST(JsonPromise, StandardErrorHasNothingButJson) {
  const std::vector<WrongArguments> table{
      {{"bench", "noop", "--seconds", "0.1"}, "", cli::kSuccess},
      {{"bench", "noop", "--store", "postgresql://127.0.0.1:1/x"}, "connection", cli::kStoreFailed},
      {{"simulate", "--seeds", "1"}, "", cli::kSuccess},
      {{"validate", "--store", "sqlite::memory:", "--only", "node."}, "", cli::kSuccess},
  };
  for (const WrongArguments& one : table) {
    Words words = one.words;
    words.emplace_back("--json");
    const ProgramRun run = run_perdure(words);
    EXPECT_EQ(run.exit_code, one.exit_code) << joined(words) << run.err;
    std::istringstream lines(run.err);
    nlohmann::json last;
    for (std::string line; std::getline(lines, line);) {
      last = nlohmann::json::parse(line, nullptr, false);
      EXPECT_TRUE(last.contains("warning") || last.contains("error")) << joined(words) << line;
    }
    if (one.exit_code == cli::kSuccess) continue;
    ASSERT_TRUE(last.contains("error")) << joined(words) << run.err;
    EXPECT_THAT(last.at("error").get<std::string>(), ::testing::HasSubstr(one.expected)) << joined(words);
  }
}

// With its first messages the server of this database says that the collations have changed. libpq would print that
// past the streams of the program.
TEST(JsonPromise, NoticesOfAServerAreNotPrintedWhileConnecting) {
  const PostgresServer server;
  const std::string columns = "SELECT count(*) FROM pg_attribute WHERE attname = 'datcollversion'";
  if (server.execute(columns) == "0") GTEST_SKIP() << "only servers since version 15 compare the collations";
  server.execute("CREATE DATABASE warned");
  server.execute("UPDATE pg_database SET datcollversion = '0' WHERE datname = 'warned'");
  for (Words words : {Words{"bench", "noop", "--seconds", "0.1"}, Words{"validate", "--only", "node."}}) {
    words.insert(words.end(), {"--json", "--store", server.url("warned")});
    ::testing::internal::CaptureStderr();
    const ProgramRun run = run_perdure(words);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << joined(words);
    EXPECT_EQ(run.exit_code, cli::kSuccess) << joined(words) << run.err;
  }
}

TEST(JsonPromise, AValueOfTheFlagCounts) {
  for (const char* const flag : {"--json=true", "--json=1"}) {
    expect_json_error({"nosuch", flag}, "there is no command 'nosuch'", cli::kUsage);
    expect_json_error({"list", flag, "--nosuch"}, "", cli::kUsage);
  }
  EXPECT_THAT(run_perdure({"nosuch", "--json=false"}).err, ::testing::StartsWith("perdure: "));
}

TEST(JsonPromise, TwoDashesEndTheOptions) {
  const ProgramRun run = sample_store().run({"status", "order-1", "--nosuch", "--", "--json"});
  EXPECT_EQ(run.exit_code, cli::kUsage);
  EXPECT_THAT(run.err, ::testing::StartsWith("perdure: "));
}

}  // namespace
}  // namespace perdure::test
