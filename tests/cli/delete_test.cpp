// delete and prune.
#include <functional>
#include <istream>
#include <sstream>
#include <streambuf>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/client.h>
#include "cli/exit_code.h"
#include "cli/input_run.h"
#include "cli/program_run.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// A terminal at which something happens between the question and the answer "y".
class SlowAnswer final : public std::streambuf {
 public:
  explicit SlowAnswer(std::function<void()> before_the_answer) : happens_(std::move(before_the_answer)) {}

 protected:
  int_type underflow() override {
    if (!happens_) return traits_type::eof();
    std::exchange(happens_, nullptr)();
    setg(answer_.data(), answer_.data(), answer_.data() + answer_.size());
    return traits_type::to_int_type(answer_.front());
  }

 private:
  std::function<void()> happens_;
  std::string answer_ = "y\n";
};

class FilledStore : public ::testing::Test {
 protected:
  FilledStore() { fill_with_samples(store_.provider()); }

  [[nodiscard]] ProgramRun run(std::vector<std::string> arguments) const { return store_.run(std::move(arguments)); }
  // Somebody sits at the terminal and answers.
  [[nodiscard]] ProgramRun run_answered(std::vector<std::string> arguments, const std::string& answer) const {
    arguments.insert(arguments.end(), {"--store", store_.argument()});
    return run_with_input(arguments, answer, true);
  }
  // `happens` after the program has listed the instances and before it is told to go on.
  [[nodiscard]] ProgramRun run_interrupted(std::vector<std::string> arguments, std::function<void()> happens) const {
    arguments.insert(arguments.end(), {"--store", store_.argument()});
    SlowAnswer answer(std::move(happens));
    std::istream in(&answer);
    std::ostringstream out;
    std::ostringstream err;
    cli::Context context{.out = out, .err = err};
    context.in = &in;
    context.asks = true;
    const int exit_code = cli::run_program(arguments, context);
    return {.exit_code = exit_code, .out = out.str(), .err = err.str()};
  }
  void replace(const std::string& instance, int input) const {
    const auto replacing = StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal);
    EXPECT_EQ(Client(store_.provider()).start_orchestration(instance, "Order", input, replacing),
              StartOutcome::kReplaced);
  }
  void replace_and_complete(const std::string& instance, int input) const {
    replace(instance, input);
    Runtime runtime(store_.provider(), sample_registry());
    const auto status = Client(store_.provider()).wait_for_orchestration(instance, std::chrono::minutes(1));
    EXPECT_TRUE(status.completed()) << status.error_text();
  }
  [[nodiscard]] OrchestrationState state(const std::string& instance) const {
    return Client(store_.provider()).get_orchestration_status(instance).state;
  }
  [[nodiscard]] std::vector<std::string> instances() const { return Client(store_.provider()).list_all_instances(); }
  [[nodiscard]] std::size_t executions(const std::string& instance) const {
    return Client(store_.provider()).list_executions(instance).size();
  }

 private:
  SqliteFile store_;
};

using DeleteCommand = FilledStore;
using PruneCommand = FilledStore;

TEST_F(DeleteCommand, NamedOnesGoWithTheirChildren) {
  const ProgramRun deleted = run({"delete", "family", "order-1"});
  EXPECT_EQ(deleted.exit_code, cli::kSuccess) << deleted.err;
  EXPECT_THAT(deleted.out, HasSubstr("deleted 5 instances with 5 executions, "));
  EXPECT_THAT(instances(), UnorderedElementsAre("order-2", "rounds", "waiting", "cancelled", "terminated"));
}

TEST_F(DeleteCommand, WhatCannotBeDeletedIsToldAndTheOthersGo) {
  const ProgramRun some = run({"delete", "nobody", "order-1", "waiting", "family-a"});
  EXPECT_EQ(some.exit_code, cli::kNotFound) << "of the first";
  EXPECT_THAT(some.out, HasSubstr("deleted 1 instance with 1 execution, "));
  EXPECT_THAT(some.err, AllOf(HasSubstr("there is no instance 'nobody'"), HasSubstr("'waiting' is still running"),
                              HasSubstr("'family-a' is a sub-orchestration of 'family'")));
  const ProgramRun json = run({"delete", "waiting", "order-2", "--json"});
  EXPECT_EQ(json.exit_code, cli::kConflict);
  EXPECT_EQ(json.json().at("instances"), 1);
  EXPECT_EQ(json.json().at("refused").at(0).at("instance"), "waiting");
  EXPECT_EQ(json.json().at("refused").at(0).at("exit_code"), cli::kConflict);
}

