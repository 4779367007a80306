// validate: the suite for providers on stores of a kind.
#include <csignal>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/testing/filter_ignoring_provider.h>
#include "cli/exit_code.h"
#include "cli/input_run.h"
#include "cli/program_run.h"
#include "cli/validation_run.h"
#include "cli/validation_stores.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "testing/clock_factory.h"

namespace perdure::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ValidateCommand, RunsTheSuiteBesideTheStoreThatIsNamed) {
  const TemporaryFolder folder;
  const ProgramRun run =
      run_perdure({"validate", "--store", "sqlite:" + folder.file("mine.db"), "--only", "commit_id."});
  EXPECT_EQ(run.exit_code, cli::kSuccess) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr(" passed, 0 failed; "));
  EXPECT_THAT(run.out, Not(StartsWith("0 tests")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left, and the store was not opened";
  EXPECT_EQ(run_perdure({"validate", "--store", "sqlite::memory:", "--only", "commit_id."}).exit_code, cli::kSuccess);
}

// Somebody presses Ctrl-C during the first test.
class InterruptedStores final : public cli::ValidationStores {
 public:
  explicit InterruptedStores(std::unique_ptr<cli::ValidationStores> stores) : stores_(std::move(stores)) {}
  std::unique_ptr<testing::ProviderFactory> make_factory() override {
    ++factories_;
    std::raise(SIGINT);
    return stores_->make_factory();
  }
  [[nodiscard]] int factories() const noexcept { return factories_; }

 private:
  std::unique_ptr<cli::ValidationStores> stores_;
  int factories_ = 0;
};

TEST(ValidateCommand, EndsWhenItIsInterruptedAndLeavesNothing) {
  (void)std::signal(SIGINT, SIG_DFL);  // which a test in the background ignores, and so would the command
  const TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
  const cli::Context context{.out = out, .err = err};
  {
    const cli::StoreArgument store = cli::parse_store("sqlite:" + folder.file("mine.db"));
    const cli::Interrupt interrupt;
    InterruptedStores stores(make_validation_stores(store, context));
    EXPECT_THROW(static_cast<void>(run_validation(context, stores, "mine", "commit_id.", interrupt)),
                 std::runtime_error);
    EXPECT_EQ(stores.factories(), 1);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ValidateCommand, TheReportAsJson) {
  const TemporaryFolder folder;
  const std::string store = "sqlite:" + folder.file("mine.db");
  const nlohmann::json report = run_perdure({"validate", "--store", store, "--only", "node.", "--json"}).json();
  EXPECT_EQ(report.at("store"), store);
  EXPECT_EQ(report.at("failed"), 0);
  EXPECT_GT(report.at("passed"), 0);
  EXPECT_EQ(report.at("names").size(), report.at("passed"));
  EXPECT_THAT(report.at("names").at(0).get<std::string>(), StartsWith("node."));
  EXPECT_THAT(report.at("failures"), IsEmpty());
}

TEST(ValidateCommand, WhatCannotBeRunIsSaid) {
  const TemporaryFolder folder;
  const ProgramRun unknown =
      run_perdure({"validate", "--store", "sqlite:" + folder.file("mine.db"), "--only", "nothing"});
  EXPECT_EQ(unknown.exit_code, cli::kUsage);
  EXPECT_THAT(unknown.err, HasSubstr("no test begins with 'nothing'; use one of the groups "));
  EXPECT_EQ(run_perdure({"validate", "--store", "sqlite:" + folder.file("no/folder/mine.db")}).exit_code,
            cli::kStoreFailed);
  EXPECT_EQ(run_perdure({"validate", "--store", "postgres://nobody@localhost:1/none"}).exit_code, cli::kStoreFailed);
  EXPECT_EQ(run_perdure({"validate"}).exit_code, cli::kUsage) << "no store";
}

// Stores that break the contract.
class BrokenFactory final : public testing::ClockFactory {
 public:
  std::shared_ptr<Provider> create() override {
    return testing::ignore_capability_filters(SqliteProvider::open(":memory:", sqlite_options()));
  }
};
class BrokenStores final : public cli::ValidationStores {
 public:
  std::unique_ptr<testing::ProviderFactory> make_factory() override { return std::make_unique<BrokenFactory>(); }
};

TEST(ValidateCommand, AStoreThatBreaksTheContractFails) {
  for (const bool json : {false, true}) {
    std::ostringstream out;
    std::ostringstream err;
    cli::Context context{.out = out, .err = err, .json = json};
    BrokenStores stores;
    const cli::Interrupt interrupt;
    EXPECT_EQ(cli::run_validation(context, stores, "broken", "capability.", interrupt), cli::kNegative);
    if (json) {
      const auto report = nlohmann::json::parse(out.str());
      EXPECT_GT(report.at("failed"), 0);
      EXPECT_EQ(report.at("failures").size(), report.at("failed"));
      EXPECT_THAT(report.at("names"), Contains(report.at("failures").at(0).at("name")));
      EXPECT_NE(report.at("failures").at(0).at("message"), "");
    } else {
      EXPECT_THAT(out.str(), StartsWith("failed capability."));
    }
  }
}

TEST(ValidateCommand, PostgresInSchemasOfItsOwn) {
  const ProgramRun run = run_perdure({"validate", "--store", shared_postgres_url(), "--only", "wait.", "--json"});
  EXPECT_EQ(run.exit_code, cli::kSuccess) << run.out << run.err;
  EXPECT_GT(run.json().at("passed"), 0);
  PostgresSession session(shared_postgres_url());
  EXPECT_EQ(session.value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'perdure_validate_%'"), "0");
}

}  // namespace
}  // namespace perdure::test
