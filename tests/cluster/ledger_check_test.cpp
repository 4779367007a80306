// The check of the ledger must be able to fail: here it sees ledgers that somebody has doctored.
#include "testing/cluster/ledger_check.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "testing/cluster/histories.h"

namespace perdure::testing::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const Step kStep{"order-1", 1, 2};
const Step kOther{"order-1::sub::3", 2, 4};

LedgerEntry began(const std::string& node, const Step& step = kStep, std::uint32_t attempt = 1) {
  return {.kind = LedgerKind::kRunBegan, .node = node, .step = step, .attempt = attempt, .what = {}};
}
LedgerEntry ended(const std::string& node, const Step& step = kStep, std::uint32_t attempt = 1) {
  return {.kind = LedgerKind::kRunEnded, .node = node, .step = step, .attempt = attempt, .what = {}};
}
LedgerEntry disturbed(const std::string& node, const char* what) {
  return {.kind = LedgerKind::kDisturbanceBegan, .node = node, .step = {}, .attempt = 0, .what = what};
}
LedgerEntry undisturbed(const std::string& node, const char* what) {
  return {.kind = LedgerKind::kDisturbanceEnded, .node = node, .step = {}, .attempt = 0, .what = what};
}

// Both steps were asked for and completed.
RecordedSteps both() {
  return {.scheduled = {kStep, kOther}, .completed = {kStep, kOther}};
}
RecordedSteps only_first() {
  return {.scheduled = {kStep}, .completed = {kStep}};
}

TEST(LedgerCheck, ALedgerWithoutRepetitionsIsRight) {
  const std::vector<LedgerEntry> ledger{began("a"), began("b", kOther), ended("a"), ended("b", kOther)};
  EXPECT_THAT(check_ledger(ledger, both()), IsEmpty());
  EXPECT_EQ(count_repetitions(ledger), 0U);
  EXPECT_THAT(ended_runs_by_node(ledger), ElementsAre(Pair("a", 1), Pair("b", 1)));
}

TEST(LedgerCheck, ACompletedStepThatNeverRanIsLost) {
  EXPECT_THAT(
      check_ledger({began("a"), ended("a")}, both()),
      ElementsAre(HasSubstr("'order-1::sub::3', execution 2, activity 4: it is completed in its history, but it "
                            "never ran")));
}

TEST(LedgerCheck, ACompletedStepOfWhichNoRunCameToItsEndIsLost) {
  EXPECT_THAT(check_ledger({began("a")}, only_first()), ElementsAre(HasSubstr("no run of it came to its end")));
}

TEST(LedgerCheck, AStepThatIsNotCompletedNeedNotHaveEnded) {
  EXPECT_THAT(check_ledger({began("a")}, {.scheduled = {kStep}, .completed = {}}), IsEmpty());
}

TEST(LedgerCheck, ARunThatNobodyAskedForIsWrong) {
  EXPECT_THAT(check_ledger({began("a"), ended("a"), began("a", kOther), ended("a", kOther)}, only_first()),
              ElementsAre(HasSubstr("it ran, but no history asks for it")));
}

TEST(LedgerCheck, AnEndWithoutABeginningIsWrong) {
  EXPECT_THAT(check_ledger({began("a"), ended("a"), ended("b")}, only_first()),
              ElementsAre(HasSubstr("a run ended that had not begun, line 3")));
  EXPECT_THAT(check_ledger({began("a"), ended("a"), ended("a")}, only_first()),
              ElementsAre(HasSubstr("a run ended that had not begun")));
  EXPECT_THAT(check_ledger({undisturbed("a", kStandstill)}, {}), ElementsAre(HasSubstr("ended that had not begun")));
}

TEST(LedgerCheck, ARepetitionNeedsAReason) {
  const std::vector<LedgerEntry> ledger{began("a"), ended("a"), began("b", kStep, 2), ended("b", kStep, 2)};
  EXPECT_THAT(check_ledger(ledger, only_first()),
              ElementsAre(HasSubstr("it ran twice without a reason: node a, attempt 1, line 1; then node b, attempt 2, "
                                    "line 3")));
  EXPECT_EQ(count_repetitions(ledger), 1U);
}

TEST(LedgerCheck, TheDeathOfTheFirstNodeBetweenThemIsAReason) {
  EXPECT_THAT(check_ledger({began("a"), disturbed("a", kDeath), undisturbed("a", kDeath), began("b", kStep, 2),
                            ended("b", kStep, 2)},
                           only_first()),
              IsEmpty());
  // The run began while the node was being killed.
  EXPECT_THAT(check_ledger({disturbed("a", kDeath), began("a"), undisturbed("a", kDeath), began("b", kStep, 2),
                            ended("b", kStep, 2)},
                           only_first()),
              IsEmpty());
}

