// The threads that activities run on, by themselves.
#include "runtime/activity_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using runtime::ActivityThreads;
using runtime::RunId;

class ActivityPlaces : public ::testing::Test {
 protected:
  void start(RunId run, std::function<void(ActivityContext&)> function) {
    runtime::worker::Start wanted;
    wanted.run = run;
    wanted.handler = std::make_shared<const ActivityHandler>(
        [function](const std::shared_ptr<detail::ActivityCall>& call, const Payload&) {
          ActivityContext context(call);
          function(context);
          call->end(Payload("1"));
        });
    threads->start(std::move(wanted));
  }
  static std::function<void(ActivityContext&)> stays(const Gate& begun, const Gate& go_on) {
    return [begun, go_on](ActivityContext&) {
      begun.open();
      go_on.wait();
    };
  }
  ~ActivityPlaces() override { threads->close(std::chrono::steady_clock::now() + kPatience); }

  std::shared_ptr<std::atomic<int>> ended = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> returned = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<ActivityThreads> threads = std::make_unique<ActivityThreads>(
      1, nullptr, Logger(),
      ActivityThreads::Reports{.ended = [ended = ended](RunId, const ActivityOutcome&) { ++*ended; },
                               .heartbeat = {},
                               .returned = [returned = returned](RunId) { ++*returned; }});
};

TEST_F(ActivityPlaces, EndsAndReturnsAreReported) {
  start(1, [](ActivityContext&) {});
  EXPECT_TRUE(eventually([&] { return *returned == 1; }));
  EXPECT_EQ(*ended, 1);
}

TEST_F(ActivityPlaces, AStopReachesTheRunThatItIsFor) {
  const Gate begun;
  const Gate stopped;
  start(1, [begun, stopped](ActivityContext& ctx) {
    const std::stop_callback told(ctx.stop_token(), [&] { stopped.open(); });
    begun.open();
    stopped.wait();
  });
  ASSERT_TRUE(begun.wait());
  threads->stop(2);
  EXPECT_FALSE(stopped.is_open());
  threads->stop(1);
  EXPECT_TRUE(stopped.wait());
}

// Its thread has just come free and has not taken it up yet.
TEST_F(ActivityPlaces, AStopReachesARunThatHasNoThreadYet) {
  const Gate begun;
  const Gate go_on;
  start(1, stays(begun, go_on));
  ASSERT_TRUE(begun.wait());
  std::atomic<bool> ran_unstopped = false;
  start(2, [&](ActivityContext& ctx) { ran_unstopped = !ctx.is_cancelled(); });
  threads->stop(2);
  go_on.open();
  EXPECT_TRUE(eventually([&] { return *returned == 2; }));
  EXPECT_FALSE(ran_unstopped);
}

TEST_F(ActivityPlaces, AReplacedThreadMakesRoomAndEndsWhenItsRunReturns) {
  const Gate begun;
  const Gate go_on;
  start(1, stays(begun, go_on));
  ASSERT_TRUE(begun.wait());
  threads->replace_thread(1);
  start(2, [](ActivityContext&) {});
  EXPECT_TRUE(eventually([&] { return *returned == 1; })) << "the new thread runs it";
  go_on.open();
  EXPECT_TRUE(eventually([&] { return *returned == 2; }));
}

// It will have the first thread that comes free, and keep it.
TEST_F(ActivityPlaces, ARunThatHasNoThreadYetCanBeReplaced) {
  const Gate begun;
  const Gate go_on;
  start(1, stays(begun, go_on));
  ASSERT_TRUE(begun.wait());
  const Gate second_begun;
  start(2, stays(second_begun, go_on));
  threads->replace_thread(2);
  EXPECT_TRUE(second_begun.wait());
  go_on.open();
  EXPECT_TRUE(eventually([&] { return *returned == 2; }));
}

// It has returned while its thread was about to be replaced.
TEST_F(ActivityPlaces, AThreadThatIsBackIsNotReplaced) {
  start(1, [](ActivityContext&) {});
  start(2, [](ActivityContext&) {});
  ASSERT_TRUE(eventually([&] { return *returned == 2; })) << "the thread of the first has gone on";
  threads->replace_thread(1);
  const auto running = std::make_shared<std::atomic<int>>(0);
  const auto most = std::make_shared<std::atomic<int>>(0);
  constexpr int kRuns = 200;
  for (RunId run = 3; run < 3 + kRuns; ++run) {
    start(run, [running, most](ActivityContext&) {
      const int now = ++*running;
      if (now > *most) *most = now;
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
      --*running;
    });
  }
  EXPECT_TRUE(eventually([&] { return *returned == 2 + kRuns; }));
  EXPECT_EQ(*most, 1) << "there is one thread";
}

TEST_F(ActivityPlaces, ClosingLeavesBehindWhatDoesNotReturn) {
  const Gate begun;
  const Gate go_on;
  start(1, stays(begun, go_on));
  ASSERT_TRUE(begun.wait());
  threads->close(std::chrono::steady_clock::now());
  EXPECT_EQ(*returned, 0);
  go_on.open();
  EXPECT_TRUE(eventually([&] { return *returned == 1; }));
}

}  // namespace
}  // namespace perdure::test
