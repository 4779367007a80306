// `perdure torture` on PostgreSQL, with the program as its users run it. cmake/torture_tests.cmake has it on SQLite.
#ifdef PERDURE_PROGRAM
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include <perdure/client.h>
#include "cluster/cluster_store.h"
#include "cluster/store_address.h"
#include "support/child_process.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TortureOnPostgres : public ::testing::Test {
 protected:
  // Answers what it prints; its exit status is in `status`.
  std::string run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {PERDURE_PROGRAM, "torture"});
    // The URL is not on the command line, as that of users with a password is not.
    ChildProcess program(std::move(arguments), folder.file("errors"),
                         {"PERDURE_STORE=" + shared_postgres_url(), "TMPDIR=" + folder.path().string()});
    std::string printed;
    for (std::string line = program.answer(); !line.empty(); line = program.answer()) printed += line + "\n";
    status = program.end();
    return printed;
  }
  [[nodiscard]] std::string errors() const {
    std::ifstream file(folder.file("errors"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder folder;
  int status = -1;
};

TEST_F(TortureOnPostgres, IsCleanAndLeavesNoSchemaBehind) {
  const std::string printed = run({"--kills", "3", "--in-flight", "16", "--json"});
  ASSERT_TRUE(WIFEXITED(status)) << errors();
  const nlohmann::json report = nlohmann::json::parse(printed);
  EXPECT_EQ(WEXITSTATUS(status), 0) << printed << errors();
  EXPECT_EQ(report["kills"], 3);
  EXPECT_EQ(report["clean"], true);
  EXPECT_THAT(report["problems"], IsEmpty());
  EXPECT_EQ(report["workflows"], report["workflows_done"]);
  EXPECT_THAT(report["store"].get<std::string>(), HasSubstr("schema torture_"));
  const std::string schema = report["store"].get<std::string>();
  const std::string name = schema.substr(schema.find("torture_"));
  PostgresSession session(shared_postgres_url());
  EXPECT_EQ(session.value("SELECT count(*) FROM pg_namespace WHERE nspname = '" + name + "'"), "0");
}

TEST_F(TortureOnPostgres, RefusesASchemaThatIsInUse) {
  const auto used = make_cluster_store("Postgres");
  Client(open_store(used->address())).start_orchestration("somebody's", "Order");
  EXPECT_THAT(run({"--kills", "1", "--schema", used->address().schema}), IsEmpty());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(errors(), HasSubstr("omit --schema"));
}

}  // namespace
}  // namespace perdure::test
#endif
