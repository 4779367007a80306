// A parent that asks for a child under an id that is taken is refused; the instance that has the id notices nothing.
// The guide promises "It is cancelled when its future is dropped or its parent ends" of a parent's own child only. Each
// program ends the would-be parent, or drops its future, before the refusal can reach it.
#include <perdure/engine_metrics.h>
#include "lifecycles/queued_child.h"

namespace perdure::test {
namespace {

using ForeignCancel = InEveryWorld;
PERDURE_IN_EVERY_WORLD(ForeignCancel);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(ForeignCancel);
using SteppedForeignCancel = InEveryWorld;
INSTANTIATE_TEST_SUITE_P(Worlds, SteppedForeignCancel, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& kind) { return kind.param.name(); });

using ::testing::Not;

constexpr const char* kImpostors[] = {"EndsEarly", "FailsEarly", "DropsEarly", "ContinuesEarly"};

std::uint64_t ignored(const World& world, std::string_view reason) {
  return world.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", reason}});
}

void expect_foreign_link_logged(const World& world) {
  const auto records = world.log().find("it is from or for another parent, or another incarnation of it");
  ASSERT_THAT(records, Not(::testing::IsEmpty()));
  EXPECT_EQ(records.front().level, LogLevel::kWarn);
}

// Each asks for the child `id` and does not wait for it.
Registry add_impostors(Registry registry) {
  registry.add_orchestration("EndsEarly", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    auto child = ctx.schedule_sub_orchestration<int>("Victim", options);
    co_await ctx.schedule_timer(1s);
    co_return 1;
  });
  registry.add_orchestration("FailsEarly", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    auto child = ctx.schedule_sub_orchestration<int>("Victim", options);
    co_await ctx.schedule_timer(1s);
    throw OrchestrationError("enough");
  });
  registry.add_orchestration("DropsEarly", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    {
      const auto options = child_id(id);
      auto child = ctx.schedule_sub_orchestration<int>("Victim", options);
      co_await ctx.schedule_timer(1s);
    }
    co_await ctx.schedule_timer(1s);
    co_return 1;
  });
  registry.add_orchestration("ContinuesEarly", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    if (ctx.execution_id() > 1) co_return 1;
    const auto options = child_id(id);
    auto child = ctx.schedule_sub_orchestration<int>("Victim", options);
    co_await ctx.schedule_timer(1s);
    co_return ctx.continue_as_new(id);
  });
  return registry;
}

// Awaits the child `id`.
Registry add_owner(Registry registry) {
  registry.add_orchestration("Owner", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    co_return co_await ctx.schedule_sub_orchestration<int>("Victim", options);
  });
  return registry;
}

// An instance that no node can fetch, so that none refuses a child start under its id.
class Locked {
 public:
  Locked(World& world, const std::string& id) : world_(world) {
    world.client().raise_event(id, "anything");
    OrchestrationFetch fetch;
    fetch.lock_timeout = 24h;
    const OrchestrationBatch batch = world.store()->fetch_orchestration_items(fetch).value();
    EXPECT_EQ(batch.items.at(0).instance, id);
    token_ = batch.items.at(0).token;
  }
  void release() {
    const Abandon abandon{.token = token_, .ignore_attempt = true};
    world_.store()->abandon_orchestration_item(abandon).value();
  }

 private:
  World& world_;
  LockToken token_;
};

// The impostors come and go on a node without the victim's code; then a node with all code works.
void meet_impostors(World& world, const std::string& victim, Locked* locked = nullptr) {
  auto& node = world.start_node(registry_of(add_impostors, add_owner), only_registered());
  for (const char* impostor : kImpostors) world.client().start_orchestration(impostor, impostor, victim);
  for (const std::string how : {"cancel", "terminate"}) world.client().start_orchestration(how, "EndsEarly", victim);
  world.settle();
  world.client().cancel_instance("cancel", "by hand");
  world.client().terminate_instance("terminate", "by hand");
  for (const char* impostor : kImpostors) EXPECT_TRUE(world.wait(impostor).ended());
  for (const char* impostor : {"cancel", "terminate"}) EXPECT_TRUE(world.wait(impostor).ended());
  world.stop_node(node);
  if (locked != nullptr) locked->release();
  world.start_node(registry_of(add_victims, add_impostors, add_owner), only_registered());
  world.settle();
  EXPECT_EQ(ignored(world, "foreign_link"), 6U) << "each of them has sent a cancel";
  expect_foreign_link_logged(world);
}

void expect_unharmed(World& world, const std::string& victim) {
  EXPECT_EQ(outcome_of(world.client(), victim), "Running");
  world.client().enqueue_event(victim, "go");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), victim), "Completed 7");
}

TEST_P(ForeignCancel, ATopLevelInstanceThatIsOnlyQueuedIsUnharmed) {
  world.client().start_orchestration("x", "Victim");
  meet_impostors(world, "x");
  expect_unharmed(world, "x");
}

