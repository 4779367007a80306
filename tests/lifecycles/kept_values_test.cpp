// Key values and the custom status over executions, pruning, replacement and deletion, as code and clients see them.
#include <string>
#include <vector>

#include "lifecycles/programs.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using KeptValues = InEveryWorld;
PERDURE_IN_EVERY_WORLD(KeptValues);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(KeptValues);

using Text = std::string;
using Values = std::map<std::string, std::string>;

// Asks(id, key): the value of the key of that instance, or -1.
struct Question {
  Text id;
  Text key;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Question, id, key)

Registry add_asks(Registry registry) {
  registry.add_orchestration("AsksFor", [](OrchestrationContext ctx, Question question) -> Orchestration<int> {
    const auto value = co_await ctx.get_kv_value_from_instance<int>(question.id, question.key);
    co_return value.value_or(-1);
  });
  return registry;
}

int asked(World& world, const Text& id, const Text& key) {
  static int number = 0;
  const Text asker = "asker-" + std::to_string(++number);
  world.client().start_orchestration(asker, "AsksFor", Question{id, key});
  return world.wait(asker).result<int>();
}

// Keeps(rounds): sets "n" to its execution, continues as new until `rounds`, and waits for "end".
Registry add_keeps(Registry registry) {
  registry.add_orchestration("Keeps", [](OrchestrationContext ctx, int rounds) -> Orchestration<int> {
    ctx.set_kv_value("n", static_cast<int>(ctx.execution_id()));
    ctx.set_custom_status("round " + std::to_string(ctx.execution_id()));
    if (ctx.execution_id() < static_cast<ExecutionId>(rounds)) co_return ctx.continue_as_new(rounds);
    co_await ctx.dequeue_event<void>("end");
    co_return rounds;
  });
  return registry;
}

