// What holds for every command: errors, exit codes, stores as they are written.
#include "cli/program.h"

#include <ostream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program_run.h"
#include "cli/store_argument.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Program, AnErrorAsJsonMayHoldAnyBytes) {
  const ProgramRun missing = run_perdure({"list", "--json", "--store", "sqlite:/nowhere\xff"});
  EXPECT_EQ(missing.exit_code, cli::kStoreFailed);
  EXPECT_THAT(nlohmann::json::parse(missing.err).at("error").get<std::string>(), HasSubstr("/nowhere"));
  EXPECT_EQ(sample_store().run({"list", "--json", "--status", "\xff"}).exit_code, cli::kUsage);
  EXPECT_EQ(sample_store().run({"status", "\xff", "--json"}).exit_code, cli::kUsage);
}

TEST(Program, AnUnknownCommandIsNamed) {
  const ProgramRun run = run_perdure({"strat"});
  EXPECT_EQ(run.exit_code, cli::kUsage);
  EXPECT_THAT(run.err, HasSubstr("there is no command 'strat'; 'perdure --help' lists them"));
  EXPECT_EQ(run_perdure({"--version"}).out, run_perdure({"version"}).out);
}

TEST(Program, NumbersAreNotNegative) {
  const auto refused = [](std::vector<std::string> arguments) {
    const ProgramRun run = sample_store().run(std::move(arguments));
    EXPECT_EQ(run.exit_code, cli::kUsage) << run.err;
    return run.err;
  };
  EXPECT_THAT(refused({"wait", "order-1", "--status-change", "-1"}),
              HasSubstr("'-1' is not a whole number of at least 0"));
  EXPECT_THAT(refused({"prune", "--all", "--keep-last", "-1"}), HasSubstr("'-1' is not a whole number"));
  EXPECT_THAT(refused({"history", "order-1", "--execution", "0"}),
              HasSubstr("'0' is not a whole number of at least 1"));
  EXPECT_THAT(refused({"delete", "--all", "--limit", "many"}), HasSubstr("'many' is not a whole number of at least 1"));
  EXPECT_THAT(run_perdure({"simulate", "--seeds", "18446744073709551615"}).err, HasSubstr("the largest is"));
}

// Takes nothing, like a disk that is full.
class FullBuffer final : public std::streambuf {};

TEST(Program, AnOutputThatCannotBeWrittenIsNoSuccess) {
  FullBuffer full;
  std::ostream out(&full);
  std::ostringstream err;
  cli::Context context{.out = out, .err = err};
  EXPECT_EQ(cli::run_program({"list", "--ids", "--store", sample_store().argument()}, context), cli::kNegative);
  EXPECT_THAT(err.str(), HasSubstr("standard output cannot be written"));
}

TEST(Program, APasswordIsNeverShown) {
  const auto shown = [](const char* url) { return describe(cli::parse_store(url)); };
  EXPECT_EQ(shown("postgres://ada:secret@host:5432/orders"), "postgres://ada@host:5432/orders");
  EXPECT_EQ(shown("postgres://ada:se?cr:et@host/orders"), "postgres://ada@host/orders");
  EXPECT_EQ(shown("postgres://host:5432/orders?password=secret"), "postgres://host:5432/orders");
  EXPECT_EQ(shown("postgresql://ada@host/orders"), "postgresql://ada@host/orders");
  EXPECT_THAT(run_perdure({"list", "--store", "mysql://ada:secret@host"}).err, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace perdure::test
