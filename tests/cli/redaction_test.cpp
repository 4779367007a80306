// Passwords in arguments of the program: in no error, no JSON and no list of processes.
#include "cli/redaction.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/provider_error.h>
#include <perdure/sqlite_provider.h>
#include "cli/exit_code.h"
#include "cli/program_run.h"
#include "cli/store_argument.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Of a server that nothing listens at.
const std::vector<std::string>& urls_with_a_password() {
  static const std::vector<std::string> kUrls{
      "postgresql://postgres:SECRET@127.0.0.1:1/postgres",
      "postgresql://postgres:SECRET%ss@127.0.0.1:1/postgres",
      "postgresql://postgres:SECRET/SECRET@127.0.0.1:1/postgres",
      "postgresql://postgres:12/SECRET@127.0.0.1:1/postgres",
      "postgresql://postgres:SECRET@SECRET@127.0.0.1:1/postgres",
      "postgresql://postgres:SECRET#SECRET?@127.0.0.1:1/postgres",
      "postgresql://postgres:SECRET SECRET@127.0.0.1:1/postgres",
      "postgresql://postgres:SECRET@[::1/postgres",
      "postgresql://postgres:SECRET@127.0.0.1:SECRET/postgres",
      "postgresql://postgres:SECRET/postgres",
      "postgresql://postgres:SECRET",
      "postgresql://127.0.0.1:1/postgres?user=postgres&password=SECRET%zz",
      "postgresql://127.0.0.1:1/postgres?password=SECRET&SECRET",
      "postgresql://127.0.0.1:1/postgres?sslpassword=SECRET&b=",
      "postgresql://127.0.0.1:1/postgres?Password=SECRET",
      "postgresql://127.0.0.1:1/postgres&password=SECRET",
      "postgresql://127.0.0.1:1/postgres?user=postgres&pass%77ord=SECRET",
      "postgresql://127.0.0.1:1/postgres?%70assword=SECRET&user=postgres",
      "postgresql://postgres:SECRET\nSECRET@127.0.0.1:1/postgres",
      "Postgres://postgres:SECRET@127.0.0.1/x",
      "mysql://postgres:SECRET@127.0.0.1/x",
      "sqlite:postgresql://postgres:SECRET@127.0.0.1/x",
      "sqlite:postgresql://postgres:SECRET/SECRET@127.0.0.1/x",
      "sqlite:host=127.0.0.1 user=postgres password=SECRET dbname=x",
      "host=127.0.0.1 user=postgres password=SECRET dbname=x",
      "host=127.0.0.1 password = 'SECRET SECRET'",
  };
  return kUrls;
}

// Which cannot be told from a file, or from anything else, at a wrong position.
const std::vector<std::string>& stores_with_a_password() {
  static const std::vector<std::string> kStores = [] {
    std::vector<std::string> stores = urls_with_a_password();
    stores.insert(stores.end(), {"sqlite:postgres:SECRET@127.0.0.1", "postgres:SECRET@127.0.0.1",
                                 "postgresql:/postgres:SECRET@127.0.0.1/x", "sqlite:postgres:SECRET@127.0.0.1/x"});
    return stores;
  }();
  return kStores;
}

TEST(Redaction, RemovesPasswordsFromTexts) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", ""},
      {"there is no instance 'a@b:c'", "there is no instance 'a@b:c'"},
      {"see https://example.org:80/a?b", "see https://example.org:80/a?b"},
      {"postgres://ada@host:5432/orders", "postgres://ada@host:5432/orders"},
      {"postgres://ada:pw@host:5432/orders", "postgres://ada@host:5432/orders"},
      {"postgres://ada:p:w@x/y?z@host/orders", "postgres://ada@host/orders"},
      {"cannot use 'postgres://ada:p w@host/orders'; try again", "cannot use 'postgres://ada@host/orders'; try again"},
      {"postgres://ada:pw/orders", "postgres://ada:.../orders"},
      {"postgres://h1:1,h2:2/orders", "postgres://h1:1,h2:2/orders"},
      {"postgres://host/orders?password=pw&user=ada", "postgres://host/orders?password=..."},
      {"postgres://host/orders?sslmode=require&pass%77ord=pw", "postgres://host/orders?sslmode=require&..."},
      {"postgres://host/orders?application_name=a%20b&user=ada",
       "postgres://host/orders?application_name=a%20b&user=ada"},
      {"'postgres://ada:p\nw@host/orders'", "'postgres://ada@host/orders'"},
      {"host=h PASSWORD = 'p w' dbname=d\nnext line", "host=h PASSWORD =...\nnext line"},
      {"check user and password in the URL", "check user and password in the URL"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(cli::redacted(text), shown);
  for (const std::string& url : urls_with_a_password())
    EXPECT_THAT(cli::redacted(url), Not(HasSubstr("SECRET"))) << url;
}