// Guide: "Keys and payloads are bytes". Limits: all names "but keys must also be valid UTF-8, not empty".
TEST_P(KeptValues, KeysAreBytes) {
  const std::vector<Text> keys{"", Text("\0a", 2), "\xff\xfe", "line\nbreak", "\"quoted\""};
  Registry registry;
  registry.add_orchestration("Sets", [keys](OrchestrationContext ctx) -> Orchestration<int> {
    if (ctx.execution_id() == 1) {
      for (std::size_t i = 0; i < keys.size(); ++i) ctx.set_kv_value(keys[i], static_cast<int>(i));
      co_return ctx.continue_as_new();
    }
    int sum = 0;
    for (const Text& key : keys) sum += ctx.get_kv_value<int>(key).value_or(100);
    co_return sum;
  });
  registry.add_orchestration("Reads", [keys](OrchestrationContext ctx) -> Orchestration<int> {
    int sum = 0;
    for (const Text& key : keys) {
      const auto value = co_await ctx.get_kv_value_from_instance<int>("i", key);
      sum += value.value_or(100);
    }
    co_return sum;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Sets");
  EXPECT_EQ(world.wait("i").result<int>(), 10);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(world.client().get_kv_value<int>("i", keys[i]), static_cast<int>(i));
  }
  world.client().start_orchestration("r", "Reads");
  world.wait("r");
  EXPECT_EQ(outcome_of(world.client(), "r"), "Completed 10");
}

// Guide: "perdure::Raw passes bytes through as they are", also between instances. Bytes that read "null" are a value.
TEST_P(KeptValues, AnotherInstanceReadsRawBytes) {
  Registry registry;
  registry.add_orchestration("Sets", [](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.set_kv_value("bytes", Raw(Text("\0\xff{", 3)));
    ctx.set_kv_value("null", Raw("null"));
    ctx.set_kv_value("empty", Raw());
    co_return;
  });
  registry.add_orchestration("Reads", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const std::vector<Text> keys{"bytes", "null", "empty", "missing"};
    Text text;
    for (const Text& key : keys) {
      const auto value = co_await ctx.get_kv_value_from_instance<Raw>("i", key);
      text += value ? std::to_string(value->text().size()) : "-";
    }
    co_return text;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Sets");
  world.wait("i");
  world.client().start_orchestration("r", "Reads");
  EXPECT_EQ(world.wait("r").result<Text>(), "340-");
}

// Guide: key values are "committed with the turn, survive continue-as-new and are read without the history".
TEST_P(KeptValues, AnotherInstanceReadsWhatARunningOneCommitted) {
  world.start_node(registry_of(add_keeps, add_asks));
  world.client().start_orchestration("i", "Keeps", 3);
  world.settle();
  EXPECT_EQ(asked(world, "i", "n"), 3);
  EXPECT_EQ(asked(world, "i", "other"), -1);
  EXPECT_EQ(asked(world, "unknown", "n"), -1);
}

// prune_executions: "Past executions with their histories; key-values stay". A termination keeps them too, and a
// deletion does not.
TEST_P(KeptValues, ValuesStayUntilTheInstanceIsDeleted) {
  world.start_node(registry_of(add_keeps, add_asks));
  world.client().start_orchestration("i", "Keeps", 3);
  world.settle();
  EXPECT_EQ(world.client().prune_executions("i").executions, 2U);
  EXPECT_EQ(asked(world, "i", "n"), 3);
  world.client().terminate_instance("i");
  world.settle();
  EXPECT_EQ(asked(world, "i", "n"), 3);
  world.client().prune_executions("i", {.keep_last = 0, .completed_before = {}});
  EXPECT_EQ(world.client().get_kv_value<int>("i", "n"), 3);
  world.client().delete_instance("i");
  EXPECT_EQ(asked(world, "i", "n"), -1);
  EXPECT_EQ(world.client().get_kv_all_values("i"), Values());
  EXPECT_EQ(world.client().get_orchestration_stats("i"), std::nullopt);
}

// StartPolicy::kReplaceIfTerminal "deletes an ended instance with its tree and starts anew".
TEST_P(KeptValues, AReplacementBeginsWithoutValuesAndStatus) {
  Registry registry = registry_of(add_keeps, add_victims);
  auto& node = world.start_node(registry);
  world.client().start_orchestration("i", "Keeps", 2);
  world.client().enqueue_event("i", "end");
  world.wait("i");
  world.stop_node(node);
  world.client().start_orchestration("i", "Victim", replacing());
  const auto check = [&] {
    EXPECT_EQ(world.client().get_kv_all_values("i"), Values());
    const OrchestrationStatus status = world.client().get_orchestration_status("i");
    EXPECT_EQ(status.custom_status, std::nullopt);
    EXPECT_EQ(status.custom_status_version, 0U);
    EXPECT_EQ(status.execution_id, 1U);
  };
  check();
  world.start_node(registry);
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  check();
}

// OrchestrationStatus: the version "grows with every change". Guide: the status survives continue-as-new, a reset too.
TEST_P(KeptValues, TheStatusAndItsVersionSurviveExecutions) {
  Registry registry;
  registry.add_orchestration("Tells", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const Text seen = ctx.get_custom_status().value_or("nothing");
    if (ctx.execution_id() == 1) ctx.set_custom_status("one");
    if (ctx.execution_id() == 2) ctx.reset_custom_status();
    if (ctx.execution_id() == 4) co_return seen;
    co_await ctx.dequeue_event<void>("go");
    if (seen != (ctx.execution_id() == 2 ? "one" : "nothing")) throw OrchestrationError("saw " + seen);
    co_return ctx.continue_as_new();
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Tells");
  const auto status = [&] {
    world.settle();
    const OrchestrationStatus now = world.client().get_orchestration_status("i");
    return now.custom_status.value_or("nothing") + " " + std::to_string(now.custom_status_version);
  };
  EXPECT_EQ(status(), "one 1");
  for (const char* expected : {"nothing 2", "nothing 2", "nothing 2"}) {
    world.client().enqueue_event("i", "go");
    EXPECT_EQ(status(), expected);
  }
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed \"nothing\"");
}

// prune_kv_values_updated_before: "Clears the keys last set before that time", whichever execution set them.
TEST_P(KeptValues, PruningOfKeysCountsFromTheirLastSetting) {
  Registry registry;
  registry.add_orchestration("Prunes", [](OrchestrationContext ctx, std::int64_t set_at) -> Orchestration<Text> {
    if (ctx.execution_id() == 1) {
      ctx.set_kv_value("old", 1);
      ctx.set_kv_value("again", 1);
      const Timestamp now = ctx.utc_now();
      co_await ctx.schedule_timer(1h);
      ctx.set_kv_value("again", 2);
      co_return ctx.continue_as_new(static_cast<std::int64_t>(now.time_since_epoch().count()));
    }
    const Timestamp first = Timestamp(Milliseconds(set_at));
    Text counts = std::to_string(ctx.prune_kv_values_updated_before(first));
    co_await ctx.schedule_timer(1h);
    counts += std::to_string(ctx.prune_kv_values_updated_before(first + 1ms));
    counts += std::to_string(ctx.get_kv_value<int>("again").value_or(0)) + std::to_string(ctx.get_kv_length());
    co_return counts;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Prunes", std::int64_t{0});
  EXPECT_EQ(world.wait("i").result<Text>(), "0121");
  EXPECT_EQ(world.client().get_kv_all_values("i"), (Values{{"again", "2"}}));
}

// clear_all_kv_values: the keys of earlier executions go too; a key that is set afterwards stays.
TEST_P(KeptValues, ClearedKeysStayClearedInLaterExecutions) {
  Registry registry;
  registry.add_orchestration("Clears", [](OrchestrationContext ctx) -> Orchestration<Text> {
    if (ctx.execution_id() == 1) {
      ctx.set_kv_value("a", 1);
      ctx.set_kv_value("b", 1);
    } else if (ctx.execution_id() == 2) {
      ctx.set_kv_value("c", 2);
      ctx.clear_all_kv_values();
      ctx.set_kv_value("b", 2);
    } else {
      Text text;
      for (const Text& key : ctx.get_kv_all_keys()) text += key;
      ctx.clear_kv_value("b");
      co_await ctx.dequeue_event<void>("go");
      co_return text + std::to_string(ctx.get_kv_length());
    }
    co_await ctx.dequeue_event<void>("go");
    co_return ctx.continue_as_new();
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Clears");
  for (const Values& expected : {Values{{"a", "1"}, {"b", "1"}}, Values{{"b", "2"}}, Values{}}) {
    world.settle();
    EXPECT_EQ(world.client().get_kv_all_values("i"), expected);
    EXPECT_EQ(world.client().get_orchestration_stats("i")->key_values, expected.size());
    world.client().enqueue_event("i", "go");
  }
  EXPECT_EQ(world.wait("i").result<Text>(), "b0");
}

// Limits::max_kv_keys bounds the keys of the instance, those of earlier executions included.
TEST_P(KeptValues, TheLimitOfKeysCountsEarlierExecutions) {
  RuntimeOptions options;
  options.limits.max_kv_keys = 2;
  Registry registry;
  registry.add_orchestration("Fills", [](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.set_kv_value("key " + std::to_string(ctx.execution_id()), 1);
    if (ctx.execution_id() < 3) co_return ctx.continue_as_new();
    co_return 1;
  });
  world.start_node(registry, options);
  world.client().start_orchestration("i", "Fills");
  world.wait("i");
  EXPECT_THAT(outcome_of(world.client(), "i"), HasSubstr("max_kv_keys"));
  EXPECT_EQ(world.client().get_kv_all_values("i").size(), 2U);
}

}  // namespace
}  // namespace perdure::test
