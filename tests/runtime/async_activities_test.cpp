// Asynchronous activities: completed from anywhere, once, and many more of them than threads.
#include <stop_token>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;
using Handle = ActivityCompletion<int>;

class AsyncActivities : public Threaded {
 protected:
  AsyncActivities() : Threaded(std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)))) {}
};

// Where activities leave their handles for whoever completes them.
class Desk {
 public:
  void leave(Handle handle) const {
    const std::scoped_lock lock(state_->mutex);
    state_->handles.push_back(std::move(handle));
    state_->changed.notify_all();
  }
  // When there are at least so many; all of them.
  [[nodiscard]] std::vector<Handle> take(std::size_t at_least) const {
    std::unique_lock lock(state_->mutex);
    EXPECT_TRUE(state_->changed.wait_for(lock, kPatience, [&] { return state_->handles.size() >= at_least; }));
    return std::exchange(state_->handles, {});
  }
  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->handles.size();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Handle> handles;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST_F(AsyncActivities, AreCompletedFromAnotherThread) {
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, Handle done) { desk.leave(std::move(done)); });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  auto handles = desk.take(1);
  EXPECT_FALSE(ended("i"));
  std::thread([handle = std::move(handles[0])] { EXPECT_TRUE(handle.complete(5)); }).join();
  EXPECT_EQ(end_of("i").result<int>(), 5);
}

TEST_F(AsyncActivities, TheFirstOutcomeCounts) {
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, Handle done) { desk.leave(std::move(done)); });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  const Handle handle = desk.take(1)[0];
  const Handle copy = handle;
  EXPECT_TRUE(handle.complete(5));
  EXPECT_FALSE(copy.complete(6));
  EXPECT_FALSE(copy.fail("too late"));
  EXPECT_EQ(end_of("i").result<int>(), 5);
}

TEST_F(AsyncActivities, MayFail) {
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, Handle done) { desk.leave(std::move(done)); });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(desk.take(1)[0].fail("connection refused", false));
  EXPECT_THAT(end_of("i").error_text(), HasSubstr("connection refused"));
}

TEST_F(AsyncActivities, ADroppedHandleFailsItsActivity) {
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, Handle done) { desk.leave(std::move(done)); });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  desk.take(1).clear();
  EXPECT_THAT(end_of("i").error_text(), HasSubstr("dropped"));
}

TEST_F(AsyncActivities, MayBeCompletedByTheirOwnFunction) {
  Registry registry;
  registry.add_async_activity("Work", [](ActivityContext, Handle done) { done.complete(5); });
  add_flow(registry);
  const auto runtime = run(registry);
  for (int i = 0; i < 50; ++i) client.start_orchestration(std::to_string(i), "Flow");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(end_of(std::to_string(i)).result<int>(), 5);
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
}

TEST_F(AsyncActivities, ManyMoreThanThreadsAreOutAtOnce) {
  constexpr std::size_t kMany = 2'000;
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, int, Handle done) { desk.leave(std::move(done)); });
  registry.add_orchestration("Fan", [](Ctx ctx, int n) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 0; i < n; ++i) parts.push_back(ctx.schedule_activity<int>("Work", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  options.worker_concurrency = 2;
  options.max_async_activities = 4'000;
  const auto runtime = run(registry);
  client.start_orchestration("i", "Fan", static_cast<int>(kMany));
  const auto handles = desk.take(kMany);
  EXPECT_EQ(handles.size(), kMany);
  for (const Handle& handle : handles) handle.complete(1);
  EXPECT_EQ(end_of("i").result<int>(), static_cast<int>(kMany));
}

TEST_F(AsyncActivities, TheirCapHolds) {
  constexpr std::size_t kMany = 2'000;
  constexpr std::size_t kCap = 300;
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, int, Handle done) { desk.leave(std::move(done)); });
  registry.add_orchestration("Fan", [](Ctx ctx, int n) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 0; i < n; ++i) parts.push_back(ctx.schedule_activity<int>("Work", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  options.worker_concurrency = 2;
  options.max_async_activities = kCap;
  const auto runtime = run(registry);
  client.start_orchestration("i", "Fan", static_cast<int>(kMany));
  std::size_t completed = 0;
  while (completed < kMany) {
    const auto full = std::min(kCap, kMany - completed);
    ASSERT_TRUE(eventually([&] { return desk.size() >= full; })) << completed;
    const auto handles = desk.take(full);
    EXPECT_LE(handles.size(), kCap);
    completed += handles.size();
    for (const Handle& handle : handles) handle.complete(1);
  }
  EXPECT_EQ(end_of("i").result<int>(), static_cast<int>(kMany));
}

TEST_F(AsyncActivities, AreToldToStop) {
  const Desk desk;
  const Gate stopped;
  std::optional<std::stop_callback<std::function<void()>>> told;
  Registry registry;
  registry.add_async_activity("Work", [&, desk, stopped](ActivityContext ctx, Handle done) {
    told.emplace(ctx.stop_token(), [stopped] { stopped.open(); });
    desk.leave(std::move(done));
  });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  const Handle handle = desk.take(1)[0];
  client.cancel_instance("i");
  EXPECT_TRUE(stopped.wait()) << "at once: the clock stands still";
  handle.complete(5);
  EXPECT_EQ(end_of("i").state, OrchestrationState::kCancelled);
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_EQ(store->acks, 0);
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
}

TEST_F(AsyncActivities, KeepTheirLock) {
  const Desk desk;
  Registry registry;
  registry.add_async_activity("Work", [desk](ActivityContext, Handle done) { desk.leave(std::move(done)); });
  add_flow(registry);
  add_chore(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  const Handle handle = desk.take(1)[0];
  pass_in_steps(5s, 30);  // five times the timeout of its lock
  EXPECT_TRUE(handle.complete(5));
  EXPECT_EQ(end_of("i").result<int>(), 5);
  EXPECT_EQ(desk.size(), 0U) << "it was not run again";
}

TEST_F(AsyncActivities, AreTimedOutAndToldToStop) {
  const Desk desk;
  const Gate stopped;
  std::optional<std::stop_callback<std::function<void()>>> told;
  Registry registry;
  registry.add_async_activity("Work", [&, desk, stopped](ActivityContext ctx, Handle done) {
    told.emplace(ctx.stop_token(), [stopped] { stopped.open(); });
    desk.leave(std::move(done));
  });
  add_flow(registry, "Flow", "Work", ActivityOptions().timeout(1s));
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  const Handle handle = desk.take(1)[0];
  clock->advance(1s);
  EXPECT_EQ(end_of("i").state, OrchestrationState::kFailed);
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_TRUE(stopped.is_open()) << "its orchestration no longer needs the result";
  handle.complete(5);
}

}  // namespace
}  // namespace perdure::test
