// What one turn may ask for: beyond it the execution fails, before anything of that turn is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Ctx = OrchestrationContext;

// Does harmless things, then `asks`, then waits; in its second turn.
template <class F>
auto asks_for(F asks) {
  return [asks](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_wait<void>("go");
    auto harmless = ctx.schedule_activity<int>("Harmless");
    auto child = ctx.schedule_sub_orchestration<int>("C", SubOrchestrationOptions().instance_id("c"));
    ctx.schedule_orchestration("N", "n");
    ctx.set_kv_value("a", 1);
    asks(ctx);
    co_await ctx.schedule_wait<void>("end");
  };
}

template <class F>
Harness within(Limits limits, F asks) {
  Harness harness(asks_for(asks));
  harness.limits = limits;
  harness.parent = ParentLink{"boss", 7, 9};
  harness.start();
  return harness;
}

// What the limit said, after checks of all that must not have happened; "" if nothing was exceeded.
template <class F>
std::string exceeded(Limits limits, F asks) {
  Harness harness = within(limits, asks);
  const auto turn = harness.turn({raised("go", "1")});
  if (turn.status == ExecutionStatus::kRunning) return "";
  EXPECT_EQ(turn.status, ExecutionStatus::kFailed);
  EXPECT_THAT(lines_of(turn.events), ElementsAre("3 ExternalEvent 'go' data=1", StartsWith("4 OrchestrationFailed")));
  EXPECT_THAT(turn.activities, IsEmpty());
  EXPECT_THAT(lines_of(turn.messages), ElementsAre("to boss: SubOrchestrationFailed"));
  const auto& error = std::get<ApplicationError>(turn.error.value());
  EXPECT_EQ(error.kind, ApplicationErrorKind::kLimitExceeded);
  EXPECT_THAT(error.message, HasSubstr("inst"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  return error.message;
}

// Each limit from both sides; `asks` asks for exactly 40 of it.
template <class F>
void expect_limit(std::size_t Limits::* field, const std::string& option, F asks) {
  Limits limits;
  limits.*field = 40;
  EXPECT_EQ(exceeded(limits, asks), "");
  limits.*field = 39;
  EXPECT_THAT(exceeded(limits, asks), HasSubstr(option));
}

const std::string kForty(40, 'x');

TEST(Limits, NamesOfEveryKind) {
  const auto check = [](auto asks) { expect_limit(&Limits::max_name_bytes, "max_name_bytes", asks); };
  check([](Ctx ctx) { ctx.schedule_activity<int>(kForty).detach(); });
  check([](Ctx ctx) { ctx.schedule_activity<int>("A", ActivityOptions().session(kForty)).detach(); });
  check([](Ctx ctx) { ctx.schedule_wait<int>(kForty).detach(); });
  check([](Ctx ctx) { ctx.dequeue_event<int>(kForty).detach(); });
  check([](Ctx ctx) { ctx.schedule_sub_orchestration<int>(kForty).detach(); });
  check([](Ctx ctx) {
    ctx.schedule_sub_orchestration<int>("C", SubOrchestrationOptions().instance_id(kForty)).detach();
  });
  check([](Ctx ctx) { ctx.schedule_orchestration(kForty, "i"); });
  check([](Ctx ctx) { ctx.schedule_orchestration("N", kForty); });
  check([](Ctx ctx) { ctx.set_kv_value(kForty, 1); });
}

TEST(Limits, AnInstanceIdThatTheEngineMakesForAChildIsMeasuredToo) {
  Limits limits;
  limits.max_name_bytes = 8;  // "inst::sub::8" has more
  EXPECT_THAT(exceeded(limits, [](Ctx ctx) { ctx.schedule_sub_orchestration<int>("C").detach(); }),
              HasSubstr("max_name_bytes"));
}

TEST(Limits, PayloadsOfEveryKind) {
  const auto check = [](auto asks) { expect_limit(&Limits::max_payload_bytes, "max_payload_bytes", asks); };
  const auto forty = [] { return std::string(38, 'x'); };  // and two quotes
  check([forty](Ctx ctx) { ctx.schedule_activity<int>("A", forty()).detach(); });
  check(
      [forty](Ctx ctx) { ctx.schedule_activity<int>("A", forty(), ActivityOptions().retry(RetryPolicy(2))).detach(); });
  check([forty](Ctx ctx) { ctx.schedule_sub_orchestration<int>("C", forty()).detach(); });
  check([forty](Ctx ctx) { ctx.schedule_orchestration("N", "i", forty()); });
}

TEST(Limits, TheInputOfContinueAsNew) {
  Limits limits;
  limits.max_payload_bytes = 40;
  Harness fits = within(limits, [](Ctx ctx) { (void)ctx.continue_as_new(std::string(38, 'x')); });
  EXPECT_EQ(fits.turn({raised("go", "1")}).status, ExecutionStatus::kContinuedAsNew);
  EXPECT_THAT(exceeded(limits, [](Ctx ctx) { (void)ctx.continue_as_new(std::string(39, 'x')); }),
              HasSubstr("max_payload_bytes"));
}

TEST(Limits, TheOutput) {
  Harness harness([](OrchestrationContext) -> Orchestration<std::string> { co_return std::string(39, 'x'); });
  harness.limits.max_payload_bytes = 40;
  const auto last = harness.start();
  ASSERT_EQ(to_string(last.status), "Failed");
  EXPECT_THAT(describe(last.error.value()), HasSubstr("max_payload_bytes"));
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", StartsWith("2 OrchestrationFailed")));
}

TEST(Limits, ACustomStatus) {
  expect_limit(&Limits::max_custom_status_bytes, "max_custom_status_bytes",
               [](Ctx ctx) { ctx.set_custom_status(kForty); });
}

TEST(Limits, ATag) {
  expect_limit(&Limits::max_tag_bytes, "max_tag_bytes",
               [](Ctx ctx) { ctx.schedule_activity<int>("A", ActivityOptions().tag(kForty)).detach(); });
}

TEST(Limits, AValueOfAKey) {
  expect_limit(&Limits::max_kv_value_bytes, "max_kv_value_bytes",
               [](Ctx ctx) { ctx.set_kv_value("k", std::string(38, 'x')); });
}

TEST(Limits, TheNumberOfKeys) {
  expect_limit(&Limits::max_kv_keys, "max_kv_keys", [](Ctx ctx) {
    for (int i = 1; i < 40; ++i) ctx.set_kv_value(std::to_string(i), i);  // and "a"
    ctx.set_kv_value("1", 0);                                             // which is there already
  });
}

TEST(Limits, TheNumberOfActionsOfATurn) {
  expect_limit(&Limits::max_actions_per_turn, "max_actions_per_turn", [](Ctx ctx) {
    for (int i = 5; i < 40; ++i) ctx.set_kv_value("a", i);  // four before, and one wait behind
  });
}

TEST(Limits, ActionsAreCountedTurnByTurn) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    for (int turn = 0; turn < 5; ++turn) co_await join{ctx.schedule_wait<void>("w"), ctx.schedule_wait<void>("w")};
  });
  harness.limits.max_actions_per_turn = 2;
  harness.start();
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(harness.turn({raised("w"), raised("w")}).status, ExecutionStatus::kRunning);
  }
  EXPECT_EQ(harness.turn({raised("w"), raised("w")}).status, ExecutionStatus::kCompleted);
}

