// Passwords in arguments of the program: in no error, no JSON and no list of processes.
#include "cli/redaction.h"

#include <array>
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

void expect_no_password(const ProgramRun& run, const std::string& what) {
  EXPECT_NE(run.exit_code, cli::kSuccess) << what;
  EXPECT_THAT(run.out, Not(HasSubstr("SECRET"))) << what;
  EXPECT_THAT(run.err, Not(HasSubstr("SECRET"))) << what;
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
      {"host=h PASSWORD = 'p w' dbname=d\nnext line", "host=h PASSWORD =...\nnext line"},
      {"check user and password in the URL", "check user and password in the URL"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(cli::redacted(text), shown);
  for (const std::string& url : urls_with_a_password())
    EXPECT_THAT(cli::redacted(url), Not(HasSubstr("SECRET"))) << url;
}

TEST(Redaction, NoCommandShowsAPasswordOfItsStore) {
  const std::vector<std::vector<std::string>> commands{{"list"},
                                                       {"status", "a"},
                                                       {"wait", "a"},
                                                       {"show", "a"},
                                                       {"history", "a"},
                                                       {"tree", "a"},
                                                       {"kv", "a"},
                                                       {"queues"},
                                                       {"stuck"},
                                                       {"metrics"},
                                                       {"nodes"},
                                                       {"start", "a", "A"},
                                                       {"raise", "a", "e"},
                                                       {"enqueue", "a", "q"},
                                                       {"cancel", "a"},
                                                       {"terminate", "a"},
                                                       {"delete", "a", "--yes"},
                                                       {"prune", "--all", "--yes"},
                                                       {"export", "a"},
                                                       {"validate"},
                                                       {"torture", "--kills", "1"}};
  for (const std::string& store : stores_with_a_password()) {
    for (const std::vector<std::string>& command : commands) {
      for (const bool json : {false, true}) {
        std::vector<std::string> arguments = command;
        arguments.insert(arguments.end(), {"--store", store});
        if (json) arguments.emplace_back("--json");
        expect_no_password(run_perdure(arguments), command.front() + (json ? " --json" : "") + " of " + store);
      }
    }
  }
}

TEST(Redaction, AUrlAtAWrongPositionIsNotShownEither) {
  for (const std::string& url : urls_with_a_password()) {
    const std::vector<std::vector<std::string>> commands{{url},
                                                         {"list", url},
                                                         {"list", "--stor", url},
                                                         {"list", "--limit", url},
                                                         {"status", url},
                                                         {"simulate", "--seeds", url},
                                                         {"list", "--json", url},
                                                         {"list", "--json", "--limit", url}};
    for (const std::vector<std::string>& command : commands) {
      expect_no_password(run_perdure(command), command.front() + " with " + url);
    }
  }
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
