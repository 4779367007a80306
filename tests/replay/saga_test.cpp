// Saga: what has been done is undone in reverse order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Orchestration<std::string> book_trip(OrchestrationContext ctx) {
  Saga saga(ctx);
  const int flight = co_await ctx.schedule_activity<int>("BookFlight");
  saga.undo_with("CancelFlight", flight);
  const int hotel = co_await ctx.schedule_activity<int>("BookHotel");
  saga.undo_with("CancelHotel", hotel, ActivityOptions().tag("eu"));
  auto car = co_await ctx.schedule_activity<int>("BookCar").as_result();
  if (car) {
    saga.commit();
    co_return "booked";
  }
  auto failures = co_await saga.compensate();
  std::string text = "undone";
  for (const auto& failure : failures) text += "; " + failure.to_string();
  co_return text + (saga.size() == 0 ? "" : " not empty");
}

TEST(Sagas, TheStepsAreUndoneLastFirst) {
  Harness harness(book_trip);
  harness.start();
  harness.turn({completed(2, "10")});
  harness.turn({completed(4, "20")});
  EXPECT_THAT(lines_of(harness.turn({failed(6, "no cars")}).events).back(),
              "8 ActivityScheduled 'CancelHotel' input=20 tag=eu");
  EXPECT_THAT(lines_of(harness.turn({completed(8, "ignored")}).events).back(),
              "10 ActivityScheduled 'CancelFlight' input=10");
  EXPECT_EQ(harness.turn({completed(10)}).output, "\"undone\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Sagas, AStepThatFailsDoesNotStopTheOthersAndIsReported) {
  Harness harness(book_trip);
  harness.start();
  harness.turn({completed(2, "10")});
  harness.turn({completed(4, "20")});
  harness.turn({failed(6, "no cars")});
  harness.turn({failed(8, "hotel is closed")});
  EXPECT_EQ(harness.turn({completed(10)}).output, "\"undone; activity 'CancelHotel' failed: hotel is closed\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Sagas, ACommittedOneUndoesNothing) {
  Harness harness(book_trip);
  harness.start();
  harness.turn({completed(2, "10")});
  harness.turn({completed(4, "20")});
  EXPECT_EQ(harness.turn({completed(6, "30")}).output, "\"booked\"");
}

TEST(Sagas, AnEmptyOneIsDoneAtOnce) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    Saga saga(ctx);
    const auto failures = co_await saga.compensate();
    co_return failures.size();
  });
  EXPECT_EQ(harness.start().output, "0");
}

Task<void> undo(OrchestrationContext ctx, std::string name, bool fail) {
  co_await ctx.schedule_activity<void>(name);
  if (fail) throw std::runtime_error("undoing " + name + " failed");
}

TEST(Sagas, AnyHelperMayUndoAndItsCallableMayCapture) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    Saga saga(ctx);
    const std::string captured = "Captured";
    saga.undo_with([captured](OrchestrationContext inner) { return undo(inner, captured, false); });
    saga.undo_with([](OrchestrationContext inner) { return undo(inner, "Failing", true); });
    const std::size_t size = saga.size();
    auto failures = co_await saga.compensate();
    co_return std::to_string(size) + failures.at(0).to_string();
  });
  EXPECT_THAT(lines_of(harness.start().events).back(), "2 ActivityScheduled 'Failing'");
  EXPECT_THAT(lines_of(harness.turn({completed(2)}).events).back(), "4 ActivityScheduled 'Captured'");
  EXPECT_EQ(harness.turn({completed(4)}).output, "\"2undoing Failing failed\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Sagas, RetriesOfAStepAreItsOwn) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    Saga saga(ctx);
    saga.undo_with("Undo", 1, ActivityOptions().retry(RetryPolicy(2).backoff(Backoff::none())));
    const auto failures = co_await saga.compensate();
    co_return failures.size();
  });
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({failed(2, "not now")}).events).back(), "4 ActivityScheduled 'Undo' input=1");
  EXPECT_EQ(harness.turn({completed(4)}).output, "0");
}

TEST(Sagas, OneThatIsNeverCompensatedSchedulesNothing) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    Saga saga(ctx);
    saga.undo_with("Undo", 1);
    co_return;
  });
  EXPECT_THAT(harness.start().activities, IsEmpty());
  EXPECT_EQ(harness.history.size(), 2u);
}

// The input is encoded when the step is added, so that what follows cannot change it.
TEST(Sagas, InputsAreThoseOfTheMomentTheStepWasAdded) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    Saga saga(ctx);
    std::string value = "then";
    saga.undo_with("Undo", value);
    value = "now";
    co_await saga.compensate();
  });
  EXPECT_THAT(harness.start().activities.size(), 1u);
  EXPECT_THAT(harness.lines(),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'Undo' input=\"then\""));
}

}  // namespace
}  // namespace perdure::test