TEST_P(ForeignCancel, ATopLevelInstanceThatRunsIsUnharmed) {
  world.client().start_orchestration("x", "Victim");
  run_node(world, add_victims());
  Locked locked(world, "x");
  meet_impostors(world, "x", &locked);
  expect_unharmed(world, "x");
}

TEST_P(ForeignCancel, AnotherParentsChildAndThatParentAreUnharmed) {
  world.client().start_orchestration("owner", "Owner", "x");
  run_node(world, registry_of(add_victims, add_owner));
  Locked locked(world, "x");
  meet_impostors(world, "x", &locked);
  expect_unharmed(world, "x");
  EXPECT_EQ(outcome_of(world.client(), "owner"), "Completed 7");
}

TEST_P(ForeignCancel, AnotherParentsChildThatIsOnlyQueuedIsUnharmed) {
  world.client().start_orchestration("owner", "Owner", "x");
  run_node(world, registry_of(add_owner));
  meet_impostors(world, "x");
  expect_unharmed(world, "x");
  EXPECT_EQ(outcome_of(world.client(), "owner"), "Completed 7");
}

// The start that is refused, the cancel and an event of a client come in one batch. The refusal then meets a parent
// that has ended, too.
TEST_P(ForeignCancel, AnInstanceThatHasEndedDiscardsItToo) {
  world.client().start_orchestration("x", "Quick", 1);
  run_node(world, add_victims());
  postpone(world, "x", 30min);
  world.client().start_orchestration("impostor", "EndsEarly", "x");
  world.start_node(registry_of(add_impostors), only_registered());
  EXPECT_EQ(world.wait("impostor").result<int>(), 1);
  world.advance(30min);
  EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 1");
  EXPECT_EQ(ignored(world, "foreign_link"), 1U);
  EXPECT_EQ(ignored(world, "execution_ended"), 3U);
  expect_foreign_link_logged(world);
}

// Nodes that fetch what they have no code for. Each foreign cancel would end the backoff, and after ten of them the
// instance and its parent would fail.
TEST_P(ForeignCancel, QueuedInstancesWithoutCodeLoseNoAttempts) {
  RuntimeOptions options;
  options.unregistered_backoff = {.base = 1h, .max = 1h};
  world.client().start_orchestration("x", "Victim");
  world.client().start_orchestration("owner", "Owner", "y");
  auto& node = world.start_node(registry_of(add_impostors, add_owner), options);
  world.settle();
  for (int i = 0; i < 10; ++i) {
    for (const std::string victim : {"x", "y"}) {
      const std::string impostor = victim + std::to_string(i);
      world.client().start_orchestration(impostor, kImpostors[i % 4], victim);
      EXPECT_TRUE(world.wait(impostor).ended());
    }
  }
  EXPECT_EQ(world.metrics().counter_total(metric::kUnregisteredBackoff.name), 2U) << "one for each instance";
  EXPECT_EQ(outcome_of(world.client(), "x"), "Pending");
  world.stop_node(node);
  world.start_node(registry_of(add_victims, add_impostors, add_owner), only_registered());
  world.advance(1h);
  EXPECT_EQ(ignored(world, "foreign_link"), 20U);
  expect_unharmed(world, "x");
  expect_unharmed(world, "y");
  EXPECT_EQ(outcome_of(world.client(), "owner"), "Completed 7");
}

// The cancel of its own parent needs no code, so it does not wait.
TEST_P(ForeignCancel, ItsOwnParentCancelsAQueuedInstanceWithoutCodeAtOnce) {
  RuntimeOptions options;
  options.unregistered_backoff = {.base = 1h, .max = 1h};
  world.client().start_orchestration("owner", "Owner", "x");
  world.start_node(registry_of(add_owner), options);
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "x"), "Pending");
  world.client().terminate_instance("owner", "by hand");
  world.settle();
  EXPECT_THAT(outcome_of(world.client(), "x"), ::testing::StartsWith("Cancelled: "));
}

TEST_P(ForeignCancel, AChildDoesNotCancelItsOwnParent) {
  const auto add_father = [](Registry registry) {
    registry.add_orchestration("Father", [](OrchestrationContext ctx) -> Orchestration<int> {
      const std::string id = ctx.instance_id();
      const int one = co_await ctx.schedule_sub_orchestration<int>("EndsEarly", id);
      co_await ctx.dequeue_event<void>("go");
      co_return one;
    });
    return registry;
  };
  world.client().start_orchestration("father", "Father");
  run_node(world, registry_of(add_father));
  run_node(world, registry_of(add_impostors), 1s);  // the child has ended; its father has not gone on yet
  world.start_node(registry_of(add_father, add_impostors, add_victims), only_registered());
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "father"), "Running");
  world.client().enqueue_event("father", "go");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "father"), "Completed 1");
}

