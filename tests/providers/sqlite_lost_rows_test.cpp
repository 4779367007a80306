// Rows that a store has lost or that were damaged: the status falls back to the history, and find_stuck_instances
// reports instances that would wait forever.
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

using ::testing::HasSubstr;

class SqliteLostRows : public ::testing::Test {
 protected:
  SqliteLostRows() {
    registry_.add_activity("Work", [this](ActivityContext&, int number) {
      begun_.set_value();
      released_.get_future().wait();
      return number;
    });
    registry_.add_orchestration("Flow", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_activity<int>("Work", 1);
    });
    registry_.add_orchestration("Number", [](OrchestrationContext) -> Orchestration<int> { co_return 42; });
    registry_.add_orchestration("Fails", [](OrchestrationContext) -> Orchestration<int> {
      throw std::runtime_error("on purpose");
      co_return 0;
    });
    registry_.add_orchestration(
        "Waits", [](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  }
  ~SqliteLostRows() override {
    if (begun_by_test_) released_.set_value();
  }

  // Returns when the activity runs.
  void start_flow(const Client& client) {
    client.start_orchestration("a", "Flow");
    begun_.get_future().wait();
    begun_by_test_ = true;
  }
  void change(const char* sql) const { open_plainly(path_).execute(sql); }
  static void expect_stuck(const Client& client, const std::string& why) {
    const std::vector<StuckInstance> stuck = client.find_stuck_instances();
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].instance, "a");
    EXPECT_THAT(stuck[0].reason, HasSubstr(why));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("store.db");
  Registry registry_;
  std::promise<void> begun_;
  std::promise<void> released_;
  bool begun_by_test_ = false;
};

TEST_F(SqliteLostRows, TheStatusFallsBackToTheHistory) {
  const std::shared_ptr<Provider> store = SqliteProvider::open(path_);
  const Client client(store);
  {
    Runtime runtime(store, registry_);
    client.start_orchestration("a", "Number");
    client.start_orchestration("b", "Fails");
    for (const char* instance : {"a", "b"}) {
      static_cast<void>(client.wait_for_orchestration(instance, Milliseconds{60'000}));
    }
  }
  change("DELETE FROM executions");
  const OrchestrationStatus completed = client.get_orchestration_status("a");
  EXPECT_EQ(completed.state, OrchestrationState::kCompleted);
  EXPECT_EQ(completed.output, "42");
  const OrchestrationStatus failed = client.get_orchestration_status("b");
  EXPECT_EQ(failed.state, OrchestrationState::kFailed);
  ASSERT_TRUE(failed.error);
  EXPECT_THAT(describe(*failed.error), HasSubstr("on purpose"));
}

TEST_F(SqliteLostRows, ALostActivityIsReported) {
  const std::shared_ptr<Provider> store = SqliteProvider::open(path_);
  const Client client(store);
  Runtime runtime(store, registry_);
  start_flow(client);
  EXPECT_TRUE(client.find_stuck_instances().empty());
  change("DELETE FROM activities");
  expect_stuck(client, "activity 'Work'");
  expect_stuck(client, "not in the worker queue");
  begun_by_test_ = false;
  released_.set_value();
}

TEST_F(SqliteLostRows, AnActivityThatIsNeverReadyIsReported) {
  const std::shared_ptr<Provider> store = SqliteProvider::open(path_);
  const Client client(store);
  Runtime runtime(store, registry_);
  start_flow(client);
  change("UPDATE activities SET ready_at = 9223372036854775807");
  expect_stuck(client, "outside 1970 to 9999");
  begun_by_test_ = false;
  released_.set_value();
}

TEST_F(SqliteLostRows, AnInstanceThatIsNeverReadyIsReported) {
  const std::shared_ptr<Provider> store = SqliteProvider::open(path_);
  const Client client(store);
  {
    Runtime runtime(store, registry_);
    client.start_orchestration("a", "Waits");
    while (client.get_orchestration_status("a").state != OrchestrationState::kRunning) std::this_thread::yield();
  }
  Runtime runtime(store, registry_);
  EXPECT_TRUE(client.find_stuck_instances().empty());
  change("UPDATE instances SET ready_at = 9223372036854775807");
  expect_stuck(client, "its next turn");
  client.raise_event("a", "go");
  EXPECT_EQ(client.wait_for_orchestration("a", Milliseconds{60'000}).state, OrchestrationState::kCompleted);
}

}  // namespace
}  // namespace perdure::testing
