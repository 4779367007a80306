// The workflows that people build: fan-out, people who answer or do not, sagas, retries, eternal ones, progress,
// upgrades.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Ctx = OrchestrationContext;

// What activities did, in the order in which they did it. Shared with them, since they may outlive the test's body.
struct Journal {
  void write(const std::string& line) {
    const std::scoped_lock lock(mutex);
    lines.push_back(line);
  }
  std::mutex mutex;
  std::vector<std::string> lines;  // read when nothing runs any more
};

using Workflows = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Workflows);

// ---- Fan-out ----

Registry fan_out() {
  Registry registry;
  registry.add_activity("Twice", [](ActivityContext&, int n) { return 2 * n; });
  registry.add_orchestration("Fan", [](Ctx ctx, int width) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 1; i <= width; ++i) parts.push_back(ctx.schedule_activity<int>("Twice", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  return registry;
}

void fan_out_in(World& world, int width) {
  world.start_node(fan_out());
  world.client().start_orchestration("i", "Fan", width);
  EXPECT_EQ(world.wait("i").result<int>(), width * (width + 1));
  // The start, the end, and two events for each: nothing ran, or was recorded, twice.
  EXPECT_EQ(world.event_kinds("i").size(), 2U + 2U * static_cast<std::size_t>(width));
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// A thousand turns take seconds where each is rebuilt or asks a server: there only one seed does it.
TEST_P(Workflows, FanOutOfAThousand) {
  const WorldKind& kind = world.kind();
  const bool quick = kind.threads || (kind.cache && kind.store != StoreKind::kPostgres);
  fan_out_in(world, quick || kind.seed == 1 ? 1'000 : 100);
}

// W1: the ancestor hung from 31 on. In one world for each store, because it takes its time.
class FanOut : public ::testing::TestWithParam<StoreKind> {};
INSTANTIATE_TEST_SUITE_P(Stores, FanOut,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kSqlite, StoreKind::kPostgres),
                         [](const auto& store) { return name_of(store.param); });

TEST_P(FanOut, OfThousands) {
  World world({.store = GetParam(), .threads = true});
  fan_out_in(world, GetParam() == StoreKind::kPostgres ? 2'000 : 10'000);
}

// ---- People ----

Registry approval() {
  Registry registry;
  registry.add_orchestration("Approval", [](Ctx ctx) -> Orchestration<std::string> {
    auto first = co_await perdure::select{ctx.schedule_wait<std::string>("approval"), ctx.schedule_timer(24h)};
    co_return first.index() == 0 ? "approved by " + std::get<0>(first) : std::string("nobody came");
  });
  return registry;
}

TEST_P(Workflows, TheAnswerOfAPersonBeatsTheTimeout) {
  world.start_node(approval());
  world.client().start_orchestration("i", "Approval");
  world.advance(23h);
  world.client().raise_event("i", "approval", "Ada");
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("i").result<std::string>(), "approved by Ada");
  // The timer that lost fires into the void, and nothing of it stays.
  world.advance(48h);
  EXPECT_EQ(world.client().get_orchestration_status("i").result<std::string>(), "approved by Ada");
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Workflows, TheTimeoutBeatsAPersonWhoDoesNotAnswer) {
  world.start_node(approval());
  world.client().start_orchestration("i", "Approval");
  world.advance(24h);
  EXPECT_EQ(world.client().get_orchestration_status("i").result<std::string>(), "nobody came");
  world.client().raise_event("i", "approval", "Ada");
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("i").result<std::string>(), "nobody came");
}

TEST_P(Workflows, AnAnswerGivenDuringADowntimeBeatsTheTimerThatFiredLater) {
  auto& node = world.start_node(approval());
  world.client().start_orchestration("i", "Approval");
  world.settle();
  world.stop_node(node);
  world.advance(23h);
  world.client().raise_event("i", "approval", "Ada");
  world.advance(48h);
  world.start_node(approval());
  EXPECT_EQ(world.wait("i").result<std::string>(), "approved by Ada");
}

TEST_P(Workflows, ALateAnswerIsNotTakenForTheNextOne) {
  Registry registry;
  registry.add_orchestration("Twice", [](Ctx ctx) -> Orchestration<std::string> {
    auto first = co_await perdure::select{ctx.schedule_wait<std::string>("answer"), ctx.schedule_timer(24h)};
    co_await ctx.schedule_timer(24h);
    auto second = co_await perdure::select{ctx.schedule_wait<std::string>("answer"), ctx.schedule_timer(24h)};
    const std::string one = first.index() == 0 ? std::get<0>(first) : "nothing";
    co_return one + ", " + (second.index() == 0 ? std::get<0>(second) : "nothing");
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Twice");
  world.advance(25h);
  world.client().raise_event("i", "answer", "late");
  world.advance(24h);
  EXPECT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kRunning);
  world.client().raise_event("i", "answer", "in time");
  EXPECT_EQ(world.wait("i").result<std::string>(), "nothing, in time");
}

// ---- Sagas ----

Registry saga_with(const std::shared_ptr<Journal>& journal) {
  Registry registry;
  registry.add_activity("Do", [journal](ActivityContext&, std::string what) {
    if (what == "ship") throw NonRetryableError("no ship sails");
    journal->write("do " + what);
  });
  registry.add_activity("Undo", [journal](ActivityContext&, std::string what) {
    journal->write("undo " + what);
    if (what == "pay") throw std::runtime_error("the bank is closed");
  });
  registry.add_orchestration("Order", [](Ctx ctx, std::string last) -> Orchestration<std::string> {
    Saga saga(ctx);
    for (const char* step : {"reserve", "pay", "pack"}) {
      co_await ctx.schedule_activity<void>("Do", step);
      saga.undo_with("Undo", std::string(step));
    }
    const auto shipped = co_await ctx.schedule_activity<void>("Do", last).as_result();
    if (shipped) {
      saga.commit();
      co_return "sent";
    }
    const auto not_undone = co_await saga.compensate();
    co_return shipped.error().message() + "; " + std::to_string(not_undone.size()) +
        " not undone: " + not_undone.at(0).message();
  });
  return registry;
}

TEST_P(Workflows, ASagaUndoesInReverseOrderAndGoesOnWhenAStepCannotBeUndone) {
  const auto journal = std::make_shared<Journal>();
  world.start_node(saga_with(journal));
  world.client().start_orchestration("i", "Order", "ship");
  EXPECT_EQ(world.wait("i").result<std::string>(), "no ship sails; 1 not undone: the bank is closed");
  EXPECT_THAT(journal->lines, ElementsAre("do reserve", "do pay", "do pack", "undo pack", "undo pay", "undo reserve"));
  world.client().start_orchestration("j", "Order", "send");
  EXPECT_EQ(world.wait("j").result<std::string>(), "sent");
  EXPECT_EQ(journal->lines.size(), 10U);  // four more were done, and none undone
}

// ---- Retries ----

using Count = std::shared_ptr<std::atomic<int>>;

// Fails until the attempt with that number.
Registry flaky(const Count& attempts, int succeeds_at) {
  Registry registry;
  registry.add_activity("Flaky", [attempts, succeeds_at](ActivityContext&) {
    const int attempt = ++*attempts;
    if (attempt < succeeds_at) throw std::runtime_error("attempt " + std::to_string(attempt));
    return attempt;
  });
  registry.add_activity("Hopeless", [attempts](ActivityContext&) -> int {
    ++*attempts;
    throw NonRetryableError("there is no such account");
  });
  registry.add_orchestration("Retry", [](Ctx ctx, std::string activity) -> Orchestration<int> {
    const auto options = ActivityOptions().retry(RetryPolicy(3).backoff(Backoff::exponential(1s, 2.0, 1h)));
    co_return co_await ctx.schedule_activity<int>(activity, options);
  });
  return registry;
}

TEST_P(Workflows, ARetryWaitsLongerEachTimeUntilAnAttemptSucceeds) {
  const Count attempts = std::make_shared<std::atomic<int>>(0);
  world.start_node(flaky(attempts, 3));
  world.client().start_orchestration("i", "Retry", "Flaky");
  world.advance(999ms);
  EXPECT_EQ(*attempts, 1);
  world.advance(1ms);
  EXPECT_EQ(*attempts, 2);
  world.advance(1'999ms);
  EXPECT_EQ(*attempts, 2);
  world.advance(1ms);
  EXPECT_EQ(world.client().get_orchestration_status("i").result<int>(), 3);
}

TEST_P(Workflows, ARetryGivesUpWithTheLastErrorAndAtOnceWithOneThatSaysSo) {
  const Count attempts = std::make_shared<std::atomic<int>>(0);
  world.start_node(flaky(attempts, 100));
  world.client().start_orchestration("flaky", "Retry", "Flaky");
  EXPECT_EQ(world.wait("flaky").state, OrchestrationState::kFailed);
  EXPECT_THAT(world.wait("flaky").error_text(), HasSubstr("attempt 3"));
  EXPECT_EQ(*attempts, 3);
  world.client().start_orchestration("hopeless", "Retry", "Hopeless");
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("hopeless").state, OrchestrationState::kFailed);
  EXPECT_THAT(world.wait("hopeless").error_text(), HasSubstr("there is no such account"));
  EXPECT_EQ(*attempts, 4);
}

TEST_P(Workflows, TheTotalTimeoutEndsAttemptsAndWaits) {
  const Count attempts = std::make_shared<std::atomic<int>>(0);
  Registry registry = flaky(attempts, 100);
  // An activity that no worker takes stands for one that hangs: with threads a world does not settle around that.
  registry.add_orchestration("Patient", [](Ctx ctx, bool hangs) -> Orchestration<std::string> {
    auto options = ActivityOptions().retry(RetryPolicy(100).backoff(Backoff::fixed(1h)).total_timeout(150min));
    if (hangs) options.tag("nobody");
    const auto outcome = co_await ctx.schedule_activity<int>("Flaky", options).as_result();
    co_return !outcome && outcome.error().is_timeout() ? "timeout" : "something else";
  });
  world.start_node(registry);
  world.client().start_orchestration("fails", "Patient", false);
  world.client().start_orchestration("hangs", "Patient", true);
  world.advance(1h);
  world.advance(1h);
  world.advance(29min);
  EXPECT_EQ(*attempts, 3);
  EXPECT_EQ(world.client().list_instances_by_status(ExecutionStatus::kRunning).size(), 2U);
  world.advance(1min);
  EXPECT_EQ(world.client().get_orchestration_status("fails").result<std::string>(), "timeout");
  EXPECT_EQ(world.client().get_orchestration_status("hangs").result<std::string>(), "timeout");
  world.advance(10h);
  EXPECT_EQ(*attempts, 3);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// ---- Eternal ones ----

TEST_P(Workflows, AnEternalWorkflowLosesAndRepeatsNoMessage) {
  Registry registry;
  // Three messages an execution; what it has seen goes to the next one.
  registry.add_orchestration("Eternal", [](Ctx ctx, std::string seen) -> Orchestration<std::string> {
    for (int i = 0; i < 3; ++i) {
      const int message = co_await ctx.dequeue_event<int>("inbox");
      if (message < 0) co_return seen;
      seen += std::to_string(message) + " ";
    }
    co_return ctx.continue_as_new(seen);
  });
  world.client().start_orchestration("i", "Eternal", "");
  std::string expected;
  for (int message = 0; message < 60; ++message) {
    // The first ten come with the start; later ones alone, or several at once, between turns and in the midst of them.
    if (message == 10) world.start_node(registry);
    if (message > 10 && message % 7 < 3) world.settle();
    world.client().enqueue_event("i", "inbox", message);
    expected += std::to_string(message) + " ";
  }
  world.client().enqueue_event("i", "inbox", -1);
  EXPECT_EQ(world.wait("i").result<std::string>(), expected);
  EXPECT_EQ(world.client().list_executions("i").size(), 21U);
}

TEST_P(Workflows, MessagesThatNobodyReadsTravelThroughAllExecutionsInOrder) {
  Registry registry;
  registry.add_orchestration("Eternal", [](Ctx ctx, int round) -> Orchestration<std::string> {
    co_await ctx.dequeue_event<int>("ticks");
    if (round < 20) co_return ctx.continue_as_new(round + 1);
    std::string letters;
    for (int i = 0; i < 26; ++i) letters += co_await ctx.dequeue_event<std::string>("letters");
    co_return letters;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Eternal", 1);
  for (int i = 0; i < 26; ++i) {
    world.client().enqueue_event("i", "letters", std::string(1, static_cast<char>('a' + i)));
    if (i < 20) world.client().enqueue_event("i", "ticks", i);
    if (i % 5 == 0) world.settle();
  }
  EXPECT_EQ(world.wait("i").result<std::string>(), "abcdefghijklmnopqrstuvwxyz");
}

// ---- Progress ----

TEST_P(Workflows, ClientsSeeHowFarItIs) {
  Registry registry;
  registry.add_orchestration("Steps", [](Ctx ctx) -> Orchestration<int> {
    for (int step = 1; step <= 3; ++step) {
      ctx.set_custom_status("step " + std::to_string(step));
      ctx.set_kv_value("step", step);
      co_await ctx.schedule_wait<void>("go");
    }
    ctx.reset_custom_status();
    ctx.clear_kv_value("step");
    ctx.set_kv_value("total", 3);
    co_return 3;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Steps");
  for (int step = 1; step <= 3; ++step) {
    world.settle();
    // It has changed already, so nobody waits.
    const auto status = world.client().wait_for_status_change("i", static_cast<std::uint64_t>(step) - 1, 0ms);
    EXPECT_EQ(status.custom_status, "step " + std::to_string(step));
    EXPECT_EQ(status.custom_status_version, static_cast<std::uint64_t>(step));
    EXPECT_EQ(world.client().get_kv_value<int>("i", "step"), step);
    world.client().raise_event("i", "go");
  }
  EXPECT_EQ(world.wait("i").result<int>(), 3);
  EXPECT_EQ(world.client().get_orchestration_status("i").custom_status, std::nullopt);
  EXPECT_EQ(world.client().get_orchestration_status("i").custom_status_version, 4U);
  EXPECT_THAT(world.client().get_kv_all_values("i"), ElementsAre(std::pair("total", "3")));
}

TEST_P(Workflows, ValuesAndStatusSurviveContinueAsNewAndOthersCanReadThem) {
  Registry registry;
  registry.add_orchestration("Counter", [](Ctx ctx) -> Orchestration<int> {
    // Read, change and write before and after a wait: a replay must not see its own future.
    ctx.set_kv_value("count", ctx.get_kv_value<int>("count").value_or(0) + 1);
    co_await ctx.schedule_timer(1min);
    const int count = ctx.get_kv_value<int>("count").value_or(0) + 1;
    ctx.set_kv_value("count", count);
    const std::string before = ctx.get_custom_status().value_or("");
    ctx.set_custom_status(before + "*");
    if (count < 10) co_return ctx.continue_as_new();
    co_await ctx.schedule_wait<void>("end");
    co_return count;
  });
  registry.add_orchestration("Reader", [](Ctx ctx) -> Orchestration<std::string> {
    const auto count = co_await ctx.get_kv_value_from_instance<int>("counter", "count");
    const auto no_key = co_await ctx.get_kv_value_from_instance<int>("counter", "nothing");
    const auto no_instance = co_await ctx.get_kv_value_from_instance<int>("nobody", "count");
    co_return std::to_string(count.value_or(-1)) + (no_key || no_instance ? " and more" : "");
  });
  world.start_node(registry);
  world.client().start_orchestration("counter", "Counter");
  for (int minute = 0; minute < 5; ++minute) world.advance(1min);
  EXPECT_EQ(world.client().get_orchestration_status("counter").custom_status, "*****");
  world.client().start_orchestration("reader", "Reader");
  EXPECT_EQ(world.wait("reader").result<std::string>(), "10");
  world.client().raise_event("counter", "end");
  EXPECT_EQ(world.wait("counter").result<int>(), 10);
  EXPECT_EQ(world.client().get_kv_value<int>("counter", "count"), 10);
}

TEST_P(Workflows, RecordedValuesStayAsTheyWere) {
  Registry registry;
  registry.add_orchestration("Values", [](Ctx ctx) -> Orchestration<bool> {
    const std::string guid = ctx.new_guid();
    const Timestamp now = ctx.utc_now();
    const std::uint64_t random = ctx.random();
    ctx.set_kv_value("guid", guid);
    ctx.set_kv_value("random", random);
    for (int i = 0; i < 3; ++i) co_await ctx.schedule_timer(1h);
    ctx.set_kv_value("guid after", guid);
    ctx.set_kv_value("random after", random);
    co_return ctx.utc_now() - now == 3h && ctx.new_guid() != guid&& ctx.random() != random;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Values");
  for (int hour = 0; hour < 3; ++hour) world.advance(1h);
  EXPECT_TRUE(world.client().get_orchestration_status("i").result<bool>());
  const auto values = world.client().get_kv_all_values("i");
  EXPECT_EQ(values.at("guid"), values.at("guid after"));
  EXPECT_EQ(values.at("random"), values.at("random after"));
  EXPECT_THAT(values.at("guid"), MatchesRegex("\"[0-9a-f]+-[0-9a-f]+-4[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+\""));
}

// ---- Upgrades ----

// Says which code ran it, and the version that it believes to be; continues as new when it is told to.
Registry versions(std::initializer_list<const char*> registered) {
  Registry registry;
  for (const char* version : registered) {
    registry.add_orchestration("Job", version, [code = std::string(version)](Ctx ctx) -> Orchestration<std::string> {
      // Kept before the first suspension; the handler lives as long as the node.
      const std::string ran = code;
      if (co_await ctx.schedule_wait<bool>("go on")) co_return ctx.continue_as_new();
      co_return ran + " as " + ctx.orchestration_version().to_string();
    });
  }
  return registry;
}

TEST_P(Workflows, ARunningInstanceKeepsItsVersionAndNewOnesGetTheLatest) {
  auto& old_node = world.start_node(versions({"1.0.0"}));
  for (const char* id : {"old", "renewed"}) world.client().start_orchestration(id, "Job");
  world.settle();
  world.stop_node(old_node);
  world.start_node(versions({"1.0.0", "1.10.0", "1.9.0"}));
  world.client().start_orchestration("new", "Job");
  world.client().start_orchestration("chosen", "Job", StartInstanceOptions().version("1.9.0"));
  world.settle();
  world.client().raise_event("renewed", "go on", true);
  world.settle();
  for (const char* id : {"old", "renewed", "new", "chosen"}) world.client().raise_event(id, "go on", false);
  EXPECT_EQ(world.wait("old").result<std::string>(), "1.0.0 as 1.0.0");
  EXPECT_EQ(world.wait("renewed").result<std::string>(), "1.10.0 as 1.10.0");
  EXPECT_EQ(world.wait("new").result<std::string>(), "1.10.0 as 1.10.0");
  EXPECT_EQ(world.wait("chosen").result<std::string>(), "1.9.0 as 1.9.0");
}

TEST(Upgrade, AnExactPolicyHoldsItBackAndCanBeChangedOnARunningNode) {
  const auto store = make_memory_provider();
  Registry registry;
  for (const char* version : {"1.0.0", "2.0.0"}) {
    registry.add_orchestration("Job", version, [](Ctx ctx) -> Orchestration<std::string> {
      co_return ctx.orchestration_version().to_string();
    });
  }
  registry.set_version_policy("Job", VersionPolicy::exact(SemanticVersion::of("1.0.0")));
  Runtime runtime(store, registry);
  const Client client(store);
  const auto version_of = [&](const std::string& id) {
    client.start_orchestration(id, "Job");
    return client.wait_for_orchestration(id, 30s).result<std::string>();
  };
  EXPECT_EQ(version_of("a"), "1.0.0");
  runtime.set_version_policy("Job", VersionPolicy::latest());
  EXPECT_EQ(version_of("b"), "2.0.0");
  runtime.set_version_policy("Job", VersionPolicy::exact(SemanticVersion::of("1.0.0")));
  EXPECT_EQ(version_of("c"), "1.0.0");
}

}  // namespace
}  // namespace perdure::test