TEST_F(DeleteCommand, RunningAndPendingOnesOnlyByForce) {
  EXPECT_EQ(run({"delete", "waiting"}).exit_code, cli::kConflict);
  EXPECT_EQ(run({"delete", "foreign"}).exit_code, cli::kConflict) << "its start is queued";
  EXPECT_EQ(run({"delete", "--force", "waiting", "foreign"}).exit_code, cli::kSuccess);
  EXPECT_THAT(instances(), Not(::testing::Contains("waiting")));
}

TEST_F(DeleteCommand, ManyAreDeletedOnlyOnPurpose) {
  const ProgramRun refused = run({"delete", "--status", "completed"});
  EXPECT_EQ(refused.exit_code, cli::kUsage);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("this would delete 3 instances"), HasSubstr("pass --yes to confirm"),
                                 HasSubstr("--dry-run")));
  EXPECT_EQ(instances().size(), 10U);
  EXPECT_EQ(run({"delete"}).exit_code, cli::kUsage);
  EXPECT_EQ(run({"delete", "order-1", "--all"}).exit_code, cli::kUsage);
  EXPECT_THAT(run({"delete", "--all", "--force", "--yes"}).err, HasSubstr("filters never delete running instances"));
  EXPECT_THAT(run({"delete", "order-1", "order-2", "--limit", "1"}).err,
              HasSubstr("--limit cannot be combined with instance ids"));
  EXPECT_EQ(instances().size(), 10U);
}

TEST_F(DeleteCommand, ADryRunShowsThem) {
  const ProgramRun shown = run({"delete", "--status", "completed,failed", "--dry-run"});
  EXPECT_EQ(shown.exit_code, cli::kSuccess);
  EXPECT_EQ(shown.out, "order-1\norder-2\nrounds\nfamily\n") << "oldest first, and no children";
  EXPECT_THAT(shown.err, HasSubstr("would delete 4 instances, with all their children"));
  const nlohmann::json json = run({"delete", "--all", "--limit", "2", "--dry-run", "--json"}).json();
  EXPECT_EQ(json, (nlohmann::json{{"dry_run", true}, {"roots", {"order-1", "order-2"}}}));
  EXPECT_EQ(run({"delete", "order-1", "--dry-run"}).out, "order-1\n");
  EXPECT_EQ(run({"delete", "waiting", "--dry-run"}).exit_code, cli::kConflict);
  EXPECT_EQ(run({"delete", "family-a", "--dry-run"}).exit_code, cli::kConflict);
  EXPECT_EQ(run({"delete", "nobody", "--dry-run"}).exit_code, cli::kNotFound);
  EXPECT_EQ(instances().size(), 10U);
}

TEST_F(DeleteCommand, FiltersDeleteWhatHasEnded) {
  const ProgramRun deleted = run({"delete", "--all", "--yes", "--json"});
  EXPECT_EQ(deleted.exit_code, cli::kSuccess) << deleted.err;
  EXPECT_EQ(deleted.json().at("instances"), 9);
  EXPECT_EQ(deleted.json().at("dry_run"), false);
  EXPECT_THAT(instances(), UnorderedElementsAre("waiting"));
  EXPECT_THAT(run({"delete", "--all"}).out, HasSubstr("deleted 0 instances")) << "there is nothing to ask about";
}

TEST_F(DeleteCommand, WhoeverSitsThereIsAsked) {
  const ProgramRun no = run_answered({"delete", "--name", "Order"}, "n\n");
  EXPECT_EQ(no.exit_code, cli::kNegative);
  EXPECT_THAT(no.err, HasSubstr("This will delete 2 instances, with all their children. Continue? [y/N] "));
  EXPECT_THAT(no.err, HasSubstr("nothing was deleted"));
  EXPECT_EQ(run_answered({"delete", "--name", "Order"}, "").exit_code, cli::kNegative) << "no answer is a no";
  EXPECT_EQ(instances().size(), 10U);
  EXPECT_EQ(run_answered({"delete", "--name", "Order"}, "y\n").exit_code, cli::kSuccess);
  EXPECT_EQ(instances().size(), 8U);
}

