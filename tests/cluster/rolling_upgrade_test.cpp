// An upgrade of the engine, node by node, under load: old and new processes on one store. The new engine is this one
// with a later version and a kind of event that this one cannot read (see next_engine.cmake).
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster_store.h"
#include "cluster/worker_cluster.h"
#include "support/eventually.h"
#include "testing/cluster/histories.h"
#include "testing/cluster/workflows.h"

namespace perdure::test {
namespace {

using testing::cluster::expected_result;
using testing::cluster::kOrders;
using testing::cluster::read_executions;
using testing::cluster::StoredExecution;

using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Milliseconds kLong{100'000};
const SemanticVersion kOld = engine_version();
const SemanticVersion kNew = SemanticVersion::of(PERDURE_NEXT_VERSION);

class RollingUpgrade : public OnAStore {
 protected:
  // What goes to a node that cannot replay it is poison soon; and nobody loses a lock.
  static WorkerOptions options() {
    WorkerOptions options;
    options.max_attempts = 3;
    options.lock_timeout = Milliseconds(60'000);
    return options;
  }
  Worker& start_old() { return cluster.start_node(options()); }
  Worker& start_new() { return cluster.start_node(options(), PERDURE_WORKER_NEXT_CHILD); }

  // An instance that waits for an order, begun by the node that came first. Answers the engine that it is pinned to.
  SemanticVersion begin_waiting(const std::string& instance) {
    cluster.client().start_orchestration(instance, "Queue", kInput);
    EXPECT_TRUE(eventually([&] { return state(instance) == OrchestrationState::kRunning; })) << instance;
    return cluster.client().get_instance_info(instance).pinned_version.value_or(SemanticVersion{});
  }
  // As many of each engine, which both have nodes.
  std::map<SemanticVersion, std::vector<std::string>> begin_waiting_on_both(std::size_t of_each) {
    std::map<SemanticVersion, std::vector<std::string>> waiting;
    for (int i = 0; i < 1'000 && (waiting[kOld].size() < of_each || waiting[kNew].size() < of_each); ++i) {
      const std::string instance = "waits-" + std::to_string(i);
      waiting[begin_waiting(instance)].push_back(instance);
    }
    return waiting;
  }
  void order(const std::vector<std::string>& instances) {
    for (const std::string& instance : instances) cluster.client().enqueue_event(instance, kOrders, kInput);
  }
  void await_completion(const std::vector<std::string>& instances) {
    for (const std::string& instance : instances) {
      const OrchestrationStatus status = cluster.client().wait_for_orchestration(instance, kLong);
      ASSERT_TRUE(status.completed()) << instance << ": " << status.error_text();
      EXPECT_EQ(status.result<int>(), expected_result("Queue", kInput)) << instance;
    }
  }
  [[nodiscard]] OrchestrationState state(const std::string& instance) const {
    return cluster.client().get_orchestration_status(instance).state;
  }

  static constexpr int kInput = 5;
  WorkerCluster cluster{address()};
};
PERDURE_ON_EVERY_STORE(RollingUpgrade);

// Each execution is in the books of the engine that began it.
void check_engines(const std::vector<StoredExecution>& executions) {
  std::map<SemanticVersion, std::size_t> begun;
  std::size_t taken_over = 0;
  for (const StoredExecution& execution : executions) {
    SCOPED_TRACE(execution.instance + ", execution " + std::to_string(execution.execution));
    const SemanticVersion pin = execution.pinned_version.value_or(SemanticVersion{});
    ++begun[pin];
    EXPECT_EQ(execution.begins_with_unknown_kind, pin == kNew) << "the new engine, and no other, uses the new kind";
    EXPECT_EQ(execution.events.front().engine_version, pin);
    bool by_new_engine = false;
    for (const Event& event : execution.events) {
      by_new_engine = by_new_engine || event.engine_version == kNew;
      if (pin == kNew) {
        EXPECT_EQ(event.engine_version, kNew) << "an old node wrote event " << event.id;
      }
    }
    if (pin == kOld && by_new_engine) ++taken_over;
  }
  EXPECT_THAT(begun, SizeIs(2)) << "executions of the old and of the new engine, and of no other";
  EXPECT_GT(taken_over, 0U) << "the new engine goes on with what the old one began";
}

TEST_P(RollingUpgrade, EveryExecutionGoesToNodesThatCanReplayIt) {
  std::vector<Worker*> old{&start_old(), &start_old(), &start_old()};
  const std::vector<std::string> from_before{"before-1", "before-2"};
  for (const std::string& instance : from_before) EXPECT_EQ(begin_waiting(instance), kOld);
  cluster.start_workflows(90);

  cluster.stop_node(*old[0]);
  Worker& first_new = start_new();
  cluster.start_workflows(90);
  auto waiting = begin_waiting_on_both(3);
  ASSERT_THAT(waiting[kNew], SizeIs(Ge(3U)));
  ASSERT_THAT(waiting[kOld], SizeIs(Ge(3U)));

  // The only new node goes away. What it began waits for the next one, and what the old nodes can do, they do.
  cluster.await_workflows();
  cluster.stop_node(first_new);
  order(waiting[kNew]);
  order(waiting[kOld]);
  await_completion(waiting[kOld]);
  cluster.start_workflows(60);
  cluster.await_workflows();
  for (const std::string& instance : waiting[kNew]) EXPECT_EQ(state(instance), OrchestrationState::kRunning);
  start_new();
  await_completion(waiting[kNew]);

  for (Worker* node : {old[1], old[2]}) {
    cluster.start_workflows(60);
    cluster.stop_node(*node);
    start_new();
  }
  cluster.start_workflows(60);
  order(from_before);
  await_completion(from_before);
  cluster.await_workflows();
  for (Worker* node : cluster.nodes()) cluster.stop_node(*node);

  cluster.check_books();
  check_engines(read_executions(cluster.store()));
  EXPECT_THAT(cluster.logs(), Not(HasSubstr("instance abandoned"))) << "somebody got what he could not do";
}

// What the routing is for, and that the test above could fail.
TEST_P(RollingUpgrade, AnOldNodeThatTakesWhatItCannotReplayPoisonsIt) {
  Worker& new_node = start_new();
  EXPECT_EQ(begin_waiting("i"), kNew);
  cluster.stop_node(new_node);
  WorkerOptions careless = options();
  careless.replay_up_to = "99.0.0";
  careless.max_attempts = 1;
  Worker& old_node = cluster.start_node(careless);
  order({"i"});
  const OrchestrationStatus status = cluster.client().wait_for_orchestration("i", kLong);
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_TRUE(status.error.has_value());
  ASSERT_TRUE(std::holds_alternative<PoisonError>(*status.error)) << status.error_text();
  EXPECT_EQ(std::get<PoisonError>(*status.error).subject, PoisonSubject::kUndecodableHistory);
  EXPECT_THAT(old_node.log(), HasSubstr("unknown event kind"));
  EXPECT_THAT(cluster.logs(), HasSubstr("instance abandoned"));
}

}  // namespace
}  // namespace perdure::test
