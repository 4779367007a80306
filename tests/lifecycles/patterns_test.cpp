// The patterns of the guide while nodes die and messages come at every moment.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lifecycles/moments.h"

namespace perdure::test {
namespace {

using Patterns = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(Patterns);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Patterns);

using Text = std::string;

RuntimeOptions patient() {
  RuntimeOptions options;
  options.max_attempts = 1'000;
  return options;
}

struct Letters {
  int round = 0;
  Text read;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Letters, round, read)

// Mailbox: reads the queue "inbox" until "stop", two messages an execution.
Orchestration<Text> read_mail(OrchestrationContext ctx, Letters letters) {
  for (int i = 0; i < 2; ++i) {
    const auto message = co_await ctx.dequeue_event<Text>("inbox");
    if (message == "stop") co_return letters.read;
    letters.read += co_await ctx.schedule_activity<Text>("Handle", message);
  }
  co_return ctx.continue_as_new(letters);
}

// Guide, queues: "first in, first out", and over continue-as-new "unread ones go along". A node dies at each moment.
TEST_P(Patterns, AMailboxReadsEveryMessageOnceInOrder) {
  Registry registry;
  registry.add_activity("Handle", [](ActivityContext&, Text text) { return text; });
  registry.add_orchestration("Mailbox", read_mail);
  at_every_moment(GetParam(), [&](World& world, int moment) {
    auto& mortal = world.start_node(registry, patient());
    world.client().start_orchestration("m", "Mailbox", Letters());
    for (const char* text : {"a", "b", "c"}) world.client().enqueue_event("m", "inbox", text);
    const bool reached = take_steps(world, moment);
    for (const char* text : {"d", "e"}) world.client().enqueue_event("m", "inbox", text);
    world.kill_node(mortal);
    world.start_node(registry, patient());
    world.client().enqueue_event("m", "inbox", "stop");
    EXPECT_EQ(world.wait("m").result<Text>(), "abcde");
    expect_deletable(world, "m");
    return reached;
  });
}

// Guide, Monitor: "a round an execution, and a queue through which it can be told to stop". No moment loses the
// message.
TEST_P(Patterns, AMonitorHearsItsStop) {
  Registry registry;
  registry.add_activity("Ping", [](ActivityContext&) { return true; });
  registry.add_orchestration("Monitor", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_activity<bool>("Ping");
    const auto first = co_await perdure::select{ctx.dequeue_event<int>("stop"), ctx.schedule_timer(1s)};
    if (first.index() == 1) co_return ctx.continue_as_new();
    co_return std::get<0>(first);
  });
  const auto run = [&](World& world, int moment) {
    world.start_node(registry, patient());
    world.client().start_orchestration("m", "Monitor");
    take_steps(world, moment);
    world.client().enqueue_event("m", "stop", 7);
    EXPECT_EQ(world.wait("m").result<int>(), 7);
    EXPECT_LE(world.client().list_executions("m").size(), 60U);
    world.advance(1s);
    EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
    return moment < 60;  // a monitor never comes to rest
  };
  at_every_moment(GetParam(), run);
}

// Guide: "let the orchestration announce that it waits (set_custom_status), and raise it after" the change of status.
// Such an event is always heard.
TEST_P(Patterns, AnAnnouncedEventIsHeard) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration("Asks", [](OrchestrationContext ctx) -> Orchestration<Text> {
    Text heard;
    for (int i = 0; i < 3; ++i) {
      for (int part = 0; part < 4; ++part) co_await ctx.schedule_activity<int>("Work", part);
      auto answer = ctx.schedule_wait<Text>("answer");
      ctx.set_custom_status("question " + std::to_string(i));
      const auto first = co_await perdure::select{answer, ctx.schedule_timer(24h)};
      heard += first.index() == 0 ? std::get<0>(first) : "-";
    }
    co_return heard;
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    auto& mortal = world.start_node(registry, patient());
    world.client().start_orchestration("i", "Asks");
    bool mortal_lives = true;
    bool reached = true;
    for (std::uint64_t seen = 0; seen < 3; ++seen) {
      if (mortal_lives && seen == 1) {
        reached = take_steps(world, moment);
        world.kill_node(mortal);
        world.start_node(registry, patient());
        mortal_lives = false;
      }
      world.until([&] { return world.client().get_orchestration_status("i").custom_status_version > seen; });
      world.client().raise_event("i", "answer", std::to_string(seen));
    }
    EXPECT_EQ(world.wait("i").result<Text>(), "012");
    return reached;
  });
}

