// Key values: an instance's durable map as its code sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += text + ",";
  return all;
}

Timestamp at(std::int64_t milliseconds) {
  return Timestamp(Milliseconds(milliseconds));
}

TEST(KeyValues, WhatIsSetCanBeRead) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    ctx.set_kv_value("number", 5);
    ctx.set_kv_value("text", "five");
    ctx.set_kv_value("raw", Raw(std::string("5 bytes")));
    ctx.set_kv_value("number", 6);
    std::string seen = std::to_string(ctx.get_kv_value<int>("number").value());
    seen += ctx.get_kv_value<std::string>("text").value();
    seen += ctx.get_kv_value<Raw>("raw").value().text();
    seen += ctx.get_kv_value<int>("missing") ? "found" : "missing";
    seen += std::to_string(ctx.get_kv_length());
    co_return seen;
  });
  EXPECT_EQ(harness.start().output, "\"6five5 bytesmissing3\"");
  EXPECT_THAT(harness.lines(), ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0",
                                           "2 KeyValueSet 'number' value=5", "3 KeyValueSet 'text' value=\"five\"",
                                           "4 KeyValueSet 'raw' value=5 bytes", "5 KeyValueSet 'number' value=6",
                                           "6 OrchestrationCompleted output=\"6five5 bytesmissing3\""));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(KeyValues, EmptyKeysAndValuesAreLegalAndNotMissing) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<bool> {
    ctx.set_kv_value("", "");
    ctx.set_kv_value("raw", Raw(std::string()));
    co_return ctx.get_kv_value<std::string>("") == "" && ctx.get_kv_value<Raw>("raw")->payload() == "" &&
        ctx.get_kv_length() == 2;
  });
  EXPECT_EQ(harness.start().output, "true");
}

TEST(KeyValues, KeysAreOrdered) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    for (const char* key : {"pear", "apple", "fig", "Zebra", "10", "9"}) ctx.set_kv_value(key, 1);
    std::string seen = joined(ctx.get_kv_all_keys());
    for (const auto& [key, value] : ctx.get_kv_all_values()) seen += key + "=" + value + ";";
    co_return seen;
  });
  EXPECT_EQ(harness.start().output, "\"10,9,Zebra,apple,fig,pear,10=1;9=1;Zebra=1;apple=1;fig=1;pear=1;\"");
}

TEST(KeyValues, ClearRemovesOneAndClearAllEverything) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    for (const char* key : {"a", "b", "c"}) ctx.set_kv_value(key, 1);
    ctx.clear_kv_value("b");
    ctx.clear_kv_value("never was");
    std::string seen = joined(ctx.get_kv_all_keys());
    ctx.clear_all_kv_values();
    seen += std::to_string(ctx.get_kv_length());
    ctx.set_kv_value("d", 1);
    co_return seen + joined(ctx.get_kv_all_keys());
  });
  EXPECT_EQ(harness.start().output, "\"a,c,0d,\"");
  EXPECT_THAT(lines_of(harness.history)[4], "5 KeyValueCleared 'b'");
  EXPECT_THAT(lines_of(harness.history)[6], "7 KeyValuesCleared");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(KeyValues, TheSnapshotIsTheBeginningAndOwnWritesWin) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen = std::to_string(*ctx.get_kv_value<int>("a")) + std::to_string(*ctx.get_kv_value<int>("b"));
    ctx.set_kv_value("a", 10);
    ctx.clear_kv_value("b");
    co_await ctx.schedule_activity<void>("A");
    seen += joined(ctx.get_kv_all_keys()) + std::to_string(*ctx.get_kv_value<int>("a"));
    co_return seen;
  });
  harness.key_values = {{"a", {"1", at(0)}}, {"b", {"2", at(0)}}, {"c", {"3", at(0)}}};
  harness.start();
  EXPECT_EQ(harness.turn({completed(4)}).output, "\"12a,c,10\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// With a snapshot that included the execution's own writes this would replay against its own future.
TEST(KeyValues, AReadModifyWriteLoopReplays) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    for (int i = 0; i < 50; ++i) {
      const int before = ctx.get_kv_value<int>("count").value_or(0);
      ctx.set_kv_value("count", before + i);
      co_await ctx.schedule_activity<void>("Step", before);
    }
    co_return ctx.get_kv_value<int>("count").value();
  });
  harness.key_values = {{"count", {"1000", at(0)}}};
  harness.start();
  TurnOutcome last;
  for (EventId id = 3; harness.history.size() < 152; id += 3) last = harness.turn({completed(id)});
  EXPECT_EQ(last.output, "2225");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- pruning ------------------------------------------------------------------------------------------------------

