// `perdure bench` on PostgreSQL. One test, since it looks for what others like it leave on the server.
#include <gmock/gmock.h>

#include "bench/program.h"
#include "cli/exit_code.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

std::string schemas_of_benches() {
  return PostgresSession(shared_postgres_url())
      .value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'perdure\\_bench%'");
}

TEST(BenchOnPostgres, RunsInASchemaOfItsOwnThatIsGoneAfterwards) {
  const Outcome outcome =
      run_bench({"seq", "--store", shared_postgres_url(), "--sync", "normal", "--seconds", "0.2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json report = outcome.json();
  EXPECT_EQ(report.at("sync"), "normal");
  EXPECT_GT(report.at("steps"), 0);
  EXPECT_GE(report.at("commits_per_step"), 1.2);  // others may write on this server as well
  EXPECT_GE(report.at("round_trips_per_step"), 1.0);
  EXPECT_GT(report.at("floor_commit_p50_us"), 0);
  EXPECT_GT(report.at("ceiling_steps_per_s"), 0);
  EXPECT_EQ(schemas_of_benches(), "0");

  // A URL whose options say otherwise is refused, when the schema is there already.
  const std::string url = shared_postgres_url();
  const std::string options =
      (url.find('?') == std::string::npos ? "?" : "&") + std::string("options=-csynchronous_commit%3Doff");
  const Outcome refused = run_bench({"noop", "--store", url + options, "--seconds", "0.1"});
  EXPECT_EQ(refused.exit_code, cli::kUsage);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("synchronous_commit to off; change them, or --sync"));
  EXPECT_EQ(schemas_of_benches(), "0");
}

}  // namespace
}  // namespace perdure::test