TEST(LedgerCheck, TheDeathOfAnotherNodeIsNone) {
  EXPECT_THAT(check_ledger({began("a"), ended("a"), disturbed("c", kDeath), undisturbed("c", kDeath),
                            began("b", kStep, 2), ended("b", kStep, 2)},
                           only_first()),
              ElementsAre(HasSubstr("without a reason")));
  EXPECT_THAT(check_ledger({began("a"), ended("a"), disturbed("b", kDeath), began("b", kStep, 2),
                            undisturbed("b", kDeath), ended("b", kStep, 2)},
                           only_first()),
              ElementsAre(HasSubstr("without a reason")))
      << "the death of the second node is not why the first run was repeated";
}

TEST(LedgerCheck, ADeathBeforeOrBehindBothIsNone) {
  EXPECT_THAT(check_ledger({disturbed("a", kDeath), undisturbed("a", kDeath), began("a"), ended("a"),
                            began("b", kStep, 2), ended("b", kStep, 2)},
                           only_first()),
              ElementsAre(HasSubstr("without a reason")));
  EXPECT_THAT(check_ledger({began("a"), ended("a"), began("b", kStep, 2), ended("b", kStep, 2), disturbed("a", kDeath),
                            undisturbed("a", kDeath)},
                           only_first()),
              ElementsAre(HasSubstr("without a reason")));
}

TEST(LedgerCheck, OneDeathExcusesOneRepetition) {
  EXPECT_THAT(check_ledger({began("a"), disturbed("a", kDeath), undisturbed("a", kDeath), began("b", kStep, 2),
                            began("c", kStep, 3), ended("c", kStep, 3)},
                           only_first()),
              ElementsAre(HasSubstr("node b, attempt 2, line 4; then node c")));
}

TEST(LedgerCheck, ANodeThatStoodStillMayComeLate) {
  EXPECT_THAT(check_ledger({disturbed("a", kStandstill), began("b", kStep, 2), ended("b", kStep, 2),
                            undisturbed("a", kStandstill), began("a"), ended("a")},
                           only_first()),
              IsEmpty());
  EXPECT_THAT(check_ledger({disturbed("a", kStandstill), undisturbed("a", kStandstill), began("b", kStep, 2),
                            ended("b", kStep, 2), began("a"), ended("a")},
                           only_first()),
              ElementsAre(HasSubstr("without a reason")))
      << "it went on before the other one began";
}

TEST(LedgerCheck, ALostStoreConcernsEverybody) {
  EXPECT_THAT(check_ledger({began("a"), disturbed(kEveryNode, kLostStore), ended("a"),
                            undisturbed(kEveryNode, kLostStore), began("b", kStep, 2), ended("b", kStep, 2)},
                           only_first()),
              IsEmpty());
  EXPECT_THAT(check_ledger({disturbed(kEveryNode, kLostStore), undisturbed(kEveryNode, kLostStore), began("a"),
                            ended("a"), began("b", kStep, 2), ended("b", kStep, 2)},
                           only_first()),
              ElementsAre(HasSubstr("without a reason")));
}

TEST(LedgerCheck, ARunAfterTheNextStepHasBegunIsWrongWhoeverDied) {
  RecordedSteps recorded = both();
  recorded.next = {{kStep, kOther}};
  std::vector<LedgerEntry> ledger{
      began("a"),           ended("a"),           disturbed("a", kDeath), undisturbed("a", kDeath),
      began("b", kStep, 2), ended("b", kStep, 2), began("b", kOther),     ended("b", kOther)};
  EXPECT_THAT(check_late_runs(ledger, recorded), IsEmpty());
  ledger.insert(ledger.end(),
                {disturbed("b", kDeath), undisturbed("b", kDeath), began("c", kStep, 3), ended("c", kStep, 3)});
  EXPECT_THAT(check_ledger(ledger, recorded), IsEmpty()) << "deaths excuse it";
  EXPECT_THAT(
      check_late_runs(ledger, recorded),
      ElementsAre(HasSubstr("its outcome was recorded, for activity 4 of execution 2 had begun: node c, line 11")));
}

