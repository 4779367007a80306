// Instances of several executions: what the code may read of earlier ones is known again when it is replayed.
#include "history_check/scene.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// What a round does depends on the value that the round before left. It waits for "next" at its end.
Orchestration<int> rounds(Ctx ctx, int last) {
  const int round = ctx.get_kv_value<int>("round").value_or(0) + 1;
  const char* const name = round % 2 == 0 ? "Even" : "Odd";
  co_await ctx.schedule_activity<int>(name, round);
  ctx.set_kv_value("round", round);
  co_await ctx.schedule_wait<int>("next");
  if (round == last) co_return round;
  co_return ctx.continue_as_new(last);
}

// The same without the values: an activity of the same name in each round.
Orchestration<int> plain_rounds(Ctx ctx, int left) {
  co_await ctx.schedule_activity<int>("Work", 1);
  co_await ctx.schedule_wait<int>("next");
  if (left == 1) co_return 0;
  co_return ctx.continue_as_new(left - 1);
}

Orchestration<int> other_code(Ctx ctx, int) {
  co_return co_await ctx.schedule_activity<int>("SomethingElse", 1);
}

class Executions : public HistoryCheckScene {
 protected:
  static Registry all() {
    return code("Rounds", rounds).merge(code("Plain", plain_rounds)).merge(echoes({"Even", "Odd", "Work"}));
  }
  // Starts it with `last` rounds and lets it go on so often.
  void play(const std::string& name, int last, int times) {
    start("r", name, last);
    run(all());
    for (int i = 0; i < times; ++i) next();
  }
  void next() {
    cluster.client().raise_event("r", "next", 0);
    run(all());
  }
  void prune(std::size_t keep_last) {
    cluster.client().prune_executions("r", {.keep_last = keep_last, .completed_before = {}});
  }
};
PERDURE_ON_EVERY_STORE(Executions);

// ---- the current execution -----------------------------------------------------------------------------------------

TEST_P(Executions, TheCurrentOneIsReplayedWithTheValuesThatItBeganWith) {
  play("Rounds", 9, 2);
  ASSERT_EQ(info("r").execution_id, 3U);
  const auto result = check(all());
  EXPECT_TRUE(result.ok()) << result.findings.front().to_string();
  EXPECT_EQ(result.counts.executions, 1U);
  EXPECT_THAT(store->watched.calls, ElementsAre("list 100", "values r", "history r 3", "info r"));
}

TEST_P(Executions, TheFirstOneBeginsWithoutValues) {
  play("Rounds", 9, 0);
  EXPECT_TRUE(check(all()).ok());
  EXPECT_THAT(store->watched.calls, ElementsAre("list 100", "history r 1"));
}

TEST_P(Executions, ChangedCodeIsFoundInTheCurrentOne) {
  play("Rounds", 9, 2);
  const auto result = check(code("Rounds", [](Ctx ctx, int) -> Orchestration<int> {
    const int round = ctx.get_kv_value<int>("round").value_or(0) + 1;
    const char* const name = round > 2 ? "Late" : "Early";
    co_return co_await ctx.schedule_activity<int>(name, round);
  }));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kDiverges, "r", 3)));
  EXPECT_THAT(result.findings.front().report, HasSubstr("+ ActivityScheduled 'Late' input=3"));
  EXPECT_TRUE(result.findings.front().live);
}

TEST_P(Executions, PruningDoesNotHarmTheCurrentOne) {
  play("Rounds", 9, 3);
  prune(1);
  EXPECT_TRUE(check(all()).ok());
  EXPECT_TRUE(check_stored(all()).ok());
}

// ---- all of them ---------------------------------------------------------------------------------------------------

TEST_P(Executions, EveryStoredOneIsReplayedWithTheValuesThatItBeganWith) {
  play("Rounds", 9, 3);
  const auto result = check_stored(all());
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.instances, 1U);
  EXPECT_EQ(result.counts.executions, 4U);
  EXPECT_EQ(result.counts.events, 3 * 7U + 5U);
}