// Guide, fan out with a window: "borrowed: the others go on". Each part counts once, wherever the node dies.
TEST_P(Patterns, AWindowCountsEveryPartOnce) {
  Registry registry;
  registry.add_activity("Import", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration("ImportAll", [](OrchestrationContext ctx, int parts) -> Orchestration<int> {
    std::vector<Future<int>> running;
    int next = 0;
    int sum = 0;
    while (next < parts || !running.empty()) {
      while (next < parts && running.size() < 2) running.push_back(ctx.schedule_activity<int>("Import", 1 << next++));
      const auto first = co_await ctx.select(running);
      sum += first.value();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(first.index()));
    }
    co_return sum;
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    auto& mortal = world.start_node(registry, patient());
    world.start_node(registry, patient());
    world.client().start_orchestration("i", "ImportAll", 5);
    const bool reached = take_steps(world, moment);
    world.kill_node(mortal);
    EXPECT_EQ(world.wait("i").result<int>(), 31);
    expect_deletable(world, "i");
    return reached;
  });
}

// Saga: "undoes it in reverse order", and every step is undone. A repeated attempt has the key of the first.
TEST_P(Patterns, ASagaUndoesEveryStepLastFirst) {
  at_every_moment(GetParam(), [&](World& world, int moment) {
    const auto undone = std::make_shared<std::vector<Text>>();
    const auto keys = std::make_shared<std::map<Text, Text>>();
    Registry registry;
    registry.add_activity("Do", [](ActivityContext&, Text what) {
      if (what == "c") throw std::runtime_error("no c");
      return what;
    });
    registry.add_activity("Undo", [undone, keys](ActivityContext& context, Text what) {
      if (!keys->emplace(context.idempotency_key(), what).second) return;
      undone->push_back(what);
    });
    registry.add_orchestration("Travel", [](OrchestrationContext ctx) -> Orchestration<Text> {
      Saga saga(ctx);
      for (char c = 'a'; c <= 'c'; ++c) {
        const Text what(1, c);
        const auto done = co_await ctx.schedule_activity<Text>("Do", what).as_result();
        if (done) {
          saga.undo_with("Undo", *done);
          continue;
        }
        const auto left = co_await saga.compensate();
        co_return "undone, " + std::to_string(left.size()) + " left";
      }
      co_return "done";
    });
    auto& mortal = world.start_node(registry, patient());
    world.client().start_orchestration("i", "Travel");
    const bool reached = take_steps(world, moment);
    world.kill_node(mortal);
    world.start_node(registry, patient());
    EXPECT_EQ(world.wait("i").result<Text>(), "undone, 0 left");
    EXPECT_THAT(*undone, ::testing::ElementsAre("b", "a"));
    return reached;
  });
}

// Guide: a child "is cancelled when its future is dropped or its parent ends", also one that continues as new just
// then. Nothing of the family is left.
TEST_P(Patterns, ACancelReachesAChildThatContinuesAsNew) {
  Registry registry;
  registry.add_orchestration("Rounds", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_timer(100ms);
    co_return ctx.continue_as_new();
  });
  registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<int> {
    const auto options = child_id("rounds");
    co_return co_await ctx.schedule_sub_orchestration<int>("Rounds", options);
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    world.start_node(registry, patient());
    world.start_node(registry, patient());
    world.client().start_orchestration("p", "Parent");
    take_steps(world, moment);
    world.client().cancel_instance("p", "by hand");
    world.wait("p");
    world.advance(1s);
    EXPECT_EQ(outcome_of(world.client(), "p"), "Cancelled: cancelled: by hand");
    const Text child = outcome_of(world.client(), "rounds");
    EXPECT_TRUE(child == "Cancelled: cancelled: parent cancelled" || child == "NotFound") << child;
    expect_deletable(world, "p");
    return moment < 60;  // the child never comes to rest
  });
}

}  // namespace
}  // namespace perdure::test
