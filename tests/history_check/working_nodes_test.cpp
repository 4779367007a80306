// The check beside nodes that work: it changes nothing, and what changes while it is read is read again.
#include <functional>
#include <map>

#include "history_check/scene.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What a round does depends on the value that the round before left.
Orchestration<int> working_rounds(Ctx ctx, int last) {
  const int round = ctx.get_kv_value<int>("round").value_or(0) + 1;
  co_await ctx.schedule_wait<int>("go " + std::to_string(round));
  ctx.set_kv_value("round", round);
  if (round == last) co_return round;
  co_return ctx.continue_as_new(last);
}

class WorkingNodes : public HistoryCheckScene {
 protected:
  WorkingNodes() {
    start("r", "Rounds", 100);
    run(registry);
    next();
    EXPECT_EQ(info("r").execution_id, 2U);
  }
  void next() {
    cluster.client().raise_event("r", "go " + std::to_string(info("r").execution_id), 0);
    run(registry);
  }
  // Does it before the store is asked like this, the first so many times.
  void before(const std::string& beginning, int times, std::function<void()> action) {
    store->watched.before = [beginning, times, action = std::move(action)](const std::string& call) mutable {
      if (call.starts_with(beginning) && times-- > 0) action();
    };
  }
  const Registry registry = code("Rounds", working_rounds);
};
PERDURE_ON_EVERY_STORE(WorkingNodes);

// ---- what changes while it is read ---------------------------------------------------------------------------------

TEST_P(WorkingNodes, AnExecutionThatEndedBetweenItsValuesAndItsEventsIsReadAgain) {
  before("history", 1, [this] { next(); });
  const auto result = check(registry);
  EXPECT_TRUE(result.ok()) << result.findings.front().to_string();
  EXPECT_EQ(result.counts.executions, 1U);
  EXPECT_THAT(store->watched.calls, ElementsAre("list 100", "values r", "history r 2", "info r", "info r", "values r",
                                                "history r 3", "info r"));
}

TEST_P(WorkingNodes, AnExecutionThatEndedBeforeItsValuesWereReadIsReadAgain) {
  before("values", 1, [this] { next(); });
  EXPECT_TRUE(check(registry).ok());
  EXPECT_THAT(store->watched.calls, Contains("history r 3"));
}

TEST_P(WorkingNodes, AnInstanceThatGoesOnEachTimeCannotBeChecked) {
  before("history", 1'000, [this] { next(); });
  const auto result = check(registry);
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kCannotTell, "r", 12)));
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.findings.front().live);
  EXPECT_THAT(result.findings.front().report, HasSubstr("during each of 10 reads"));
}

// With every history asked for, the ended execution is one of those.
TEST_P(WorkingNodes, AnExecutionThatEndedMeanwhileIsReplayedAsAPastOne) {
  before("history r 2", 1, [this] { next(); });
  HistoryCheckOptions options;
  options.live_only = false;
  const auto result = check(registry, options);
  EXPECT_TRUE(result.ok()) << result.findings.front().to_string();
  EXPECT_EQ(result.counts.executions, 2U);
}

TEST_P(WorkingNodes, AnInstanceThatEndsMeanwhileIsLeftOut) {
  before("values", 1, [this] {
    cluster.client().terminate_instance("r");
    run(registry);
  });
  const auto result = check(code("Other", working_rounds));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.executions, 0U);
}

TEST_P(WorkingNodes, AnInstanceThatIsDeletedMeanwhileIsLeftOut) {
  for (const char* call : {"values", "history", "info"}) {
    before(call, 1, [this] { cluster.client().delete_instance("r", true); });
    EXPECT_TRUE(check(registry).ok()) << call;
    start("r", "Rounds", 100);
    run(registry);
    next();
  }
  before("executions", 1, [this] { cluster.client().delete_instance("r", true); });
  EXPECT_TRUE(check_stored(registry).ok());
}

TEST_P(WorkingNodes, AnInstanceThatIsReplacedMeanwhileIsReadAgain) {
  before("history", 1, [this] {
    cluster.client().delete_instance("r", true);
    cluster.advance(1s);
    start("r", "Rounds", 100);
    run(registry);
    next();
  });
  EXPECT_TRUE(check(registry).ok());
  EXPECT_THAT(store->watched.calls, Contains("history r 2").Times(2));
}

TEST_P(WorkingNodes, HistoriesOfTwoInstancesOfOneNameCannotBeToldApart) {
  next();
  before("history r 2", 1, [this] {
    cluster.client().delete_instance("r", true);
    cluster.advance(1s);
    const Registry other = code("Rounds", [](Ctx ctx, int) -> Orchestration<int> {
      co_await ctx.schedule_wait<int>("go 1");
      if (ctx.execution_id() < 3) co_return ctx.continue_as_new(1);
      co_return 0;
    });
    start("r", "Rounds", 1);
    run(other);
    for (int i = 0; i < 2; ++i) {
      cluster.client().raise_event("r", "go 1", 0);
      run(other);
    }
  });
  const auto result = check_stored(registry);
  ASSERT_THAT(result.findings, Contains(IsFinding(Kind::kCannotTell, "r", 2)));
  EXPECT_THAT(result.findings.front().report, HasSubstr("deleted or replaced while it was read"));
}