// Of an instance that has ended the store knows only what is left at its end.
TEST_P(Executions, TheValuesOfAnEndedInstanceAreFoundInItsHistories) {
  play("Rounds", 4, 4);
  ASSERT_EQ(info("r").status, ExecutionStatus::kCompleted);
  const auto result = check_stored(all());
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.executions, 4U);
  EXPECT_THAT(store->watched.calls, Not(Contains("values r")));
}

TEST_P(Executions, ChangedCodeIsFoundInEachAndOnlyTheCurrentOneIsLive) {
  play("Plain", 9, 2);
  const auto result = check_stored(code("Plain", other_code));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kDiverges, "r", 1), IsFinding(Kind::kDiverges, "r", 2),
                                           IsFinding(Kind::kDiverges, "r", 3)));
  EXPECT_FALSE(result.findings[0].live);
  EXPECT_FALSE(result.findings[1].live);
  EXPECT_TRUE(result.findings[2].live);
}

// Code of another version may have left the values.
TEST_P(Executions, ValuesComeFromHistoriesWhoseCodeIsGone) {
  Registry old;
  old.add_orchestration("Handover", "1.0.0", [](Ctx ctx) -> Orchestration<int> {
    ctx.set_kv_value("name", std::string("Ada"));
    co_return ctx.continue_as_new(StartOptions().version("2.0.0"));
  });
  Registry fresh;
  fresh.add_orchestration("Handover", "2.0.0", [](Ctx ctx) -> Orchestration<int> {
    const auto name = ctx.get_kv_value<std::string>("name").value_or("nobody");
    co_await ctx.schedule_wait<int>("go " + name);
    co_return 0;
  });
  cluster.client().start_orchestration("h", "Handover", StartInstanceOptions().version("1.0.0"));
  run(Registry(old).merge(fresh));
  cluster.client().raise_event("h", "go Ada", 0);
  run(fresh);
  ASSERT_EQ(info("h").status, ExecutionStatus::kCompleted);
  EXPECT_THAT(check_stored(fresh).findings, ElementsAre(IsFinding(Kind::kNotRegistered, "h", 1)));
}

// Clearing one key, clearing by age, clearing all.
TEST_P(Executions, ClearedValuesAreGone) {
  const Timestamp middle = cluster.now() + 30min;
  const auto clears = [middle](Ctx ctx, int round) -> Orchestration<int> {
    std::string seen = "seen";
    for (const auto& key : ctx.get_kv_all_keys()) seen += " " + key;
    ctx.set_custom_status("round " + std::to_string(round));
    ctx.schedule_activity<int>(seen, ActivityOptions().tag("nowhere")).detach();
    if (round == 1) {
      for (const char* key : {"a", "b", "c"}) ctx.set_kv_value(key, round);
    } else if (round == 2) {
      ctx.set_kv_value("b", round);
      ctx.clear_kv_value("c");
    } else if (round == 3) {
      ctx.prune_kv_values_updated_before(middle);
    } else if (round == 4) {
      ctx.clear_all_kv_values();
    }
    co_await ctx.schedule_wait<int>("next");
    if (round == 5) co_return round;
    co_return ctx.continue_as_new(round + 1);
  };
  auto& node = cluster.start_node(code("Clears", clears));
  start("c", "Clears", 1);
  for (int round = 1; round <= 5; ++round) {
    cluster.advance(1h);
    cluster.client().raise_event("c", "next", 0);
  }
  cluster.settle();
  cluster.stop_node(node);
  ASSERT_EQ(info("c").status, ExecutionStatus::kCompleted);
  const auto result = check_stored(code("Clears", clears));
  EXPECT_TRUE(result.ok()) << result.findings.front().to_string();
  EXPECT_EQ(result.counts.executions, 5U);
}

// ---- what is not known any more ------------------------------------------------------------------------------------

TEST_P(Executions, BehindAPrunedOneADivergenceMayComeFromValuesThatAreLost) {
  play("Rounds", 4, 4);
  prune(2);
  const auto result = check_stored(all());
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kCannotTell, "r", 3)));
  EXPECT_THAT(result.findings.front().report,
              StartsWith("the key-values at the start of execution 3 are unknown, because execution 2 is no longer "
                         "stored; with the known ones:\nthe code made another decision"));
  EXPECT_EQ(result.counts.executions, 2U);
}

