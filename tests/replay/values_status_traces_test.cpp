// Recorded values, the custom status, and what an orchestration can tell about itself.
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What orchestration code saw, in order; cleared by each test that uses it.
std::vector<std::string> g_seen;

// ---- values -------------------------------------------------------------------------------------------------------

Orchestration<void> many_guids(OrchestrationContext ctx) {
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 200; ++i) g_seen.push_back(ctx.new_guid());
    co_await ctx.schedule_timer(Milliseconds(1));
  }
}

TEST(Values, GuidsAreRandomUuidsAndDifferent) {
  g_seen.clear();
  Harness harness(many_guids);
  harness.also_rebuild = false;
  harness.start();
  harness.turn({fired(202)});
  harness.turn({fired(404)});
  ASSERT_EQ(g_seen.size(), 600u);
  const std::regex version_4("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  for (const auto& guid : g_seen) EXPECT_TRUE(std::regex_match(guid, version_4)) << guid;
  EXPECT_EQ(std::set<std::string>(g_seen.begin(), g_seen.end()).size(), 600u);

  const auto live = std::exchange(g_seen, {});
  EXPECT_EQ(harness.rebuild()->failure(), std::nullopt);
  EXPECT_EQ(g_seen, live);  // a replay sees the same
}

TEST(Values, TheTimeIsThatOfTheTurn) {
  g_seen.clear();
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    for (int turn = 0; turn < 2; ++turn) {
      for (int i = 0; i < 2; ++i) g_seen.push_back(std::to_string(ctx.utc_now().time_since_epoch().count()));
      co_await ctx.schedule_timer(Milliseconds(1));
    }
  });
  harness.also_rebuild = false;
  harness.start();
  harness.now = Timestamp(Milliseconds(1'234'567'890'123));
  harness.turn({fired(4)});
  const auto live = std::exchange(g_seen, {});
  EXPECT_THAT(live, ElementsAre("1000000", "1000000", "1234567890123", "1234567890123"));
  EXPECT_EQ(harness.rebuild()->failure(), std::nullopt);
  EXPECT_EQ(g_seen, live);
}

TEST(Values, RandomNumbersDifferAndAreRepeatedOnReplay) {
  g_seen.clear();
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    for (int turn = 0; turn < 2; ++turn) {
      for (int i = 0; i < 100; ++i) g_seen.push_back(std::to_string(ctx.random()));
      co_await ctx.schedule_timer(Milliseconds(1));
    }
  });
  harness.also_rebuild = false;
  harness.start();
  harness.turn({fired(102)});
  const auto live = std::exchange(g_seen, {});
  EXPECT_EQ(std::set<std::string>(live.begin(), live.end()).size(), 200u);
  EXPECT_EQ(harness.rebuild()->failure(), std::nullopt);
  EXPECT_EQ(g_seen, live);
}

TEST(Values, EachIsOneDecision) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    (void)ctx.utc_now();
    (void)ctx.random();
    co_return;
  });
  harness.start();
  ASSERT_EQ(harness.history.size(), 4u);
  EXPECT_EQ(harness.lines()[1], "2 ValueRecorded utc_now=1000000");
  EXPECT_EQ(std::get<events::ValueRecorded>(harness.history[2].body).kind, RecordedValueKind::kRandom);
}

// ---- custom status ------------------------------------------------------------------------------------------------

TEST(CustomStatus, WhatIsSetCanBeReadAndReset) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen = ctx.get_custom_status().value_or("none") + ",";
    ctx.set_custom_status("half");
    seen += ctx.get_custom_status().value_or("none") + ",";
    co_await ctx.schedule_activity<void>("A");
    seen += ctx.get_custom_status().value_or("none") + ",";
    ctx.reset_custom_status();
    seen += ctx.get_custom_status().value_or("none") + ",";
    ctx.set_custom_status("");
    co_return seen + (ctx.get_custom_status() == "" ? "empty" : "wrong");
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(3)}).output, "\"none,half,half,none,empty\"");
  EXPECT_THAT(lines_of(harness.history)[1], "2 CustomStatusUpdated status=half");
  EXPECT_THAT(lines_of(harness.history)[4], "5 CustomStatusUpdated status=(cleared)");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(CustomStatus, TheInitialOneComesFromTheExecutionBefore) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_activity<void>("A");
    co_return ctx.get_custom_status().value_or("none");
  });
  harness.execution = 2;
  harness.turn({messages::ContinueAsNew{"Test", std::nullopt, std::nullopt, std::nullopt, {}, "inherited"}});
  EXPECT_EQ(harness.turn({completed(2)}).output, "\"inherited\"");
}