TEST_P(ForeignCancel, ADetachedChildOfAnEarlierExecutionIsUnharmed) {
  // Guide: a detached operation "survives the end of the orchestration, unless that is cancelled".
  const auto add_twice = [](Registry registry) {
    registry.add_orchestration("Twice", [](OrchestrationContext ctx) -> Orchestration<int> {
      const auto options = child_id("x");
      if (ctx.execution_id() == 1) {
        ctx.schedule_sub_orchestration<int>("Victim", options).detach();
        co_await ctx.schedule_timer(1s);
        co_return ctx.continue_as_new();
      }
      {
        auto again = ctx.schedule_sub_orchestration<int>("Victim", options);
        co_await ctx.schedule_timer(1s);
      }
      co_return 1;
    });
    return registry;
  };
  for (const bool runs : {false, true}) {
    world.client().start_orchestration("twice", "Twice", replacing());
    if (runs) run_node(world, registry_of(add_twice, add_victims));
    auto& without = world.start_node(registry_of(add_twice), only_registered());
    EXPECT_EQ(world.wait("twice").result<int>(), 1);
    world.stop_node(without);
    auto& node = world.start_node(registry_of(add_twice, add_victims), only_registered());
    world.settle();
    expect_unharmed(world, "x");
    world.stop_node(node);
  }
}

TEST_P(ForeignCancel, ASiblingWithTheSameIdIsUnharmed) {
  // The second asks for the id of the first, is dropped before the refusal comes, and the first goes on.
  const auto add_siblings = [](Registry registry) {
    registry.add_orchestration("Siblings", [](OrchestrationContext ctx) -> Orchestration<int> {
      const auto options = child_id("x");
      auto first = ctx.schedule_sub_orchestration<int>("Victim", options);
      {
        auto second = ctx.schedule_sub_orchestration<int>("Victim", options);
        co_await ctx.schedule_timer(1s);
      }
      co_return co_await first;
    });
    return registry;
  };
  world.client().start_orchestration("siblings", "Siblings");
  run_node(world, registry_of(add_siblings), 1min);
  world.start_node(registry_of(add_siblings, add_victims), only_registered());
  world.settle();
  expect_unharmed(world, "x");
  EXPECT_EQ(outcome_of(world.client(), "siblings"), "Completed 7");
}

// The start for its own id and the timer come in one batch, so that it continues before it knows of the refusal.
TEST_P(SteppedForeignCancel, AnInstanceThatAsksForItsOwnIdDoesNotCancelItsNextExecution) {
  const auto add_narcissus = [](Registry registry) {
    registry.add_orchestration("Narcissus", [](OrchestrationContext ctx) -> Orchestration<int> {
      if (ctx.execution_id() == 1) {
        const auto options = child_id(ctx.instance_id());
        auto child = ctx.schedule_sub_orchestration<int>("Victim", options);
        co_await ctx.schedule_timer(1s);
        co_return ctx.continue_as_new();
      }
      co_await ctx.dequeue_event<void>("go");
      co_return 7;
    });
    return registry;
  };
  const Registry code = registry_of(add_narcissus, add_victims);
  world.client().start_orchestration("n", "Narcissus");
  auto& first = world.start_node(code);
  while (world.event_kinds("n").empty()) ASSERT_TRUE(world.step());
  world.stop_node(first);
  world.advance(1s);
  world.start_node(code);
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("n").execution_id, 2U);
  expect_unharmed(world, "n");
}

TEST_P(ForeignCancel, ADeletedParentsCancelDoesNotReachTheNextOwnerOfTheId) {
  // The parent ends and tells its queued child to end; both are deleted, and another instance gets the child's id.
  world.client().start_orchestration("p", "Owner", "x");
  auto& node = world.start_node(registry_of(add_owner), only_registered());
  world.settle();
  world.client().terminate_instance("p", "by hand");
  world.settle();
  world.stop_node(node);
  world.client().delete_instance("p", true);
  EXPECT_EQ(world.client().start_orchestration("x", "Victim"), StartOutcome::kEnqueued);
  world.start_node(registry_of(add_owner, add_victims), only_registered());
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("x").parent, std::nullopt);
  expect_unharmed(world, "x");
}

TEST_P(ForeignCancel, AnOldIncarnationsCancelDoesNotReachTheNewOnesChild) {
  world.client().start_orchestration("p", "Owner", "x");
  auto& node = world.start_node(registry_of(add_owner), only_registered());
  world.settle();
  world.client().terminate_instance("p", "by hand");
  world.settle();
  world.client().delete_instance("p", true);
  world.client().start_orchestration("p", "Owner", "x");
  world.settle();
  world.stop_node(node);
  world.start_node(registry_of(add_owner, add_victims), only_registered());
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("x").parent, "p");
  expect_unharmed(world, "x");
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed 7");
}

}  // namespace
}  // namespace perdure::test
