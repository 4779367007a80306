// Rows that a store has lost or that were damaged: the status falls back to the history, and find_stuck_instances
// reports instances that would wait forever, and no others. Include it once in a test program, and instantiate it with
// the stores that this has.
#pragma once

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace perdure::testing {

// A store whose tables a test changes.
class DamagedStore {
 public:
  DamagedStore() = default;
  DamagedStore(const DamagedStore&) = delete;
  DamagedStore& operator=(const DamagedStore&) = delete;
  virtual ~DamagedStore() = default;

  [[nodiscard]] virtual std::shared_ptr<Provider> open() = 0;
  virtual void change(const std::string& statement) = 0;
};

struct LostRowsStore {
  const char* name;
  std::unique_ptr<DamagedStore> (*make)();
};

inline std::string lost_rows_store_name(const ::testing::TestParamInfo<LostRowsStore>& store) {
  return store.param.name;
}

class LostRows : public ::testing::TestWithParam<LostRowsStore> {
 protected:
  LostRows() {
    registry_.add_activity("Work", [this](ActivityContext&, int number) {
      begun_.set_value();
      released_.get_future().wait();
      return number;
    });
    registry_.add_orchestration("Flow", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_activity<int>("Work", 1);
    });
    registry_.add_orchestration("Guarded", [](OrchestrationContext ctx) -> Orchestration<int> {
      auto limit = ctx.schedule_timer(Milliseconds{3'600'000});
      co_return co_await ctx.schedule_activity<int>("Work", 1);
    });
    registry_.add_orchestration("Number", [](OrchestrationContext) -> Orchestration<int> { co_return 42; });
    registry_.add_orchestration("Fails", [](OrchestrationContext) -> Orchestration<int> {
      throw std::runtime_error("on purpose");
      co_return 0;
    });
    registry_.add_orchestration(
        "Waits", [](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
    registry_.add_orchestration("Sleeps", [](OrchestrationContext ctx) -> Orchestration<void> {
      co_await ctx.schedule_timer(Milliseconds{3'600'000});
    });
    registry_.add_orchestration("SleepsTwice", [](OrchestrationContext ctx) -> Orchestration<void> {
      auto later = ctx.schedule_timer(Milliseconds{7'200'000});
      co_await ctx.schedule_timer(Milliseconds{3'600'000});
      co_await later;
    });
    registry_.add_orchestration("Calls", [](OrchestrationContext ctx) -> Orchestration<void> {
      co_await ctx.schedule_sub_orchestration<void>("Waits", SubOrchestrationOptions().instance_id("child"));
    });
    registry_.add_orchestration("Patient", [](OrchestrationContext ctx) -> Orchestration<void> {
      auto never = ctx.schedule_timer(Milliseconds::max());
      co_await ctx.schedule_wait<void>("go");
    });
  }
  ~LostRows() override {
    if (is_working_) released_.set_value();
  }

  static Registry again(const std::string& version) {
    Registry registry;
    registry.add_orchestration("Again", version, [](OrchestrationContext ctx, int n) -> Orchestration<int> {
      if (ctx.execution_id() == 1) co_return ctx.continue_as_new(n, StartOptions().version("2.0.0"));
      co_return co_await ctx.schedule_wait<int>("go");
    });
    return registry;
  }
  // Returns when its activity runs.
  void start_work(const std::string& flow) {
    client_.start_orchestration("a", flow);
    begun_.get_future().wait();
    is_working_ = true;
  }
  // Runs the first turn.
  void begin(const std::string& flow) {
    Runtime runtime(store_, registry_);
    client_.start_orchestration("a", flow);
    while (client_.get_orchestration_status("a").state != OrchestrationState::kRunning) std::this_thread::yield();
  }
  void expect_stuck(const std::string& why) {
    const std::vector<StuckInstance> stuck = client_.find_stuck_instances();
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].instance, "a");
    EXPECT_THAT(stuck[0].reason, ::testing::HasSubstr(why));
  }
  void expect_none_stuck() {
    for (const StuckInstance& stuck : client_.find_stuck_instances()) {
      ADD_FAILURE() << stuck.instance << ": " << stuck.reason;
    }
  }

  std::unique_ptr<DamagedStore> damaged_ = GetParam().make();
  std::shared_ptr<Provider> store_ = damaged_->open();
  Client client_{store_};
  Registry registry_;
  std::promise<void> begun_;
  std::promise<void> released_;
  bool is_working_ = false;
};