TEST(Limits, KeysOfEarlierTurnsAndOfTheSnapshotCount) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    for (int i = 0;; ++i) {
      ctx.set_kv_value(std::to_string(i), i);
      co_await ctx.schedule_wait<void>("w");
    }
  });
  harness.limits.max_kv_keys = 3;
  harness.key_values = {{"old", {"1", Timestamp{}}}};
  harness.start();
  EXPECT_EQ(harness.turn({raised("w")}).status, ExecutionStatus::kRunning);
  const auto last = harness.turn({raised("w")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(last.error.value()), HasSubstr("has 4 keys; the limit is 3"));
}

TEST(Limits, AClearedKeyMakesRoom) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.set_kv_value("a", 1);
    ctx.clear_kv_value("a");
    ctx.set_kv_value("b", 1);
    ctx.clear_all_kv_values();
    ctx.set_kv_value("c", 1);
    co_await ctx.schedule_wait<void>("w");
  });
  harness.limits.max_kv_keys = 1;
  EXPECT_EQ(harness.start().status, ExecutionStatus::kRunning);
}

TEST(Limits, MessagesThatContinueAsNewCarries) {
  const auto code = [](OrchestrationContext ctx) -> Orchestration<void> {
    auto unread = ctx.dequeue_event<int>("q");
    co_await ctx.continue_as_new();
  };
  for (const std::size_t limit : {2U, 3U}) {
    Harness harness(code);
    harness.limits.max_carry_forward = limit;
    harness.parent = ParentLink{"boss", 7, 9};
    const auto last = harness.start({}, {queued("q", "1"), queued("q", "2"), queued("p", "3")});
    EXPECT_EQ(harness.replay_failure(), std::nullopt);
    if (limit == 3) {
      EXPECT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
      EXPECT_EQ(std::get<messages::ContinueAsNew>(last.messages.at(0).body).carry_forward.size(), 3);
    } else {
      EXPECT_EQ(last.status, ExecutionStatus::kFailed);
      EXPECT_THAT(describe(last.error.value()),
                  HasSubstr("would carry 3 unread queue messages, more than the limit of 2"));
      EXPECT_THAT(lines_of(last.messages), ElementsAre("to boss: SubOrchestrationFailed"));
      EXPECT_THAT(lines_of(last.events).back(), StartsWith("5 OrchestrationFailed"));
    }
  }
}

