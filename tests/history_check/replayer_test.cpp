// Replayer: recorded histories as tests of the code.
#include <perdure/testing/replayer.h>

#include <sstream>

#include <perdure/history_text.h>
#include "history_check/scene.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Replayer;
using ::testing::StartsWith;

Orchestration<int> replayed_order(Ctx ctx, int n) {
  const int paid = co_await ctx.schedule_activity<int>("Charge", n);
  co_await ctx.schedule_wait<int>("approved by " + ctx.instance_id());
  co_return paid;
}

Orchestration<int> renamed(Ctx ctx, int n) {
  co_return co_await ctx.schedule_activity<int>("ChargeCard", n);
}

template <class T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

class ReplayerTest : public HistoryCheckScene {
 protected:
  // Of an order that waits, or of one that has ended.
  std::vector<Event> record(bool to_the_end) {
    start("o", "Order", 7);
    run(code("Order", replayed_order).merge(echoes({"Charge"})));
    if (to_the_end) {
      cluster.client().raise_event("o", "approved by o", 0);
      run(code("Order", replayed_order));
    }
    return cluster.client().read_execution_history("o");
  }
};
PERDURE_ON_EVERY_STORE(ReplayerTest);

TEST_P(ReplayerTest, AHistoryFitsTheCodeThatWroteIt) {
  const Replayer replayer(code("Order", replayed_order));
  const auto outcome = replayer.replay(record(true), {.instance = "o"});
  EXPECT_TRUE(outcome) << outcome;
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.problem(), std::nullopt);
  EXPECT_EQ(outcome.report(), "");
  EXPECT_EQ(text_of(outcome), "the history fits the code");
}

TEST_P(ReplayerTest, AHistoryThatGoesOnFitsToo) {
  const auto outcome = Replayer(code("Order", replayed_order)).replay(record(false), {.instance = "o"});
  EXPECT_TRUE(outcome) << outcome;
}

TEST_P(ReplayerTest, ChangedCodeIsShownLikeADiff) {
  const auto outcome = Replayer(code("Order", renamed)).replay(record(false), {.instance = "o"});
  EXPECT_FALSE(outcome);
  EXPECT_EQ(outcome.problem(), Kind::kDiverges);
  EXPECT_THAT(outcome.report(), AllOf(HasSubstr("- 2  ActivityScheduled 'Charge' input=7   <- recorded in history"),
                                      HasSubstr("+ ActivityScheduled 'ChargeCard' input=7   <- decided by the code")));
  EXPECT_EQ(text_of(outcome), "diverges: " + outcome.report());
}

TEST_P(ReplayerTest, CodeMaySeeTheNameOfItsInstance) {
  const auto history = record(false);
  const Replayer replayer(code("Order", replayed_order));
  EXPECT_THAT(replayer.replay(history).report(), HasSubstr("'approved by recorded'"));
  EXPECT_TRUE(replayer.replay(history, {.instance = "o"}));
}

TEST_P(ReplayerTest, MissingCodeIsTold) {
  Registry registry;
  registry.add_orchestration("Order", "2.0.0", replayed_order);
  const auto outcome = Replayer(registry).replay(record(false), {.instance = "o"});
  EXPECT_EQ(outcome.problem(), Kind::kNotRegistered);
  EXPECT_THAT(outcome.report(), HasSubstr("orchestration 'Order' 1.0.0 is not registered (registered versions: 2.0.0"));
}

TEST_P(ReplayerTest, LaterExecutionsNeedTheirValues) {
  const auto loop = [](Ctx ctx) -> Orchestration<int> {
    const int round = ctx.get_kv_value<int>("round").value_or(0) + 1;
    ctx.set_kv_value("round", round);
    if (ctx.execution_id() == 1) co_return ctx.continue_as_new();
    co_return co_await ctx.schedule_wait<int>("never");
  };
  start("l", "Loop");
  run(code("Loop", loop));
  const auto history = cluster.client().read_execution_history("l", 2);
  const auto values = cluster.store()->admin()->read_key_value_snapshot("l").value();
  const Replayer replayer(code("Loop", loop));
  const auto outcome = replayer.replay(history, {.instance = "l", .execution = 2, .key_values = values});
  EXPECT_TRUE(outcome) << outcome;
  EXPECT_FALSE(replayer.replay(history, {.instance = "l", .execution = 2}));
}

// ---- text ----------------------------------------------------------------------------------------------------------

TEST_P(ReplayerTest, AHistoryIsKeptAsText) {
  const auto history = record(true);
  const std::string text = write_history_text(history);
  EXPECT_EQ(read_history_text(text), history);
  const auto outcome = Replayer(code("Order", replayed_order)).replay_text(text, {.instance = "o"});
  EXPECT_TRUE(outcome) << outcome;
  EXPECT_EQ(Replayer(code("Order", renamed)).replay_text(text).problem(), Kind::kDiverges);
}

TEST(Replayer, TextThatIsNoHistoryIsUndecodable) {
  const auto outcome = Replayer(code("Order", replayed_order)).replay_text("perdure history 1\nevent one\n");
  EXPECT_EQ(outcome.problem(), Kind::kUndecodable);
  EXPECT_THAT(outcome.report(), StartsWith("line 2: expected 'event <id>"));
  EXPECT_THROW(static_cast<void>(read_history_text("nothing\n")), std::runtime_error);
}

TEST(Replayer, NoEventsAreNoHistory) {
  const Replayer replayer(code("Order", replayed_order));
  EXPECT_EQ(replayer.replay({}).problem(), Kind::kCorrupt);
  EXPECT_EQ(replayer.replay_text("perdure history 1\n").problem(), Kind::kCorrupt);
}

TEST_P(ReplayerTest, EventsThatAreMissingAreCorrupt) {
  auto history = record(true);
  history.erase(history.begin() + 1);
  EXPECT_EQ(Replayer(code("Order", replayed_order)).replay(history).problem(), Kind::kCorrupt);
  history.erase(history.begin());
  EXPECT_EQ(Replayer(code("Order", replayed_order)).replay(history).problem(), Kind::kCorrupt);
}

TEST(Replayer, ARegistryWithErrorsIsRefused) {
  EXPECT_THROW(Replayer(code("Order", replayed_order).add_orchestration("Order", replayed_order)),
               std::invalid_argument);
}

}  // namespace
}  // namespace perdure::test