TEST_P(Executions, BehindAPrunedOneCodeThatReadsNoValuesFits) {
  play("Plain", 4, 4);
  prune(2);
  EXPECT_TRUE(check_stored(code("Plain", plain_rounds)).ok());
}

// What was lost does not matter any more once everything was cleared.
TEST_P(Executions, AfterAllValuesWereClearedTheyAreKnownAgain) {
  const auto clearing = [](Ctx ctx, int round) -> Orchestration<int> {
    if (round == 2) ctx.clear_all_kv_values();
    ctx.set_kv_value("round", round);
    co_await ctx.schedule_wait<int>("next");
    if (round == 3) co_return 0;
    co_return ctx.continue_as_new(round + 1);
  };
  const Registry registry = code("Clearing", clearing);
  start("c", "Clearing", 1);
  run(registry);
  for (int round = 1; round <= 3; ++round) {
    cluster.client().raise_event("c", "next", 0);
    run(registry);
  }
  cluster.client().prune_executions("c", {.keep_last = 2, .completed_before = {}});
  EXPECT_TRUE(check_stored(registry).ok());
  EXPECT_THAT(check_stored(code("Clearing", other_code)).findings,
              ElementsAre(IsFinding(Kind::kCannotTell, "c", 2), IsFinding(Kind::kDiverges, "c", 3)));
}

TEST_P(Executions, BehindADamagedOneADivergenceMayComeFromValuesThatAreLost) {
  play("Rounds", 4, 4);
  store->watched.history = [](ExecutionId execution, WatchedAdmin::History answer) {
    if (execution == 2) answer->back().body = "damaged";
    return answer;
  };
  const auto result = check_stored(all());
  ASSERT_THAT(result.findings,
              ElementsAre(IsFinding(Kind::kUndecodable, "r", 2), IsFinding(Kind::kCannotTell, "r", 3)));
  EXPECT_THAT(result.findings[1].report, HasSubstr("because execution 2 is corrupt"));
}

// ---- between two executions ----------------------------------------------------------------------------------------

class Continuation : public HistoryCheckScene {
 protected:
  Continuation() {
    old.add_orchestration("Eternal", "1.0.0", [](Ctx ctx) -> Orchestration<int> {
      co_return ctx.continue_as_new(StartOptions().version("2.0.0"));
    });
    fresh.add_orchestration("Eternal", "2.0.0",
                            [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("never"); });
    cluster.client().start_orchestration("e", "Eternal", StartInstanceOptions().version("1.0.0"));
    run(old);
    EXPECT_EQ(info("e").status, ExecutionStatus::kContinuedAsNew);
  }
  Registry old;
  Registry fresh;
};
PERDURE_ON_EVERY_STORE(Continuation);

TEST_P(Continuation, TheCodeOfTheNextExecutionMustBeThere) {
  const auto result = check(old);
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kNotRegistered, "e", 2)));
  EXPECT_EQ(result.findings.front().name, "Eternal");
  EXPECT_EQ(result.findings.front().version, SemanticVersion::of("2.0.0"));
  EXPECT_TRUE(result.findings.front().live);
  EXPECT_THAT(check_stored(old).findings, ElementsAre(IsFinding(Kind::kNotRegistered, "e", 2)));
}

TEST_P(Continuation, TheCodeOfTheEndedExecutionMayBeGone) {
  const auto result = check(fresh);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts, (HistoryCheckProgress{.instances = 1, .executions = 0, .events = 0, .findings = 0}));
  EXPECT_THAT(check_stored(fresh).findings, ElementsAre(IsFinding(Kind::kNotRegistered, "e", 1)));
}

TEST_P(Continuation, AnEndedHistoryThatCannotBeReadLeavesTheNameToBeChecked) {
  cluster.damage_history("e");
  EXPECT_TRUE(check(fresh).ok());
  EXPECT_THAT(check(code("Other", other_code)).findings, ElementsAre(IsFinding(Kind::kNotRegistered, "e", 2)));
}

}  // namespace
}  // namespace perdure::test