using Arguments = std::vector<std::string>;

// Every command, with arguments that need a store, or end soon. None of them succeeds on the sample store, if one more
// is wrong.
const std::vector<Arguments>& all_commands() {
  static const std::vector<Arguments> kCommands{{"list", "--limit", "0"},
                                                {"status", "a"},
                                                {"wait", "a", "--timeout", "0s"},
                                                {"show", "a"},
                                                {"history", "a"},
                                                {"tree", "a"},
                                                {"kv", "a", "key"},
                                                {"queues", "--activities"},
                                                {"stuck"},
                                                {"metrics"},
                                                {"nodes"},
                                                {"start", "a", "A", "--input", "{"},
                                                {"raise", "a", "e"},
                                                {"enqueue", "a", "q"},
                                                {"cancel", "a"},
                                                {"terminate", "a"},
                                                {"delete", "a"},
                                                {"prune", "a"},
                                                {"export", "a"},
                                                {"import", "/dev/null"},
                                                {"validate", "--only", "nothing"},
                                                {"bench", "seq", "--seconds", "0.1"},
                                                {"torture", "--kills", "1"},
                                                {"simulate", "--seeds", "2..1"},
                                                {"completion", "bash"},
                                                {"version"}};
  return kCommands;
}

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The lines of a part of a help that begin with a name, as "  --limit UINT ...". The others go on with a description.
std::vector<std::string> lines_of_help(const Arguments& command, const std::string& part) {
  std::istringstream help(run_perdure(with(command, {"--help"})).out);
  std::string line;
  while (std::getline(help, line) && line != part) {
  }
  std::vector<std::string> lines;
  while (std::getline(help, line) && line.starts_with("  ")) {
    if (line.size() > 2 && line[2] != ' ') lines.push_back(line.substr(2));
  }
  return lines;
}

// Those that take a value.
Arguments options_of(const std::string& command) {
  Arguments options;
  for (const std::string& line : lines_of_help({command}, "Options:")) {
    const std::size_t end = line.find(' ');
    const std::string type = line.substr(std::min(end + 1, line.size()));
    if (!type.starts_with("TEXT") && !type.starts_with("UINT") && !type.starts_with("FLOAT")) continue;
    const std::string names = line.substr(0, end);
    options.push_back(names.substr(names.rfind(',') + 1));
  }
  return options;
}

enum class Ends : std::uint8_t { kWithError, kAnyhow };

// With and without --json.
void expect_no_password_of(Arguments arguments, Ends ends = Ends::kWithError) {
  std::string line;
  for (const std::string& argument : arguments) line += argument + ' ';
  for (const char* const also : {"", "--json"}) {
    if (*also != '\0') arguments.insert(arguments.begin() + 1, also);
    const ProgramRun run = run_perdure(arguments);
    if (ends == Ends::kWithError) {
      EXPECT_NE(run.exit_code, cli::kSuccess) << line << also;
    }
    EXPECT_THAT(run.out, Not(HasSubstr("SECRET"))) << line << also;
    EXPECT_THAT(run.err, Not(HasSubstr("SECRET"))) << line << also;
  }
}

// A command that is added must be added to the table above.
TEST(Redaction, EveryCommandIsTried) {
  std::set<std::string> tried;
  for (const Arguments& command : all_commands()) tried.insert(command.front());
  std::size_t commands = 0;
  std::size_t options = 0;
  for (const std::string& line : lines_of_help({}, "Subcommands:")) {
    const std::string name = line.substr(0, line.find(' '));
    EXPECT_TRUE(tried.contains(name)) << name;
    ++commands;
    options += options_of(name).size();
  }
  EXPECT_GT(commands, 20U);
  EXPECT_GT(options, 80U);
}

TEST(Redaction, NoCommandShowsAPasswordOfItsStore) {
  for (const std::string& store : stores_with_a_password()) {
    for (const Arguments& command : all_commands()) {
      const Arguments options = options_of(command.front());
      if (std::find(options.begin(), options.end(), "--store") == options.end()) continue;
      if (command.front() == "simulate") continue;  // its --store is a kind of store
      expect_no_password_of(with(command, {"--store", store}));
    }
  }
}