TEST(LedgerCheck, ARunAfterTheNextStepHasBegunIsRightForANodeThatStoodStillAtThatTime) {
  RecordedSteps recorded = both();
  recorded.next = {{kStep, kOther}};
  const auto ledger = [](const LedgerEntry& disturbance, const LedgerEntry& end) {
    return std::vector<LedgerEntry>{disturbance,        began("b"), ended("b"),           began("b", kOther),
                                    ended("b", kOther), end,        began("a", kStep, 2), ended("a", kStep, 2)};
  };
  for (const char* what : {kStandstill, kFullVolume, kClockStep}) {
    EXPECT_THAT(check_late_runs(ledger(disturbed("a", what), undisturbed("a", what)), recorded), IsEmpty()) << what;
    EXPECT_THAT(check_late_runs(ledger(disturbed("b", what), undisturbed("b", what)), recorded),
                ElementsAre(HasSubstr("node a, line 7")))
        << what;
  }
  EXPECT_THAT(check_late_runs(ledger(disturbed(kEveryNode, kLostStore), undisturbed(kEveryNode, kLostStore)), recorded),
              IsEmpty());
  EXPECT_THAT(check_late_runs(ledger(disturbed("a", kDeath), undisturbed("a", kDeath)), recorded),
              ElementsAre(HasSubstr("node a, line 7")));
  // It went on before the next step began.
  EXPECT_THAT(check_late_runs({disturbed("a", kStandstill), undisturbed("a", kStandstill), began("b"), ended("b"),
                               began("b", kOther), ended("b", kOther), began("a", kStep, 2)},
                              recorded),
              ElementsAre(HasSubstr("node a, line 7")));
}

// The steps of a history, and which one shows that another was done.
TEST(LedgerCheck, TheNextStepIsTheFirstThatWasScheduledAfterTheOutcome) {
  const auto event = [](EventId id, EventBody body) { return Event{id, 1, {}, {}, std::move(body)}; };
  const auto failed = ErrorDetails(ApplicationError{ApplicationErrorKind::kActivityFailed, "no", true});
  const std::vector<StoredExecution> executions{
      {.instance = "i",
       .execution = 1,
       .pinned_version = {},
       .events = {event(2, events::ActivityScheduled{}), event(3, events::ActivityScheduled{}),
                  event(4, events::ActivityFailed{3, failed}), event(5, events::ActivityCompleted{2, {}}),
                  event(6, events::ActivityScheduled{}), event(7, events::ActivityCompleted{6, {}})}},
      {.instance = "i", .execution = 2, .pinned_version = {}, .events = {event(2, events::ActivityScheduled{})}},
      {.instance = "other", .execution = 1, .pinned_version = {}, .events = {event(2, events::ActivityScheduled{})}}};
  const RecordedSteps steps = steps_of(executions);
  EXPECT_THAT(steps.completed, ElementsAre(Step{"i", 1, 2}, Step{"i", 1, 3}, Step{"i", 1, 6}));
  EXPECT_THAT(steps.next, ElementsAre(Pair(Step{"i", 1, 2}, Step{"i", 1, 6}), Pair(Step{"i", 1, 3}, Step{"i", 1, 6}),
                                      Pair(Step{"i", 1, 6}, Step{"i", 2, 2})));
}

// ---- the file ------------------------------------------------------------------------------------------------------

TEST(Ledger, WhatIsAppendedByAnybodyIsReadInOrder) {
  const test::TemporaryFolder folder;
  const Ledger one(folder.file("ledger"));
  const Ledger other(folder.file("ledger"));
  const std::vector<LedgerEntry> entries{began("a"), disturbed("a", kDeath), ended("b", kOther, 7),
                                         undisturbed("a", kDeath)};
  for (std::size_t i = 0; i < entries.size(); ++i) (i % 2 == 0 ? one : other).append(entries[i]);
  EXPECT_EQ(one.read(), entries);
  EXPECT_EQ(other.size(), entries.size());
  EXPECT_THAT(one.read(entries.size() - 1), ElementsAre(entries.back()));
  EXPECT_THAT(one.read(entries.size()), IsEmpty());
}

TEST(Ledger, ALineThatIsNoneIsRefused) {
  const std::string line = to_line(began("a"));
  EXPECT_EQ(parse_ledger_line(line), began("a"));
  EXPECT_EQ(line.size(), kLedgerLineBytes);
  EXPECT_THROW((void)to_line(began(std::string(kLedgerLineBytes, 'a'))), std::length_error);
  for (const std::string& wrong : {std::string(), std::string("B a order-1 1 2"), "X" + line.substr(1),
                                   line.substr(0, line.size() - 1) + " more", std::string("B a order-1 one 2 1 -")}) {
    EXPECT_THROW((void)parse_ledger_line(wrong), std::runtime_error) << wrong;
  }
}

}  // namespace
}  // namespace perdure::testing::cluster
