// What a failed attempt's last heartbeat left goes to the next attempt of its RetryPolicy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

auto one_retried(std::uint32_t attempts, Backoff backoff = Backoff::none()) {
  return [attempts, backoff](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(RetryPolicy(attempts).backoff(backoff));
    co_return co_await ctx.schedule_activity<int>("A", options);
  };
}

MessageBody failed_leaving(EventId id, Payload progress) {
  return messages::ActivityFailed{id, ApplicationError{ApplicationErrorKind::kActivityFailed, "no luck", true},
                                  std::move(progress)};
}
// What the one activity that a turn schedules is given, in the message and in the history alike.
Payload given_progress(const TurnOutcome& turn) {
  EXPECT_EQ(turn.activities.size(), 1U);
  if (turn.activities.empty()) return std::nullopt;
  const auto& activity = std::get<messages::ExecuteActivity>(turn.activities[0].body);
  for (const Event& event : turn.events) {
    if (const auto* scheduled = std::get_if<events::ActivityScheduled>(&event.body)) {
      EXPECT_EQ(scheduled->progress, activity.progress);
    }
  }
  return activity.progress;
}

TEST(RetryProgress, WhatAnAttemptLeftGoesToTheNext) {
  for (const Backoff backoff : {Backoff::none(), Backoff::fixed(Milliseconds(10))}) {
    Harness harness(one_retried(4, backoff));
    EXPECT_EQ(given_progress(harness.start()), std::nullopt);
    EventId last = 2;
    const auto fail = [&](Payload progress) {
      auto turn = harness.turn({failed_leaving(last, std::move(progress))});
      if (turn.activities.empty()) turn = harness.turn({fired(turn.events.back().id)});
      last = turn.events.back().id;
      return turn;
    };
    EXPECT_EQ(given_progress(fail("\"half\"")), "\"half\"");
    harness.evict();
    EXPECT_EQ(given_progress(fail("\"most\"")), "\"most\"");
    EXPECT_EQ(given_progress(fail(std::nullopt)), "\"most\"") << "nobody started it: it had nothing to leave";
    EXPECT_EQ(harness.turn({completed(last, "5")}).output, "5");
    EXPECT_EQ(harness.replay_failure(), std::nullopt);
  }
}

TEST(RetryProgress, WhatAnAttemptLeftIsNoPartOfItsError) {
  Harness harness(one_retried(1));
  harness.start();
  const auto last = harness.turn({failed_leaving(2, "\"half\"")});
  EXPECT_EQ(describe(*last.error), "activity 'A' failed: no luck");
}

// A history may hold other progress than the code of today would pass on.
TEST(RetryProgress, ProgressIsNoPartOfTheContract) {
  Harness harness(one_retried(3));
  harness.start();
  harness.turn({failed_leaving(2, "\"half\"")});
  auto& recorded = std::get<events::ActivityScheduled>(harness.history.at(3).body);
  ASSERT_EQ(recorded.progress, "\"half\"");
  recorded.progress = "\"something else\"";
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  recorded.progress.reset();
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(RetryProgress, WithoutARetryProgressIsRecordedAndGoesNowhere) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const auto first = co_await ctx.schedule_activity<int>("A").as_result();
    if (first) co_return 0;
    co_return co_await ctx.schedule_activity<int>("A");
  });
  harness.start();
  const auto second = harness.turn({failed_leaving(2, "\"half\"")});
  EXPECT_EQ(std::get<events::ActivityFailed>(second.events.at(0).body).progress, "\"half\"");
  EXPECT_EQ(given_progress(second), std::nullopt) << "it is another activity";
  EXPECT_EQ(harness.turn({completed(4, "5")}).output, "5");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