// What was listed and confirmed is the instance that has ended, not the one that has its id by then.
TEST_F(DeleteCommand, AnInstanceThatWasStartedAgainDuringTheQuestionStays) {
  const ProgramRun deleted =
      run_interrupted({"delete", "--status", "completed,failed"}, [&] { replace("order-1", 12); });
  EXPECT_EQ(deleted.exit_code, cli::kSuccess) << deleted.err;
  EXPECT_THAT(deleted.err, HasSubstr("This will delete 4 instances, with all their children."));
  EXPECT_THAT(deleted.out, HasSubstr("deleted 6 instances with "));
  EXPECT_EQ(state("order-1"), OrchestrationState::kPending);
  EXPECT_EQ(state("order-2"), OrchestrationState::kNotFound);
}

TEST_F(DeleteCommand, AnInstanceThatWasStartedAgainAndHasCompletedDuringTheQuestionStays) {
  for (const std::vector<std::string>& selection : {std::vector<std::string>{"--status", "completed"}, {"--all"}}) {
    std::vector<std::string> arguments{"delete"};
    arguments.insert(arguments.end(), selection.begin(), selection.end());
    const ProgramRun deleted = run_interrupted(arguments, [&] { replace_and_complete("order-1", 12); });
    EXPECT_EQ(deleted.exit_code, cli::kSuccess) << deleted.err;
    EXPECT_EQ(state("order-1"), OrchestrationState::kCompleted) << selection.front();
  }
  EXPECT_THAT(instances(), UnorderedElementsAre("order-1", "waiting"));
}

TEST_F(PruneCommand, PastExecutionsGo) {
  EXPECT_EQ(executions("rounds"), 3U);
  const ProgramRun shown = run({"prune", "rounds", "--keep-last", "2", "--dry-run"});
  EXPECT_THAT(shown.out, HasSubstr("would prune 1 past execution with "));
  EXPECT_EQ(executions("rounds"), 3U);
  const ProgramRun pruned = run({"prune", "rounds", "--keep-last", "2"});
  EXPECT_EQ(pruned.exit_code, cli::kSuccess) << pruned.err;
  EXPECT_EQ(pruned.out, "pruned" + shown.out.substr(std::string("would prune").size()));
  EXPECT_EQ(executions("rounds"), 2U);
  const nlohmann::json rest = run({"prune", "rounds", "--json"}).json();
  EXPECT_EQ(rest.at("executions"), 1);
  EXPECT_EQ(rest.at("instances"), 1);
  EXPECT_THAT(rest.at("refused"), IsEmpty());
  EXPECT_EQ(executions("rounds"), 1U);
}

TEST_F(PruneCommand, OnlyOldOnes) {
  EXPECT_THAT(run({"prune", "rounds", "--completed-before", "1h"}).out, HasSubstr("pruned 0 past executions"));
  EXPECT_THAT(run({"prune", "rounds", "--completed-before", "0s"}).out, HasSubstr("pruned 2 past executions"));
  EXPECT_EQ(run({"prune", "rounds", "--completed-before", "soon"}).exit_code, cli::kUsage);
}

TEST_F(PruneCommand, ManyOnlyOnPurpose) {
  const ProgramRun refused = run({"prune", "--all"});
  EXPECT_EQ(refused.exit_code, cli::kUsage);
  EXPECT_THAT(refused.err, HasSubstr("this would remove 2 past executions of 1 instance permanently"));
  EXPECT_EQ(run_answered({"prune", "--all"}, "no\n").exit_code, cli::kNegative);
  EXPECT_EQ(executions("rounds"), 3U);
  EXPECT_EQ(run({"prune", "--all", "--yes"}).exit_code, cli::kSuccess);
  EXPECT_EQ(executions("rounds"), 1U);
  EXPECT_EQ(run({"prune"}).exit_code, cli::kUsage);
  EXPECT_EQ(run({"prune", "nobody"}).exit_code, cli::kNotFound);
}

}  // namespace
}  // namespace perdure::test