// ---- about itself -------------------------------------------------------------------------------------------------

TEST(AboutItself, AnOrchestrationKnowsWhoItIs) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_return ctx.instance_id() + " " + std::to_string(ctx.execution_id()) + " " + ctx.orchestration_name() + " " +
        ctx.orchestration_version().to_string();
  });
  harness.instance = "order-7";
  harness.execution = 4;
  EXPECT_EQ(harness.start().output, "\"order-7 4 Test 1.0.0\"");
}

Orchestration<void> tell_whether_replaying(OrchestrationContext ctx) {
  for (int i = 0; i < 3; ++i) {
    g_seen.push_back(ctx.is_replaying() ? "replaying" : "live");
    co_await ctx.schedule_activity<void>("A");
  }
}

TEST(AboutItself, ReplayingIsTrueExactlyWhileOldTurnsAreRepeated) {
  g_seen.clear();
  Harness harness(tell_whether_replaying);
  harness.also_rebuild = false;
  harness.start();
  harness.turn({completed(2)});
  EXPECT_THAT(std::exchange(g_seen, {}), ElementsAre("live", "live"));
  (void)harness.rebuild();
  EXPECT_THAT(std::exchange(g_seen, {}), ElementsAre("replaying", "replaying"));
  harness.evict();
  harness.turn({completed(4)});
  EXPECT_THAT(std::exchange(g_seen, {}), ElementsAre("replaying", "replaying", "live"));
}

// ---- traces -------------------------------------------------------------------------------------------------------

Orchestration<void> trace_each_step(OrchestrationContext ctx) {
  ctx.trace_info("begin");
  co_await ctx.schedule_activity<void>("A");
  ctx.trace_warn("between");
  co_await ctx.schedule_activity<void>("B");
  ctx.trace_error("end");
}

TEST(Traces, TheyAreWrittenOnceWhetherTheInstanceIsKeptOrRebuilt) {
  for (const bool evict : {false, true}) {
    Harness harness(trace_each_step);
    harness.start();
    EXPECT_THAT(harness.traces, ElementsAre("info: begin"));
    if (evict) harness.evict();
    harness.turn({completed(2)});
    EXPECT_THAT(harness.traces, ElementsAre("warn: between"));
    if (evict) harness.evict();
    harness.turn({completed(4)});
    EXPECT_THAT(harness.traces, ElementsAre("error: end"));
  }
}

TEST(Traces, AllLevelsReachTheSinkAndNoneBecomesAnEvent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.trace(LogLevel::kTrace, "t");
    ctx.trace_debug("d");
    ctx.trace_info("i");
    ctx.trace_warn("w");
    ctx.trace_error("e");
    co_return;
  });
  EXPECT_EQ(harness.start().events.size(), 2u);
  EXPECT_THAT(harness.traces, ElementsAre("trace: t", "debug: d", "info: i", "warn: w", "error: e"));
}

Task<void> only_logs(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("Branch");
  ctx.trace_info("branch is done");
}

// W20: nothing was decided behind the completion, so nothing in history tells that this code has run.
TEST(Traces, ABranchThatOnlyLogsBehindTheLastCompletionLogsOnce) {
  for (const bool evict : {false, true}) {
    Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
      co_await join{only_logs(ctx), ctx.schedule_activity<void>("Other")};
    });
    harness.start();
    harness.turn({completed(3)});  // ids: "Other" is 2, "Branch" 3
    EXPECT_THAT(harness.traces, ElementsAre("info: branch is done"));
    if (evict) harness.evict();
    harness.turn({queued("anything")});
    EXPECT_THAT(harness.traces, IsEmpty());
    if (evict) harness.evict();
    harness.turn({completed(2)});
    EXPECT_THAT(harness.traces, IsEmpty());
  }
}

TEST(Traces, WithoutASinkTheyGoNowhere) {
  Harness harness(trace_each_step);  // the rebuilt twin of the harness has no sink
  harness.start();
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
