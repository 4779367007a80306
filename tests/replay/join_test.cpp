// join: values and failures, wide ones, joins and selects in each other, and completions that share a batch.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Task<int> call(OrchestrationContext ctx, std::string name) {
  co_return co_await ctx.schedule_activity<int>(name);
}

// ---- join ---------------------------------------------------------------------------------------------------------

TEST(Join, ValuesComeInTheOrderOfThePartsWhateverTheOrderOfEvents) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto named = ctx.schedule_activity<std::string>("B");
    auto all =
        co_await join{ctx.schedule_activity<int>("A"), named, ctx.schedule_timer(Milliseconds(1)), call(ctx, "C")};
    static_assert(std::is_same_v<decltype(all), std::tuple<int, std::string, std::monostate, int>>);
    co_return std::to_string(std::get<0>(all)) + std::get<1>(all) + std::to_string(std::get<3>(all));
  });
  harness.start();
  harness.turn({completed(5, "3"), fired(4)});
  harness.turn({completed(3, "1")});
  EXPECT_EQ(harness.turn({completed(2, "\"two\"")}).output, "\"1two3\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Join, ItThrowsTheFirstFailureByPositionOnceAllAreDone) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await join{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B"), ctx.schedule_activity<int>("C")};
  });
  harness.start();
  EXPECT_EQ(harness.turn({failed(4, "c")}).status, ExecutionStatus::kRunning);
  EXPECT_EQ(harness.turn({failed(3, "b")}).status, ExecutionStatus::kRunning);
  const auto last = harness.turn({completed(2, "1")});
  EXPECT_EQ(describe(*last.error), "activity 'B' failed: b");
  EXPECT_THAT(last.cancelled_activities, ElementsAre());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Join, AsResultGivesEachOutcome) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto all =
        co_await join{ctx.schedule_activity<int>("A"), ctx.schedule_activity<void>("B"), call(ctx, "C")}.as_result();
    std::string seen = std::get<0>(all) ? "value " : std::get<0>(all).error().message() + " ";
    seen += std::get<1>(all) ? "fine " : "failed ";
    seen += std::to_string(*std::get<2>(all));
    co_return seen;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(3), failed(2, "no"), completed(4, "9")}).output, "\"no fine 9\"");
}

TEST(Join, PartsMayHaveAsResult) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto all = co_await join{ctx.schedule_activity<int>("A").as_result(), ctx.schedule_activity<int>("B")};
    co_return std::get<0>(all).error().message() + std::to_string(std::get<1>(all));
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(3, "4"), failed(2, "no")}).output, "\"no4\"");
}

TEST(Join, PartsThatAreDoneAlreadyCount) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto a = ctx.schedule_activity<int>("A");
    auto b = ctx.schedule_activity<int>("B");
    co_await a;
    auto first = co_await join{a, b};
    auto again = co_await join{b, a};
    co_return std::get<1>(first) * 10 + std::get<1>(again);
  });
  harness.start();
  harness.turn({completed(2, "1")});
  EXPECT_EQ(harness.turn({completed(3, "2")}).output, "21");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Join, DroppingOneDropsWhatItOwnsAndNothingElse) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto kept = ctx.schedule_activity<int>("Kept");
    co_await select{join{kept, ctx.schedule_activity<int>("Owned")}, ctx.schedule_timer(Milliseconds(1))};
    co_return co_await kept;
  });
  harness.start();
  EXPECT_THAT(harness.turn({fired(4)}).cancelled_activities, ElementsAre(3));
  EXPECT_EQ(harness.turn({completed(2, "6")}).output, "6");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Join, EveryFormOfItMayLoseASelect) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    std::vector<Future<int>> many;
    many.push_back(ctx.schedule_activity<int>("A"));
    std::vector<Future<int>> results;
    results.push_back(ctx.schedule_activity<int>("B"));
    auto first = co_await select{ctx.join(std::move(many)), ctx.join(std::move(results)).as_result(),
                                 join{ctx.schedule_activity<int>("C")}.as_result(), join{call(ctx, "D")},
                                 ctx.schedule_timer(Milliseconds(1))};
    co_return static_cast<int>(first.index());
  });
  harness.start();
  const auto last = harness.turn({fired(5)});
  EXPECT_EQ(last.output, "4");
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2, 3, 4, 6));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- nested -------------------------------------------------------------------------------------------------------

