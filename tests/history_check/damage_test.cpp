// Histories that cannot be read, events that cannot be a history, and stores that do not answer.
#include <array>

#include "history_check/scene.h"
#include "model/event_codec.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Orchestration<int> gate(Ctx ctx) {
  co_return co_await ctx.schedule_wait<int>("go");
}

class Damage : public HistoryCheckScene {
 protected:
  Damage() {
    start("bad", "Gate");
    start("good", "Gate");
    run(code("Gate", gate));
  }
  // Behind what is there, as the next event.
  void append(const std::string& instance, EventBody body) {
    const auto history = cluster.client().read_execution_history(instance);
    Event event = history.back();
    ++event.id;
    ++event.turn;
    event.body = std::move(body);
    const std::array records{encode_event(event)};
    ASSERT_TRUE(cluster.store()->admin()->append_history(instance, 1, records).has_value());
  }
};
PERDURE_ON_EVERY_STORE(Damage);

TEST_P(Damage, AHistoryOfWhichNothingCanBeReadIsUndecodable) {
  cluster.damage_history("bad");
  const auto result = check(code("Gate", gate));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kUndecodable, "bad", 1)));
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.counts.executions, 2U);
  EXPECT_EQ(result.counts.events, 2U) << "those of the other";
  const HistoryFinding& finding = result.findings.front();
  EXPECT_EQ(finding.name, "Gate");
  EXPECT_EQ(finding.version, SemanticVersion::of("1.0.0"));
  EXPECT_TRUE(finding.live);
  EXPECT_FALSE(finding.report.empty());
  EXPECT_THAT(check_stored(code("Gate", gate)).findings, ElementsAre(IsFinding(Kind::kUndecodable, "bad", 1)));
}

TEST_P(Damage, AnEventOfANewerEngineIsUndecodable) {
  cluster.append_unknown_event("bad");
  const auto result = check(code("Gate", gate));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kUndecodable, "bad", 1)));
  EXPECT_THAT(result.findings.front().report, HasSubstr("event 3"));
}

TEST_P(Damage, AnEventThatContradictsTheOthersIsCorrupt) {
  append("bad", events::ActivityCompleted{.source = 2, .result = "1"});
  const auto result = check(code("Gate", gate));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kCorrupt, "bad", 1)));
  EXPECT_THAT(result.findings.front().report,
              AllOf(HasSubstr("event 3 (ActivityCompleted)"), HasSubstr("event 2 is no activity")));
}

// That its code is missing is the lesser trouble.
TEST_P(Damage, ACorruptHistoryIsSeenWithoutItsCode) {
  append("bad", events::TimerFired{.source = 7, .fire_at = {}});
  EXPECT_THAT(check(code("Other", gate)).findings,
              UnorderedElementsAre(IsFinding(Kind::kCorrupt, "bad", 1), IsFinding(Kind::kNotRegistered, "good", 1)));
}

TEST_P(Damage, AHistoryWithoutItsStartIsCorrupt) {
  store->watched.history = [](ExecutionId, WatchedAdmin::History answer) {
    answer->erase(answer->begin());
    return answer;
  };
  const auto result = check(code("Gate", gate));
  EXPECT_THAT(result.findings,
              UnorderedElementsAre(IsFinding(Kind::kCorrupt, "bad", 1), IsFinding(Kind::kCorrupt, "good", 1)));
  EXPECT_EQ(result.findings.front().name, "Gate");
}

// ---- the store -----------------------------------------------------------------------------------------------------

TEST_P(Damage, WhatTheStoreCannotSplitIntoEventsIsUndecodable) {
  store->watched.history = [](ExecutionId, const WatchedAdmin::History&) -> WatchedAdmin::History {
    return ProviderError(ProviderErrorKind::kCorruptData, "a page is torn");
  };
  const auto result = check(code("Gate", gate));
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_EQ(result.findings.front().kind, Kind::kUndecodable);
  EXPECT_EQ(result.findings.front().report, "a page is torn");
}

TEST_P(Damage, AStoreThatFailsIsAnErrorOfTheCall) {
  store->watched.history = [](ExecutionId, const WatchedAdmin::History&) -> WatchedAdmin::History {
    return ProviderError(ProviderErrorKind::kUnavailable, "no connection");
  };
  try {
    const auto result = check(code("Gate", gate));
    FAIL() << "it came back with " << result.findings.size() << " findings";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kStore);
    EXPECT_TRUE(error.retryable());
    EXPECT_THAT(error.what(), HasSubstr("no connection"));
  }
}

TEST_P(Damage, AStoreThatCannotBeAdministeredCannotBeChecked) {
  store->has_admin = false;
  try {
    const auto result = check(code("Gate", gate));
    FAIL() << "it came back with " << result.findings.size() << " findings";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kNotSupported);
    EXPECT_THAT(error.what(), HasSubstr(std::string(store->name())));
  }
}

TEST_P(Damage, ARegistryWithErrorsIsRefused) {
  Registry registry = code("Gate", gate);
  registry.add_orchestration("Gate", gate);
  EXPECT_THROW(static_cast<void>(check(registry)), std::invalid_argument);
}

}  // namespace
}  // namespace perdure::test
