// Values, keys and traces of orchestrations over many turns: what a replay sees is what was there the first time.
#include <array>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

using Values = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Values);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Values);

std::string joined(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : " ") + key;
  return text;
}

// ---- Keys ----

// W6. Set at 0, 15, 30 and 45 minutes; b again after an hour.
TEST_P(Values, PruningGoesByTheTimeOfTheLastSetInEveryReplay) {
  Registry registry;
  registry.add_orchestration("Prune", [](Ctx ctx) -> Orchestration<std::string> {
    for (const char* key : {"d", "b", "a", "c"}) {
      ctx.set_kv_value(key, 1);
      co_await ctx.schedule_timer(15min);
    }
    ctx.set_kv_value("b", 2);
    co_await ctx.schedule_timer(15min);
    const std::size_t pruned = ctx.prune_kv_values_updated_before(ctx.utc_now() - 30min);
    std::string seen = std::to_string(pruned) + " pruned, left: " + joined(ctx.get_kv_all_keys());
    for (int i = 0; i < 2; ++i) co_await ctx.schedule_wait<void>("go");
    const std::size_t again = ctx.prune_kv_values_updated_before(ctx.utc_now() - 20min);
    co_return seen + "; " + std::to_string(again) + " pruned, left: " + joined(ctx.get_kv_all_keys());
  });
  auto& node = world.start_node(registry);
  world.client().start_orchestration("i", "Prune");
  for (int quarter = 0; quarter < 5; ++quarter) world.advance(15min);
  EXPECT_THAT(world.client().get_kv_all_values("i"), ElementsAre(Pair("b", "2"), Pair("c", "1")));
  world.client().raise_event("i", "go");
  world.settle();
  world.stop_node(node);
  world.start_node(registry);  // which knows it from its history alone
  world.client().raise_event("i", "go");
  EXPECT_EQ(world.wait("i").result<std::string>(), "2 pruned, left: b c; 1 pruned, left: b");
  EXPECT_THAT(world.client().get_kv_all_values("i"), ElementsAre(Pair("b", "2")));
}

// W24
TEST_P(Values, KeysOfEarlierTurnsCountAgainstTheLimit) {
  Registry registry;
  registry.add_orchestration("Keys", [](Ctx ctx) -> Orchestration<int> {
    ctx.set_kv_value("a", 1);
    co_await ctx.schedule_wait<void>("go");
    ctx.set_kv_value("b", 1);
    ctx.set_kv_value("c", 1);
    co_await ctx.schedule_wait<void>("go");
    ctx.set_kv_value("b", 2);  // is there already
    ctx.clear_kv_value("a");
    ctx.set_kv_value("d", 2);  // has the place of a
    co_await ctx.schedule_wait<void>("go");
    ctx.set_kv_value("b", 3);  // discarded with its turn
    ctx.set_kv_value("e", 3);
    co_return 0;
  });
  RuntimeOptions options;
  options.limits.max_kv_keys = 3;
  world.start_node(registry, options);
  world.client().start_orchestration("i", "Keys");
  for (int turn = 0; turn < 3; ++turn) {
    world.settle();
    ASSERT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kRunning) << turn;
    world.client().raise_event("i", "go");
  }
  const auto status = world.wait("i");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_EQ(std::get<ApplicationError>(*status.error).kind, ApplicationErrorKind::kLimitExceeded);
  EXPECT_THAT(status.error_text(), AllOf(HasSubstr("4 keys"), HasSubstr("max_kv_keys")));
  EXPECT_THAT(world.client().get_kv_all_values("i"), ElementsAre(Pair("b", "2"), Pair("c", "1"), Pair("d", "2")));
}

// ---- Recorded values ----

constexpr std::size_t kGuidLength = 36;

// Ten of them, one behind the other.
Registry guids(const std::string& name) {
  Registry registry;
  registry.add_orchestration(name, [](Ctx ctx) -> Orchestration<std::string> {
    std::string all;
    for (int i = 0; i < 10; ++i) all += ctx.new_guid();
    co_return all;
  });
  return registry;
}

// W17. Each node has its own half of the instances.
TEST_P(Values, GuidsOfOneMomentDifferInEveryDigit) {
  const std::array<std::string, 2> names{"First", "Second"};
  RuntimeOptions options;
  options.fetch_only_registered = true;
  for (const std::string& name : names) world.start_node(guids(name), options);
  for (int i = 0; i < 50; ++i) {
    world.client().start_orchestration(std::to_string(i), names.at(static_cast<std::size_t>(i % 2)));
  }
  const Timestamp moment = world.now();
  world.settle();
  ASSERT_EQ(world.now(), moment);
  std::set<std::string> different;
  std::array<std::set<char>, kGuidLength> digits;
  for (int i = 0; i < 50; ++i) {
    const auto all = world.client().get_orchestration_status(std::to_string(i)).result<std::string>();
    ASSERT_EQ(all.size(), 10 * kGuidLength);
    for (std::size_t at = 0; at < all.size(); ++at) digits.at(at % kGuidLength).insert(all[at]);
    for (std::size_t at = 0; at < all.size(); at += kGuidLength) different.insert(all.substr(at, kGuidLength));
  }
  EXPECT_THAT(different, SizeIs(500));
  for (std::size_t at = 0; at < kGuidLength; ++at) {
    if (at == 8 || at == 13 || at == 18 || at == 23) {
      EXPECT_THAT(digits.at(at), ElementsAre('-'));
    } else if (at == 14) {
      EXPECT_THAT(digits.at(at), ElementsAre('4')) << "the version";
    } else if (at == 19) {
      EXPECT_THAT(digits.at(at), ElementsAre('8', '9', 'a', 'b')) << "the variant";
    } else {
      EXPECT_THAT(digits.at(at), SizeIs(16)) << "digit " << at;
    }
  }
}

// ---- Traces ----

// W20. Nothing is decided behind the trace, so nothing in the history tells that the code has come there.
TEST_P(Values, ATraceBehindTheLastCompletionIsWrittenOnce) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  registry.add_orchestration("Traces", [](Ctx ctx) -> Orchestration<int> {
    auto go = ctx.schedule_wait<int>("go");
    auto end = ctx.schedule_wait<int>("end");
    co_await ctx.schedule_activity<int>("Work");
    ctx.trace_info("the work is done");
    const int gone = co_await go;
    ctx.trace_info("it may go");
    co_return gone + co_await end;
  });
  auto& node = world.start_node(registry);
  world.client().start_orchestration("i", "Traces");
  world.settle();
  EXPECT_THAT(world.log().find("the work is done"), SizeIs(1));
  world.client().raise_event("i", "go", 1);
  world.settle();
  world.stop_node(node);
  world.start_node(registry);  // which replays it all
  world.client().raise_event("i", "end", 2);
  EXPECT_EQ(world.wait("i").result<int>(), 3);
  EXPECT_THAT(world.log().find("the work is done"), SizeIs(1));
  EXPECT_THAT(world.log().find("it may go"), SizeIs(1));
}

}  // namespace
}  // namespace perdure::test