// W6: the times of the recorded events count, and the order of the keys.
TEST(KeyValues, PruningGoesByTheTimesOfTheRecordedEventsAndReplays) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    for (const char* key : {"d", "b", "a", "c"}) ctx.set_kv_value(key, 1);  // at 1,000,000
    co_await ctx.schedule_activity<void>("A");
    ctx.set_kv_value("b", 2);  // at 1,001,000
    co_await ctx.schedule_activity<void>("B");
    const std::size_t pruned = ctx.prune_kv_values_updated_before(Timestamp(Milliseconds(1'001'000)));
    std::string seen = std::to_string(pruned) + joined(ctx.get_kv_all_keys());
    co_await ctx.schedule_activity<void>("C");
    const std::size_t rest = ctx.prune_kv_values_updated_before(Timestamp(Milliseconds(1'001'001)));
    co_return seen + std::to_string(rest) + std::to_string(ctx.get_kv_length());
  });
  harness.key_values = {{"old", {"1", at(999'999)}}, {"new", {"1", at(1'001'001)}}};
  harness.start();
  harness.turn({completed(6)});
  EXPECT_THAT(lines_of(harness.turn({completed(9)}).events),
              ElementsAre("10 ActivityCompleted of 9", "11 KeyValueCleared 'a'", "12 KeyValueCleared 'c'",
                          "13 KeyValueCleared 'd'", "14 KeyValueCleared 'old'", "15 ActivityScheduled 'C'"));
  EXPECT_EQ(harness.turn({completed(15)}).output, "\"4b,new,11\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(KeyValues, PruningNothingIsNoEvent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    ctx.set_kv_value("a", 1);
    co_return ctx.prune_kv_values_updated_before(Timestamp(Milliseconds(1'000'000)));  // strictly before
  });
  EXPECT_EQ(harness.start().output, "0");
  EXPECT_EQ(harness.history.size(), 3u);
}

// ---- other instances, wrong types ---------------------------------------------------------------------------------

TEST(KeyValues, ReadingAnotherInstanceIsAnActivityUnderAReservedName) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto found = co_await ctx.get_kv_value_from_instance<int>("other", "a \"key\"");
    auto null = co_await ctx.get_kv_value_from_instance<int>("other", "b");
    auto absent = co_await ctx.get_kv_value_from_instance<int>("other", "c");
    auto wrong = co_await ctx.get_kv_value_from_instance<int>("other", "d").as_result();
    std::string seen = std::to_string(found.value());
    seen += null ? "found" : "missing";
    seen += absent ? "found" : "missing";
    seen += !wrong && wrong.error().source() == Error::Source::kCodec ? "codec" : "other";
    co_return seen;
  });
  const auto first = harness.start();
  const auto& execute = std::get<messages::ExecuteActivity>(first.activities.at(0).body);
  EXPECT_EQ(execute.name, "__perdure:get_kv_value");
  EXPECT_EQ(execute.input, R"({"instance":"other","key":"a \"key\""})");
  EXPECT_EQ(execute.tag, std::nullopt);
  harness.turn({completed(2, "5")});
  harness.turn({completed(4, "null")});
  harness.turn({completed(6)});
  EXPECT_EQ(harness.turn({completed(8, "\"text\"")}).output, "\"5missingmissingcodec\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(KeyValues, AValueOfAnotherTypeIsACodecError) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    ctx.set_kv_value("key", "text");
    std::string seen;
    try {
      seen = std::to_string(ctx.get_kv_value<int>("key").value());
    } catch (const CodecError& error) {
      seen = error.error().name() + ": " + error.what();
    }
    co_return seen;
  });
  EXPECT_THAT(*harness.start().output, HasSubstr("key: the value of 'key' cannot be decoded: "));
}

TEST(KeyValues, AnOptionalThatIsSetToNothingIsThereAndEmpty) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<bool> {
    ctx.set_kv_value("key", std::optional<int>());
    const auto read = ctx.get_kv_value<std::optional<int>>("key");
    co_return read.has_value() && !read->has_value();
  });
  EXPECT_EQ(harness.start().output, "true");
}

}  // namespace
}  // namespace perdure::test