TEST_P(LostRows, TheStatusFallsBackToTheHistory) {
  {
    Runtime runtime(store_, registry_);
    client_.start_orchestration("a", "Number");
    client_.start_orchestration("b", "Fails");
    for (const char* instance : {"a", "b"}) {
      static_cast<void>(client_.wait_for_orchestration(instance, Milliseconds{60'000}));
    }
  }
  damaged_->change("DELETE FROM executions");
  const OrchestrationStatus completed = client_.get_orchestration_status("a");
  EXPECT_EQ(completed.state, OrchestrationState::kCompleted);
  EXPECT_EQ(completed.output, "42");
  const OrchestrationStatus failed = client_.get_orchestration_status("b");
  EXPECT_EQ(failed.state, OrchestrationState::kFailed);
  ASSERT_TRUE(failed.error);
  EXPECT_THAT(describe(*failed.error), ::testing::HasSubstr("on purpose"));
}

// As the first test, for administration: another execution, and an instance that runs.
TEST_P(LostRows, TheInfoOfExecutionsFallsBackToTheHistory) {
  Registry registry;
  registry.add_orchestration("Twice", [](OrchestrationContext ctx, int number) -> Orchestration<int> {
    if (ctx.execution_id() == 1) co_return ctx.continue_as_new(number + 1);
    if (number == 2) co_return number;
    co_return co_await ctx.schedule_wait<int>("go");
  });
  {
    Runtime runtime(store_, registry);
    client_.start_orchestration("a", "Twice", 1);
    static_cast<void>(client_.wait_for_orchestration("a", Milliseconds{60'000}));
    client_.start_orchestration("b", "Twice", 5);
    while (client_.get_orchestration_status("b").execution_id < 2) std::this_thread::yield();
  }
  const InstanceInfo info = client_.get_instance_info("a");
  ASSERT_EQ(info.output, "2");
  const std::vector<InstanceInfo> all = client_.list_instances({}).instances;
  std::vector<ExecutionInfo> executions;
  for (const char* instance : {"a", "b"}) {
    for (const ExecutionId execution : {1U, 2U}) {
      executions.push_back(client_.get_execution_info(instance, execution));
    }
  }
  damaged_->change("DELETE FROM executions");
  EXPECT_EQ(client_.get_instance_info("a"), info);
  EXPECT_EQ(client_.list_instances({}).instances, all);
  EXPECT_THAT(client_.list_executions("a"), ::testing::ElementsAre(1U, 2U));
  for (std::size_t index = 0; index < executions.size(); ++index) {
    const char* instance = index < 2 ? "a" : "b";
    SCOPED_TRACE(instance + std::to_string(index));
    const ExecutionInfo found = client_.get_execution_info(instance, executions[index].execution_id);
    EXPECT_EQ(found.status, executions[index].status);
    EXPECT_EQ(found.output, executions[index].output);
    EXPECT_EQ(found.pinned_version, executions[index].pinned_version);
    EXPECT_EQ(found.events, executions[index].events);
    EXPECT_EQ(found.completed_at.has_value(), executions[index].completed_at.has_value());
  }
  EXPECT_THROW(static_cast<void>(client_.get_execution_info("a", 3)), ClientError);
}

TEST_P(LostRows, ALostActivityIsReportedAlsoWithATimerInTheQueue) {
  for (const char* flow : {"Flow", "Guarded"}) {
    SCOPED_TRACE(flow);
    Runtime runtime(store_, registry_);
    start_work(flow);
    expect_none_stuck();
    damaged_->change("DELETE FROM activities");
    expect_stuck("activity 'Work'");
    expect_stuck("not in the worker queue");
    client_.terminate_instance("a", "its activity is lost");
    released_.set_value();
    is_working_ = false;
    static_cast<void>(client_.wait_for_orchestration("a", Milliseconds{60'000}));
    client_.delete_instance("a", true);
    runtime.shutdown();
    begun_ = std::promise<void>();
    released_ = std::promise<void>();
  }
}

TEST_P(LostRows, AnActivityThatIsNeverReadyIsReported) {
  Runtime runtime(store_, registry_);
  start_work("Flow");
  damaged_->change("UPDATE activities SET ready_at = 9223372036854775807");
  expect_stuck("scheduled for a time after 9999");
  released_.set_value();
  is_working_ = false;
}

TEST_P(LostRows, AnInstanceThatIsNeverReadyIsReported) {
  begin("Waits");
  Runtime runtime(store_, registry_);
  expect_none_stuck();
  damaged_->change("UPDATE instances SET ready_at = 9223372036854775807");
  expect_stuck("its next turn");
  client_.raise_event("a", "go");
  EXPECT_EQ(client_.wait_for_orchestration("a", Milliseconds{60'000}).state, OrchestrationState::kCompleted);
}

TEST_P(LostRows, AStartThatIsNeverReadyIsReported) {
  client_.start_orchestration("a", "Number");
  damaged_->change("UPDATE instances SET ready_at = 9223372036854775807");
  Runtime runtime(store_, registry_);
  expect_stuck("its next turn");
}

TEST_P(LostRows, AContinuationThatIsNeverReadyIsReported) {
  {
    Runtime runtime(store_, again("1.0.0"));
    client_.start_orchestration("a", "Again", 1);
    const auto has_continued = [&] {
      const auto state = client_.get_orchestration_status("a").state;
      return state == OrchestrationState::kRunning &&
             client_.get_instance_info("a").status == ExecutionStatus::kContinuedAsNew;
    };
    while (!has_continued()) std::this_thread::yield();
  }
  damaged_->change("UPDATE instances SET ready_at = 9223372036854775807");
  NodeInfo node;
  node.id = "with code";
  node.orchestrations = {{"Again", {2, 0, 0}}};
  ASSERT_TRUE(store_->register_node(node));
  expect_stuck("its next turn");
}

TEST_P(LostRows, ALostTimerIsReported) {
  begin("Sleeps");
  Runtime runtime(store_, registry_);
  expect_none_stuck();
  damaged_->change("DELETE FROM messages");
  damaged_->change("UPDATE instances SET ready_at = NULL");
  expect_stuck("timer (2)");
}

// Beside one that is there.
TEST_P(LostRows, OneLostTimerOfTwoIsReported) {
  for (const char* order : {"ASC", "DESC"}) {
    SCOPED_TRACE(order);
    begin("SleepsTwice");
    Runtime runtime(store_, registry_);
    expect_none_stuck();
    damaged_->change(std::string("DELETE FROM messages WHERE id = (SELECT id FROM messages ORDER BY visible_at ") +
                     order + " LIMIT 1)");
    expect_stuck("has no message in the queue");
    client_.terminate_instance("a", "its timer is lost");
    static_cast<void>(client_.wait_for_orchestration("a", Milliseconds{60'000}));
    client_.delete_instance("a", true);
  }
}

TEST_P(LostRows, ALostChildIsReported) {
  begin("Calls");
  Runtime runtime(store_, registry_);
  while (client_.get_orchestration_status("child").state != OrchestrationState::kRunning) std::this_thread::yield();
  expect_none_stuck();
  damaged_->change("DELETE FROM instances WHERE id = 'child'");
  expect_stuck("child 'child' (2)");
}

TEST_P(LostRows, ALostStartOfAChildIsReported) {
  // No node takes the start of the child.
  Registry registry;
  registry.add_orchestration("Calls", [](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_sub_orchestration<void>("Waits", SubOrchestrationOptions().instance_id("child"));
  });
  RuntimeOptions options;
  options.fetch_only_registered = true;
  Runtime runtime(store_, registry, options);
  NodeInfo node;
  node.id = "with code";
  node.orchestrations = {{"Waits", {1, 0, 0}}};
  ASSERT_TRUE(store_->register_node(node));
  client_.start_orchestration("a", "Calls");
  while (client_.get_orchestration_status("child").state != OrchestrationState::kPending) std::this_thread::yield();
  expect_none_stuck();
  damaged_->change("DELETE FROM messages");
  damaged_->change("DELETE FROM instances WHERE id = 'child'");
  expect_stuck("child 'child' (2)");
}

TEST_P(LostRows, ALostOutcomeOfAChildIsReported) {
  begin("Calls");
  Runtime runtime(store_, registry_);
  while (client_.get_orchestration_status("child").state != OrchestrationState::kRunning) std::this_thread::yield();
  damaged_->change("UPDATE instances SET status = 1 WHERE id = 'child'");
  expect_stuck("child 'child' (2)");
}

TEST_P(LostRows, ATimerThatNeverFiresIsReported) {
  begin("Sleeps");
  Runtime runtime(store_, registry_);
  expect_none_stuck();
  damaged_->change("UPDATE messages SET visible_at = 9223372036854775807");
  damaged_->change("UPDATE instances SET ready_at = 9223372036854775807");
  expect_stuck("its next message");
}

TEST_P(LostRows, ATimerWithoutEndIsNotReported) {
  begin("Patient");
  Runtime runtime(store_, registry_);
  expect_none_stuck();
  client_.raise_event("a", "go");
  EXPECT_EQ(client_.wait_for_orchestration("a", Milliseconds{60'000}).state, OrchestrationState::kCompleted);
}

}  // namespace perdure::testing
