// Errors of user code as the history stores them, and values that the code forgot to return.
#include <array>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/detail/thrown.h>
#include "model/error_text.h"
#include "model/utf8.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

std::string error_text(const TurnOutcome& outcome) {
  return outcome.error ? describe(*outcome.error) : "no error";
}

TEST(MovedFrom, AnOrchestrationThatIsReturnedFails) {
  const auto inner = [](Ctx) -> Orchestration<int> { co_return 1; };
  Harness harness([inner](Ctx ctx) -> Orchestration<int> {
    Orchestration<int> flow = inner(ctx);
    const Orchestration<int> taken = std::move(flow);
    return flow;
  });
  EXPECT_THAT(error_text(harness.start()), HasSubstr("returned a perdure::Orchestration that it has moved from"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- texts of errors -----------------------------------------------------------------------------------------------

TEST(ErrorTexts, BytesThatAreNotUtf8AreReplaced) {
  Harness harness([](Ctx) -> Orchestration<int> {
    throw std::runtime_error("caf\xE9 \xFF!");
    co_return 1;
  });
  EXPECT_EQ(error_text(harness.start()), "caf\xEF\xBF\xBD \xEF\xBF\xBD! (bytes that are not UTF-8 were replaced)");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ErrorTexts, LongTextsAreCut) {
  Harness harness([](Ctx) -> Orchestration<int> {
    throw std::runtime_error(std::string(std::size_t{20} << 20U, 'x'));
    co_return 1;
  });
  const std::string text = error_text(harness.start());
  EXPECT_EQ(text, std::string(65'536, 'x') + " (cut at Limits::max_error_text_bytes)");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ErrorTexts, CutDoesNotDivideACodePoint) {
  Harness harness([](Ctx) -> Orchestration<int> {
    throw std::runtime_error("ab\xC3\xA9");
    co_return 1;
  });
  harness.limits.max_payload_bytes = 24;
  EXPECT_EQ(error_text(harness.start()), "ab (cut at Limits::max_error_text_bytes)");
}

// A text passes a boundary at each orchestration on its way up.
TEST(ErrorTexts, SecondBoundaryChangesNothing) {
  constexpr std::size_t kLimit = 100;
  for (const std::size_t length : {0U, 1U, 33U, 34U, 99U, 100U, 101U, 150U, 1'000U}) {
    for (const std::string byte : {"x", "\xff", "\xC3\xA9"}) {
      std::string text;
      while (text.size() < length) text += byte;
      const std::string once = storable_error_text(text, kLimit);
      EXPECT_EQ(storable_error_text(once, kLimit), once) << length;
      EXPECT_LE(once.size(), kLimit + 100);
      EXPECT_EQ(detail::text_of(std::runtime_error(once)), once);
      EXPECT_FALSE(detail::find_invalid_utf8(once));
    }
  }
}

std::string repeated(const std::string& part, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

Harness failing_with(const std::string& text) {
  return Harness([text](Ctx) -> Orchestration<int> {
    throw std::runtime_error(text);
    co_return 1;
  });
}

constexpr std::array<std::size_t, 4> kPayloadLimits{24, 8'000, 80'000, std::size_t{16} << 20U};

// The limit of its time cut the text of a recorded end.
TEST(ErrorTexts, RecordedEndFitsWhateverTheLimitIsNow) {
  for (const std::string part : {"x", "\xff", "\xC3\xA9", "a\xC3\xA9\xff"}) {
    for (const std::size_t bytes : {2U, 900U, 5'000U, 100'000U}) {
      Harness harness = failing_with(repeated(part, bytes));
      for (const std::size_t recorded : kPayloadLimits) {
        harness.history.clear();
        harness.evict();
        harness.limits.max_payload_bytes = recorded;
        harness.start();
        for (const std::size_t now : kPayloadLimits) {
          harness.limits.max_payload_bytes = now;
          EXPECT_EQ(harness.replay_failure(), std::nullopt) << bytes << " at " << recorded << ", now " << now;
        }
      }
    }
  }
}

TEST(ErrorTexts, OtherTextIsFoundWhateverTheLimitIsNow) {
  const std::string text = repeated("x", 5'000);
  for (const std::string& other : {repeated("y", 5'000), repeated("x", 999), "y" + text, std::string()}) {
    Harness harness = failing_with(text);
    harness.limits.max_payload_bytes = 8'000;
    harness.start();
    harness.redeploy([other](Ctx) -> Orchestration<int> {
      throw std::runtime_error(other);
      co_return 1;
    });
    for (const std::size_t now : kPayloadLimits) {
      harness.limits.max_payload_bytes = now;
      EXPECT_THAT(divergence_of(harness.replay_failure()), HasSubstr("did not end as recorded")) << now;
    }
  }
}

TEST(ErrorTexts, BytesThatGrowWhenTheyAreReplacedAreCutAfterwards) {
  const std::string text = storable_error_text(std::string(60, '\xff'), 100);
  std::string expected;
  for (int i = 0; i < 33; ++i) expected += "\xEF\xBF\xBD";
  EXPECT_EQ(text, expected + " (bytes that are not UTF-8 were replaced) (cut at Limits::max_error_text_bytes)");
}

TEST(ErrorTexts, UndecodableInputNamesItsBytesInUtf8) {
  Harness harness([](Ctx, std::string) -> Orchestration<int> { co_return 1; });
  EXPECT_THAT(error_text(harness.start("\xFF")), HasSubstr("the input of orchestration 'Test' cannot be used"));
}

// ---- values that are missing ---------------------------------------------------------------------------------------

#if defined(__GNUC__) && !defined(__clang__)  // the end of such a coroutine is undefined elsewhere
Orchestration<int> forgets_to_return(Ctx ctx) {
  co_await ctx.schedule_activity<void>("A");
}
Task<int> forgets_its_value(Ctx ctx) {
  co_await ctx.schedule_activity<void>("A");
}

TEST(MissingValues, OrchestrationWithoutCoReturnFails) {
  Harness harness(forgets_to_return);
  harness.start();
  EXPECT_THAT(error_text(harness.turn({completed(2)})),
              HasSubstr("the orchestration ended without an output; co_return"));
}

TEST(MissingValues, TaskWithoutCoReturnFails) {
  Harness harness([](Ctx ctx) -> Orchestration<int> { co_return co_await forgets_its_value(ctx); });
  harness.start();
  EXPECT_THAT(error_text(harness.turn({completed(2)})), HasSubstr("a perdure::Task ended without a value; co_return"));
}
#endif

TEST(MissingValues, ContinueAsNewNeedsNoOutput) {
  Harness harness([](Ctx ctx) -> Orchestration<int> { co_return ctx.continue_as_new(); });
  EXPECT_EQ(harness.start().status, ExecutionStatus::kContinuedAsNew);
}

TEST(MissingValues, FutureThatWasMovedFromHasNoScheduleId) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    auto future = ctx.schedule_activity<int>("A");
    auto other = std::move(future);
    EXPECT_EQ(other.schedule_id(), 2U);
    (void)future.schedule_id();  // NOLINT(bugprone-use-after-move)
    co_return 1;
  });
  EXPECT_THAT(error_text(harness.start()), HasSubstr("moved from"));
}

// ---- a join that was awaited ---------------------------------------------------------------------------------------

TEST(AwaitedJoins, AsResultOfAnAwaitedJoinIsMisuse) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    auto all = join{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B")};
    co_await all;
    auto again = co_await std::move(all).as_result();
    co_return *std::get<0>(again);
  });
  harness.start();
  EXPECT_THAT(error_text(harness.turn({completed(2, "1"), completed(3, "2")})),
              HasSubstr("a join or select was moved after it had been awaited"));
}

TEST(AwaitedJoins, AsResultOfAnAwaitedJoinOfManyIsMisuse) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    std::vector<Future<int>> futures;
    futures.push_back(ctx.schedule_activity<int>("A"));
    auto all = ctx.join(std::move(futures));
    co_await all;
    auto again = co_await std::move(all).as_result();
    co_return *again.front();
  });
  harness.start();
  EXPECT_THAT(error_text(harness.turn({completed(2, "1")})), HasSubstr("after it had been awaited"));
}

// ---- functions of other kinds --------------------------------------------------------------------------------------

struct Offset {
  int by = 0;
  Orchestration<int> added(Ctx ctx, int input) const {
    co_await ctx.schedule_activity<void>("A");
    co_return input + by;
  }
};
Orchestration<int> sum_of(int bound, Ctx ctx, int input) noexcept {
  co_await ctx.schedule_activity<void>("A");
  co_return bound + input;
}

TEST(RegisteredFunctions, BoundAndMoveOnlyFunctionsRun) {
  const auto output = [](Harness harness) {
    harness.start("5");
    return harness.turn({completed(2)}).output;
  };
  const Offset offset{2};
  EXPECT_EQ(output(Harness(std::bind_front(&Offset::added, &offset))), "7");
  EXPECT_EQ(output(Harness(std::bind_front(sum_of, 3))), "8");
  auto owned = std::make_unique<int>(4);
  EXPECT_EQ(output(Harness([owned = std::move(owned)](Ctx ctx, int input) -> Orchestration<int> {
              co_await ctx.schedule_activity<void>("A");
              co_return input + *owned;
            })),
            "9");
}

// ---- memory --------------------------------------------------------------------------------------------------------

TEST(MemoryOfInstances, GivenValuesCountWithTheirEncodedSize) {
  const std::string megabyte = "\"" + std::string(std::size_t{1} << 20U, 'x') + "\"";
  Harness harness([](Ctx ctx, std::string) -> Orchestration<int> {
    const std::string result = co_await ctx.schedule_activity<std::string>("A");
    const std::string event = co_await ctx.schedule_wait<std::string>("E");
    const std::string message = co_await ctx.dequeue_event<std::string>("Q");
    co_await ctx.schedule_wait<void>("end");
    co_return 1;
  });
  harness.start(megabyte);
  EXPECT_GE(harness.kept().memory_bytes(), megabyte.size());
  harness.turn({completed(2, megabyte)});
  EXPECT_GE(harness.kept().memory_bytes(), 2 * megabyte.size());
  harness.turn({raised("E", megabyte)});
  EXPECT_GE(harness.kept().memory_bytes(), 3 * megabyte.size());
  harness.turn({queued("Q", megabyte)});
  EXPECT_GE(harness.kept().memory_bytes(), 4 * megabyte.size());
  EXPECT_GE(harness.rebuild()->memory_bytes(), 4 * megabyte.size());
}

constexpr std::size_t kLarge = 100'000;

Future<int> retried_with_a_large_input(Ctx ctx) {
  return ctx.schedule_activity<int>("A", std::string(kLarge, 'x'), ActivityOptions().retry(RetryPolicy(2)));
}

void expect_memory(const Harness& harness, std::size_t inputs) {
  for (const std::size_t bytes : {harness.kept().memory_bytes(), harness.rebuild()->memory_bytes()}) {
    EXPECT_GE(bytes, inputs * kLarge);
    EXPECT_LT(bytes, inputs * kLarge + kLarge / 2);
  }
}

// The loop schedules the activity with it again.
TEST(MemoryOfInstances, InputsOfRetriedActivitiesCountWhileTheyAreKept) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    co_await retried_with_a_large_input(ctx);
    {
      const auto dropped = retried_with_a_large_input(ctx);
      co_await ctx.schedule_wait<void>("drop");
    }
    co_await ctx.schedule_wait<void>("continue");
    retried_with_a_large_input(ctx).detach();
    co_await ctx.schedule_wait<void>("end");
    co_return 1;
  });
  harness.start();
  expect_memory(harness, 1);
  harness.turn({failed(2, "again")});  // 4: the timer of the backoff
  expect_memory(harness, 1);
  harness.turn({fired(4)});
  expect_memory(harness, 1);
  harness.turn({completed(6, "1")});
  expect_memory(harness, 1);  // of the next one
  harness.turn({raised("drop")});
  expect_memory(harness, 0);
  harness.turn({raised("continue")});
  expect_memory(harness, 1);
  EXPECT_EQ(harness.turn({raised("end")}).status, ExecutionStatus::kCompleted);
  EXPECT_LT(harness.kept().memory_bytes(), kLarge / 2);
}

TEST(MemoryOfInstances, CancelledRetriesKeepNoInput) {
  Harness harness([](Ctx ctx) -> Orchestration<int> { co_return co_await retried_with_a_large_input(ctx); });
  harness.start();
  expect_memory(harness, 1);
  EXPECT_EQ(harness.turn({cancel("enough")}).status, ExecutionStatus::kCancelled);
  EXPECT_LT(harness.kept().memory_bytes(), kLarge / 2);
}

TEST(MemoryOfInstances, CustomStatusCounts) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    ctx.set_custom_status(std::string(kLarge, 'x'));
    co_await ctx.schedule_wait<void>("reset");
    ctx.reset_custom_status();
    co_await ctx.schedule_wait<void>("end");
    co_return 1;
  });
  harness.start();
  expect_memory(harness, 1);
  harness.turn({raised("reset")});
  expect_memory(harness, 0);
}

}  // namespace
}  // namespace perdure::test