TEST_P(WorkingNodes, WhatWasListedBetweenTwoExecutionsIsReadWhenItRuns) {
  const auto sprint = [](Ctx ctx, int round) -> Orchestration<int> {
    if (round == 1) co_return ctx.continue_as_new(2);
    co_return co_await ctx.schedule_wait<int>("never");
  };
  Registry old;
  old.add_orchestration("Sprint", "1.0.0", sprint);
  Registry both = Registry(old).merge(registry);
  start("s", "Sprint", 1);
  auto& node = cluster.start_node(both);
  cluster.step_until([&] {
    const auto status = cluster.client().get_orchestration_status("s");
    return status.state != OrchestrationState::kPending && info("s").status == ExecutionStatus::kContinuedAsNew;
  });
  before("info s", 1, [this] { cluster.settle(); });
  const auto result = check(both);
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(store->watched.calls, Contains("history s 2"));
  cluster.stop_node(node);
}

// ---- nothing is changed --------------------------------------------------------------------------------------------

// All that can be seen of a store.
struct Everything {
  std::map<std::string, InstanceInfo> instances;
  std::map<std::string, std::vector<std::vector<EventRecord>>> histories;
  std::map<std::string, std::map<std::string, std::string>> values;
  std::map<std::string, std::vector<KeyValue>> snapshots;
  QueueDepths queues;
  SystemMetrics metrics;
  std::vector<NodeInfo> nodes;
  bool operator==(const Everything&) const = default;
};

Everything everything_in(const SteppedCluster& cluster) {
  ProviderAdmin& admin = *cluster.store()->admin();
  Everything all;
  for (const std::string& id : cluster.client().list_all_instances()) {
    all.instances[id] = cluster.client().get_instance_info(id);
    for (const ExecutionId execution : cluster.client().list_executions(id)) {
      all.histories[id].push_back(admin.read_history(id, execution).value());
    }
    all.values[id] = cluster.client().get_kv_all_values(id);
    all.snapshots[id] = admin.read_key_value_snapshot(id).value();
  }
  all.queues = cluster.client().get_queue_depths();
  all.metrics = cluster.client().get_system_metrics();
  all.nodes = cluster.client().list_nodes();
  return all;
}

TEST_P(WorkingNodes, NothingIsChanged) {
  const auto busy = [](Ctx ctx) -> Orchestration<int> {
    auto slow = ctx.schedule_activity<int>("Slow", ActivityOptions().tag("nowhere"));
    auto timer = ctx.schedule_timer(24h);
    auto child = ctx.schedule_sub_orchestration<int>("Rounds", 3);
    ctx.set_custom_status("busy");
    co_return co_await child;
  };
  start("b", "Busy");
  run(code("Busy", busy).merge(registry));
  cluster.client().raise_event("b", "unread");
  start("queued", "Busy");
  const Everything before_it = everything_in(cluster);
  ASSERT_GE(before_it.queues.messages, 2U);
  ASSERT_EQ(before_it.queues.delayed_messages, 1U);
  ASSERT_EQ(before_it.queues.activities, 1U);

  EXPECT_TRUE(check(code("Busy", busy).merge(registry)).ok());
  EXPECT_EQ(check(code("Busy", working_rounds)).findings.size(), 3U);
  EXPECT_TRUE(check_stored(code("Busy", busy).merge(registry)).ok());
  EXPECT_EQ(check_stored(Registry()).findings.size(), 4U);
  EXPECT_EQ(everything_in(cluster), before_it);

  // Nothing is locked either: a node goes on at once.
  cluster.client().raise_event("b::sub::4", "go 1", 0);
  run(code("Busy", busy).merge(registry));
  EXPECT_EQ(info("b::sub::4").execution_id, 2U);
}

// ---- threads -------------------------------------------------------------------------------------------------------

class CheckBesideThreads : public ::testing::TestWithParam<WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Stores, CheckBesideThreads,
                         ::testing::Values(WorldKind{.threads = true},
                                           WorldKind{.store = StoreKind::kSqlite, .threads = true},
                                           WorldKind{.store = StoreKind::kPostgres, .threads = true}),
                         [](const auto& store) { return store.param.name(); });

// Each round's activities depend on the value of the round before, and rounds follow each other without a pause.
TEST_P(CheckBesideThreads, WhatIsUnderWayFits) {
  World world(GetParam());
  const Registry registry = code("Loop", [](Ctx ctx, int last) -> Orchestration<int> {
                              const int round = ctx.get_kv_value<int>("round").value_or(0) + 1;
                              for (int i = 0; i < 3; ++i) co_await ctx.schedule_activity<int>("Work", round + i);
                              ctx.set_kv_value("round", round);
                              if (round == last) co_return round;
                              co_return ctx.continue_as_new(last);
                            }).merge(echoes({"Work"}));
  world.start_node(registry);
  for (int i = 0; i < 8; ++i) world.client().start_orchestration("l" + std::to_string(i), "Loop", 15);
  const auto all_ended = [&] { return world.client().get_system_metrics().completed == 8; };
  HistoryCheckOptions options;
  options.page_size = 3;
  bool live = false;
  do {
    options.live_only = live = !live;
    const auto result = check_histories(*world.store(), registry, options);
    EXPECT_TRUE(result.complete);
    for (const auto& finding : result.findings) {
      EXPECT_EQ(finding.kind, Kind::kCannotTell) << finding.to_string();
    }
    world.store()->wake_waiters();  // as World::settle does: the clock stands still
  } while (!all_ended() && !HasFailure());
  world.settle();
  options.live_only = false;
  const auto result = check_histories(*world.store(), registry, options);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.executions, 8 * 15U);
}

}  // namespace
}  // namespace perdure::test