// Messages that arrived are in the history of the failed execution, so that none is lost on the way to the next.
TEST(Limits, BytesThatContinueAsNewCarries) {
  const auto code = [](OrchestrationContext ctx) -> Orchestration<void> {
    auto unread = ctx.dequeue_event<std::string>("q");
    co_await ctx.schedule_wait<void>("go");
    co_await ctx.continue_as_new();
  };
  constexpr std::size_t kBytes = 3 * 40 + 3;  // three messages of 40 bytes, each with the name of its queue
  for (const std::size_t limit : {kBytes, kBytes - 1}) {
    Harness harness(code);
    harness.limits.max_carry_forward_bytes = limit;
    harness.start({}, {queued("q", std::string(40, '1')), queued("q", std::string(40, '2'))});
    const auto last = harness.turn({queued("p", std::string(40, '3')), raised("go")});
    EXPECT_EQ(harness.replay_failure(), std::nullopt);
    if (limit == kBytes) {
      EXPECT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
      EXPECT_EQ(std::get<messages::ContinueAsNew>(last.messages.at(0).body).carry_forward.size(), 3);
      continue;
    }
    EXPECT_EQ(last.status, ExecutionStatus::kFailed);
    EXPECT_EQ(std::get<ApplicationError>(*last.error).kind, ApplicationErrorKind::kLimitExceeded);
    EXPECT_THAT(describe(*last.error),
                HasSubstr("would carry 123 bytes of unread queue messages, more than the limit of 122 "
                          "(max_carry_forward_bytes)"));
    EXPECT_THAT(last.messages, IsEmpty());
    int delivered = 0;
    for (const Event& event : harness.history)
      delivered += std::holds_alternative<events::QueueEventDelivered>(event.body);
    EXPECT_EQ(delivered, 3);
  }
}

TEST(Limits, BytesThatOneTurnDecides) {
  const auto code = [](OrchestrationContext ctx) -> Orchestration<void> {
    for (;;) {
      auto first = ctx.schedule_activity<int>("A", std::string(38, 'x'));  // 40 bytes of input
      auto second = ctx.schedule_sub_orchestration<int>("C", std::string(38, 'x'));
      ctx.set_kv_value("key", std::string(8, 'x'));
      co_await ctx.schedule_wait<void>("go");
    }
  };
  constexpr std::size_t kBytes = 41 + 41 + 12 + 13 + 2;  // the child's id is inst::sub::3
  for (const std::size_t limit : {kBytes, kBytes - 1}) {
    Harness harness(code);
    harness.limits.max_turn_bytes = limit;
    const auto last = harness.start();
    if (limit == kBytes) {
      EXPECT_EQ(last.status, ExecutionStatus::kRunning);
      EXPECT_EQ(harness.turn({raised("go")}).status, ExecutionStatus::kRunning) << "each turn counts anew";
    } else {
      EXPECT_EQ(last.status, ExecutionStatus::kFailed);
      EXPECT_THAT(describe(last.error.value()), HasSubstr("one turn has 109 bytes; the limit is 108 (max_turn_bytes)"));
    }
  }
}

TEST(Limits, ALimitCannotBeCaughtByTheCode) {
  Limits limits;
  limits.max_tag_bytes = 1;
  EXPECT_THAT(exceeded(limits,
                       [](Ctx ctx) {
                         try {
                           ctx.schedule_activity<int>("A", ActivityOptions().tag("gpu")).detach();
                           ctx.set_custom_status("went on");
                         } catch (...) {
                         }
                       }),
              HasSubstr("a tag has 3 bytes; the limit is 1 (max_tag_bytes)"));
}

// Bounded only so that a broken engine fails instead of hanging.
constexpr int kNeverEnding = 10'000;