Orchestration<std::string> nested(OrchestrationContext ctx) {
  auto first = co_await select{join{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B")},
                               ctx.schedule_timer(Milliseconds(5))};
  if (first.index() == 1) co_return "timeout";
  const auto& both = std::get<0>(first);
  co_return std::to_string(std::get<0>(both)) + std::to_string(std::get<1>(both));
}

TEST(Nested, AJoinWinsASelect) {
  Harness harness(nested);
  harness.start();
  harness.turn({completed(3, "2")});
  EXPECT_EQ(harness.turn({completed(2, "1"), fired(4)}).output, "\"12\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Nested, AJoinThatLosesASelectIsDroppedWhole) {
  Harness harness(nested);
  harness.start();
  harness.turn({completed(3, "2")});
  const auto last = harness.turn({fired(4), completed(2, "1")});
  EXPECT_EQ(last.output, "\"timeout\"");
  EXPECT_THAT(last.cancelled_activities, ElementsAre());  // its completion is in the batch
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Nested, SelectsInAJoin) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto all = co_await join{select{ctx.schedule_activity<int>("A"), ctx.schedule_timer(Milliseconds(5))},
                             select{ctx.schedule_activity<int>("B"), ctx.schedule_timer(Milliseconds(5))}};
    co_return std::to_string(std::get<0>(all).index()) + std::to_string(std::get<1>(all).index());
  });
  harness.start();
  harness.turn({fired(5)});
  EXPECT_EQ(harness.turn({completed(2, "1")}).output, "\"01\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Nested, TheLoserOfASelectInAJoinHasLostWhenTheJoinIsOver) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto slow = ctx.schedule_activity<int>("Slow");
    auto all = co_await join{select{ctx.schedule_activity<int>("A"), slow}, ctx.schedule_activity<int>("B")};
    co_return std::to_string(std::get<0>(all).index());
  });
  harness.start();
  harness.turn({completed(3, "1")});
  harness.turn({completed(2, "1")});  // too late: the select was decided one turn ago
  EXPECT_EQ(harness.turn({completed(4, "1")}).output, "\"0\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- several completions in one batch -----------------------------------------------------------------------------

Task<void> react(OrchestrationContext ctx, std::string name) {
  co_await ctx.schedule_activity<void>(name);
  co_await ctx.schedule_activity<void>("After" + name);
}

TEST(Batches, CompletionsAreDeliveredOneByOne) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await join{react(ctx, "A"), react(ctx, "B"), react(ctx, "C")};
  });
  harness.start();
  EXPECT_THAT(
      lines_of(harness.turn({completed(4), completed(2), completed(3)}).events),
      ElementsAre("5 ActivityCompleted of 4", "6 ActivityCompleted of 2", "7 ActivityCompleted of 3",
                  "8 ActivityScheduled 'AfterC'", "9 ActivityScheduled 'AfterA'", "10 ActivityScheduled 'AfterB'"));
  harness.turn({completed(9), completed(10), completed(8)});
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

Task<bool> until(OrchestrationContext ctx, std::string name, Future<void>* deadline) {
  auto first = co_await select{ctx.schedule_activity<int>(name), *deadline};
  co_return first.index() == 0;
}

TEST(Batches, TwoTasksMayShareADeadline) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto deadline = ctx.schedule_timer(Milliseconds(100));
    auto all = co_await join{until(ctx, "A", &deadline), until(ctx, "B", &deadline), until(ctx, "C", &deadline)};
    std::string seen = std::get<0>(all) ? "1" : "0";
    seen += std::get<1>(all) ? "1" : "0";
    seen += std::get<2>(all) ? "1" : "0";
    co_return seen;
  });
  harness.start();
  harness.turn({completed(4, "1")});
  const auto last = harness.turn({fired(2), completed(3, "1")});
  EXPECT_EQ(last.output, "\"010\"");
  EXPECT_THAT(last.cancelled_activities, ElementsAre(5));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- W1: wide joins -----------------------------------------------------------------------------------------------

Orchestration<std::uint64_t> wide(OrchestrationContext ctx, std::size_t count) {
  std::vector<Future<std::uint64_t>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(ctx.schedule_activity<std::uint64_t>("A"));
  const auto values = co_await ctx.join(std::move(all));
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) checksum += values[i] * (i + 1);
  co_return checksum;
}

// Schedule ids 2..count+1 in an order that begins at neither end.
std::vector<EventId> odd_order(std::size_t count) {
  std::vector<EventId> ids;
  for (std::size_t i = 1; i < count; i += 2) ids.push_back(i + 2);
  for (std::size_t i = 0; i < count; i += 2) ids.push_back(i + 2);
  std::rotate(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count / 3), ids.end());
  return ids;
}

std::string checksum_of(std::size_t count) {
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i < count; ++i) checksum += (i + 2) * (i + 1);
  return std::to_string(checksum);
}

TEST(WideJoins, ThirtyOne) {
  Harness harness(wide);
  harness.start("31");
  TurnOutcome last;
  for (const EventId id : odd_order(31)) last = harness.turn({completed(id, std::to_string(id))});
  EXPECT_EQ(last.output, checksum_of(31));
}

void run_wide(std::size_t count, std::size_t batch) {
  Harness harness(wide);
  harness.also_rebuild = false;
  harness.start(std::to_string(count));
  const auto ids = odd_order(count);
  TurnOutcome last;
  for (std::size_t i = 0; i < ids.size(); i += batch) {
    EXPECT_EQ(last.status, ExecutionStatus::kRunning);
    if (i == (ids.size() / 2 / batch) * batch) harness.evict();  // and half of it comes out of a replay
    std::vector<MessageBody> bodies;
    for (std::size_t j = i; j < std::min(i + batch, ids.size()); ++j) {
      bodies.push_back(completed(ids[j], std::to_string(ids[j])));
    }
    last = harness.turn(std::move(bodies));
  }
  EXPECT_EQ(last.output, checksum_of(count));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(WideJoins, AThousandOneByOne) {
  run_wide(1'000, 1);
}

TEST(WideJoins, TenThousandOneByOne) {
  run_wide(10'000, 1);
}

TEST(WideJoins, TenThousandInBatches) {
  run_wide(10'000, 777);
}

TEST(WideJoins, ASelectOfAThousandIsWonByAnyOfThem) {
  for (const std::size_t winner : {0U, 30U, 31U, 999U}) {
    Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
      std::vector<Future<int>> all;
      for (int i = 0; i < 1'000; ++i) all.push_back(ctx.schedule_activity<int>("A"));
      auto first = co_await ctx.select(std::move(all));
      co_return first.index();
    });
    harness.start();
    const auto last = harness.turn({completed(winner + 2, "1")});
    EXPECT_EQ(last.output, std::to_string(winner));
    EXPECT_EQ(last.cancelled_activities.size(), 999u);
  }
}

}  // namespace
}  // namespace perdure::test
