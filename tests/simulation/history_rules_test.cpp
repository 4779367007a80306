#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/simulation/end_checks.h"

namespace perdure::testing::simulation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Timestamp kNow{Milliseconds(1'000'000)};

// Events in their order; each its own turn, a millisecond after the other.
std::vector<Event> history(std::vector<EventBody> bodies) {
  std::vector<Event> events;
  for (EventBody& body : bodies) {
    const EventId id = events.size() + 1;
    events.push_back(
        {.id = id, .turn = id, .time = kNow + Milliseconds(id), .engine_version = {0, 1, 0}, .body = std::move(body)});
  }
  return events;
}

events::OrchestrationStarted started() {
  events::OrchestrationStarted event;
  event.name = "Flow";
  return event;
}
events::ActivityScheduled scheduled() {
  events::ActivityScheduled event;
  event.name = "Work";
  return event;
}

TEST(HistoryRules, AreKeptByAnOrdinaryHistory) {
  EXPECT_THAT(broken_rules(
                  history({started(), scheduled(), events::TimerCreated{kNow}, scheduled(), events::TimerFired{3, kNow},
                           events::ActivityCompleted{2, {}}, events::OrchestrationCompleted{},
                           events::ActivityCancelRequested{4, CancelReason::kOrchestrationTerminal}})),
              IsEmpty());
}

TEST(HistoryRules, ARequestedEndWithdrawsWhatIsOpen) {
  const auto ended = [](ApplicationErrorKind kind) {
    return events::OrchestrationFailed{ApplicationError{kind, "", false}};
  };
  EXPECT_THAT(broken_rules(history({started(), scheduled(), ended(ApplicationErrorKind::kTerminated)})),
              ElementsAre(HasSubstr("nothing says that it was withdrawn")));
  EXPECT_THAT(broken_rules(history({started(), scheduled(), ended(ApplicationErrorKind::kCancelled),
                                    events::ActivityCancelRequested{2, CancelReason::kOrchestrationTerminal}})),
              IsEmpty());
  EXPECT_THAT(broken_rules(history({started(), scheduled(), ended(ApplicationErrorKind::kOrchestrationFailed)})),
              IsEmpty())
      << "it may be detached";
}

TEST(HistoryRules, AHistoryBeginsWithItsStart) {
  EXPECT_THAT(broken_rules(history({scheduled()})), ElementsAre(HasSubstr("begins with its start")));
  EXPECT_THAT(broken_rules(history({started(), started()})), ElementsAre(HasSubstr("event 2 (OrchestrationStarted)")));
}

TEST(HistoryRules, IdsTurnsAndTimesGoOn) {
  auto gap = history({started(), scheduled()});
  gap[1].id = 3;
  EXPECT_THAT(broken_rules(gap), ElementsAre(HasSubstr("its id should be 2")));
  auto back = history({started(), scheduled()});
  back[1].turn = 0;
  EXPECT_THAT(broken_rules(back), ElementsAre(HasSubstr("its turn lies behind")));
  auto earlier = history({started(), scheduled()});
  earlier[1].time = kNow - Milliseconds(1);
  EXPECT_THAT(broken_rules(earlier), ElementsAre(HasSubstr("its time lies behind")));
}

TEST(HistoryRules, ACompletionBelongsToAnOperationOfItsKind) {
  EXPECT_THAT(broken_rules(history({started(), events::ActivityCompleted{1, {}}})),
              ElementsAre(HasSubstr("event 1, which it completes, is no such operation")));
  EXPECT_THAT(broken_rules(history({started(), scheduled(), events::SubOrchestrationCompleted{2, {}}})),
              ElementsAre(HasSubstr("is no such operation")));
}

TEST(HistoryRules, AnOperationIsCompletedOnce) {
  EXPECT_THAT(broken_rules(history(
                  {started(), scheduled(), events::ActivityCompleted{2, {}}, events::ActivityCompleted{2, {}}})),
              ElementsAre(HasSubstr("event 2 is completed a second time")));
}

TEST(HistoryRules, ATimerDoesNotFireEarly) {
  EXPECT_THAT(broken_rules(history({started(), events::TimerCreated{kNow + Milliseconds(100)},
                                    events::TimerFired{2, kNow + Milliseconds(100)}})),
              ElementsAre(HasSubstr("the timer fired early")));
}

TEST(HistoryRules, NothingButBreadcrumbsComesBehindTheEnd) {
  EXPECT_THAT(broken_rules(history({started(), events::OrchestrationCompleted{}, scheduled()})),
              ElementsAre(HasSubstr("it comes behind the end")));
}

}  // namespace
}  // namespace perdure::testing::simulation