TEST(Limits, ALoopThatNeverAwaitsEnds) {
  int calls = 0;
  Harness harness([&calls](OrchestrationContext ctx) -> Orchestration<void> {
    for (; calls < kNeverEnding; ++calls) ctx.set_custom_status("busy");
    co_return;
  });
  harness.also_rebuild = false;
  harness.limits.max_actions_per_turn = 20;
  EXPECT_THAT(describe(harness.start().error.value()), HasSubstr("one turn has 21 actions; the limit is 20"));
  EXPECT_LT(calls, 50);
}

TEST(Limits, ALoopOfRetriedActivitiesThatNeverAwaitsEnds) {
  int calls = 0;
  Harness harness([&calls](OrchestrationContext ctx) -> Orchestration<void> {
    for (; calls < kNeverEnding; ++calls)
      auto dropped = ctx.schedule_activity<int>("A", ActivityOptions().retry(RetryPolicy(2)));
    co_return;
  });
  harness.also_rebuild = false;
  harness.limits.max_actions_per_turn = 20;
  EXPECT_THAT(describe(harness.start().error.value()), HasSubstr("one turn has 21 actions; the limit is 20"));
  EXPECT_LT(calls, 50);
}

// ---- limits that became smaller
// --------------------------------------------------------------------------------------

TEST(Limits, ARecordedDecisionIsNeverRefused) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    ctx.set_custom_status(kForty);
    ctx.set_kv_value(kForty, kForty);
    ctx.set_kv_value("second", 1);
    auto activity = ctx.schedule_activity<std::string>(kForty, kForty, ActivityOptions().tag(kForty).session(kForty));
    auto child = ctx.schedule_sub_orchestration<int>(kForty, kForty);
    ctx.schedule_orchestration(kForty, kForty, kForty);
    const auto queue = ctx.dequeue_event<int>(kForty);
    co_return co_await activity;
  });
  harness.start();
  harness.limits = Limits{.max_actions_per_turn = 1,
                          .max_history_events = 1,
                          .max_unread_messages = 0,
                          .max_name_bytes = 1,
                          .max_payload_bytes = 100,
                          .max_custom_status_bytes = 1,
                          .max_tag_bytes = 1,
                          .max_kv_value_bytes = 1,
                          .max_kv_keys = 1,
                          .max_carry_forward = 0,
                          .max_carry_forward_bytes = 0,
                          .max_turn_bytes = 0};
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.evict();
  EXPECT_EQ(harness.turn({completed(5, "\"done\"")}).output, "\"done\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Limits, ARecordedContinueAsNewIsNeverRefused) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.continue_as_new(kForty); });
  EXPECT_EQ(harness.start({}, {queued("q", "1")}).status, ExecutionStatus::kContinuedAsNew);
  harness.limits.max_payload_bytes = 1;
  harness.limits.max_carry_forward = 0;
  harness.limits.max_carry_forward_bytes = 0;
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- the whole turn ------------------------------------------------------------------------------------------------

TEST(Limits, TheLengthOfAHistory) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    for (;;) co_await ctx.schedule_wait<void>("w");
  });
  harness.limits.max_history_events = 6;  // the start, then a wait and its event by turns
  harness.start();
  EXPECT_EQ(harness.turn({raised("w", "null")}).status, ExecutionStatus::kRunning);
  EXPECT_EQ(harness.turn({raised("w", "null")}).status, ExecutionStatus::kRunning);
  const auto outcome = harness.turn({raised("w", "null")});
  ASSERT_EQ(outcome.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*outcome.error), HasSubstr("max_history_events"));
}

TEST(Limits, AHistoryMayEndBeyondTheLimit) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<void>("w");
    co_return 7;
  });
  harness.limits.max_history_events = 2;
  harness.start();
  EXPECT_EQ(harness.turn({raised("w", "null")}).output, "7");
}

TEST(Limits, TheUnreadMessagesOfAnExecution) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("w"); });
  harness.limits.max_unread_messages = 2;
  harness.start();
  EXPECT_EQ(harness.turn({queued("q", "1"), queued("r", "2")}).status, ExecutionStatus::kRunning);
  const auto outcome = harness.turn({queued("q", "3")});
  ASSERT_EQ(outcome.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*outcome.error), HasSubstr("max_unread_messages"));
}

// ---- no limit where there is none
// --------------------------------------------------------------------------------------

TEST(Limits, AQueueOfFiveThousandMessagesIsDrainedInOneTurn) {
  constexpr int kMessages = 5'000;
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    int sum = 0;
    for (int i = 0; i < kMessages; ++i) sum += co_await ctx.dequeue_event<int>("q");
    co_return sum;
  });
  const auto last = harness.start({}, std::vector<MessageBody>(kMessages, queued("q", "2")));
  EXPECT_EQ(last.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(last.output, "10000");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