// As the command and at each position of every command.
TEST(Redaction, AUrlAtAWrongPositionIsNotShownEither) {
  const SqliteFile& store = sample_store();  // torture refuses it, because it is in use
  for (const std::string& url : urls_with_a_password()) {
    expect_no_password_of({url});
    for (const Arguments& command : all_commands()) {
      const bool on_store = command.front() != "bench" && command.front() != "simulate" &&
                            command.front() != "completion" && command.front() != "version";
      const Arguments more = on_store ? Arguments{"--store", store.argument()} : Arguments{};
      expect_no_password_of(with(command, with({"--no-such-option", url}, more)));
      expect_no_password_of(with(command, with({"--no-such-option=" + url}, more)));
      expect_no_password_of(with(command, with({url}, more)));
      for (std::size_t at = 1; at < command.size() && !command[at].starts_with("--"); ++at) {
        Arguments words = command;
        words[at] = url;
        expect_no_password_of(with(words, more));
      }
    }
  }
}

// As the value of each option of every command.
TEST(Redaction, AUrlAsAWrongOptionIsNotShownEither) {
  const SqliteFile& store = sample_store();  // torture refuses it, because it is in use
  for (const char* const url :
       {"postgresql://postgres:SECRET@127.0.0.1:1/postgres", "postgresql://postgres:SECRET/SECRET@127.0.0.1:1/postgres",
        "host=127.0.0.1 password = 'SECRET SECRET'"}) {
    for (const Arguments& command : all_commands()) {
      const Arguments options = options_of(command.front());
      const bool on_store = std::find(options.begin(), options.end(), "--schema") != options.end();
      for (const std::string& option : options) {
        const bool has_store = !on_store || option == "--store";
        const Arguments more = has_store ? Arguments{} : Arguments{"--store", store.argument()};
        expect_no_password_of(with(command, with({option, url}, more)), Ends::kAnyhow);
      }
    }
  }
}

// There the lines of a list of settings cannot be told from those of a quoted password.
TEST(Redaction, OverwritesArgumentsOfSeveralLines) {
  for (const std::string text : {"host=h password='SECRET\nSECRET'", "postgresql://h/d?password=SECRET\nSECRET",
                                 "postgresql://h/d?pass%77ord=SECRET\nSECRET", "postgresql://me:SECRET\nSECRET/d"}) {
    std::string argument = text;
    cli::hide_credentials(std::array<char*, 1>{argument.data()});
    EXPECT_THAT(argument, Not(HasSubstr("SECRET"))) << text;
  }
  std::string input = "{\n  \"a\": 1\n}";
  const std::string before = input;
  cli::hide_credentials(std::array<char*, 1>{input.data()});
  EXPECT_EQ(input, before);
}

// A program may take the text of its store from a setting, and open it as a file.
TEST(Redaction, OpeningAServerAsAFileShowsNoPassword) {
  for (const std::string& store : stores_with_a_password()) {
    for (const bool read_only : {false, true}) {
      SqliteOptions options;
      options.read_only = read_only;
      try {
        static_cast<void>(SqliteProvider::open(store, options));
        FAIL() << store << " was opened";
      } catch (const ProviderFailure& failure) {
        EXPECT_EQ(failure.error().kind(), ProviderErrorKind::kInvalidArgument) << failure.what();
        EXPECT_THAT(failure.what(), Not(HasSubstr("SECRET"))) << store;
        EXPECT_THAT(failure.what(), HasSubstr("PostgresProvider::connect")) << store;
      }
    }
  }
}

TEST(Redaction, UnusualPathsAreStillFiles) {
  const TemporaryFolder folder;
  for (const std::string name : {"a:b", "user@host", "password", "a=b", "postgresql:", "file:a@b"}) {
    EXPECT_TRUE(SqliteProvider::open(folder.file(name))) << name;
  }
}

TEST(Redaction, OverwritesTheArgumentsOfTheProcess) {
  for (const std::string& url : urls_with_a_password()) {
    std::string store = url;
    std::string other = "order-1";
    const std::array<char*, 2> arguments = {store.data(), other.data()};
    cli::hide_credentials(arguments);
    EXPECT_THAT(store, Not(HasSubstr("SECRET"))) << url;
    EXPECT_EQ(store.size(), url.size());
    EXPECT_EQ(other, "order-1");
  }
}

}  // namespace
}  // namespace perdure::test
