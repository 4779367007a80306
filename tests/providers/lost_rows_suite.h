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
    registry_.add_orchestration("Patient", [](OrchestrationContext ctx) -> Orchestration<void> {
      auto never = ctx.schedule_timer(Milliseconds::max());
      co_await ctx.schedule_wait<void>("go");
    });
  }
  ~LostRows() override {
    if (is_working_) released_.set_value();
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
