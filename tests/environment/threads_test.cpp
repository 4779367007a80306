// Other threads in a test environment: they complete activities and wait on its store, and time waits for them.
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "environment/scene.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Handle = ActivityCompletion<int>;

Registry racing() {
  Registry registry;
  registry.add_orchestration("Races", [](Ctx ctx) -> Orchestration<std::string> {
    const auto first = co_await select{ctx.schedule_activity<int>("Work", 1), ctx.schedule_timer(1s)};
    co_return first.index() == 0 ? std::string("done") : std::string("timer");
  });
  return registry;
}

// Whatever time the thread takes, no virtual time passes: the timer cannot win.
TEST(OtherThreads, CompleteActivitiesWithoutVirtualTimePassing) {
  TestEnvironment env(racing());
  std::jthread worker;
  env.mock_async_activity(
      "Work", [&](ActivityContext, int n, Handle done) { worker = std::jthread([n, done] { done.complete(n); }); });
  EXPECT_EQ(env.run("i", "Races").result<std::string>(), "done");
  EXPECT_EQ(passed(env), 0ms);
}

TEST(OtherThreads, SendEventsToWhatTheyWaitFor) {
  Registry registry = caller();
  registry.add_orchestration("Echo",
                             [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  TestEnvironment env(registry);
  env.start("echo", "Echo");
  env.settle();
  std::jthread worker;
  env.mock_async_activity("Work", [&](ActivityContext ctx, int n, Handle done) {
    worker = std::jthread([ctx, n, done] {
      ctx.client().raise_event("echo", "go", n * 2);
      done.complete(ctx.client().wait_for_orchestration("echo", 1h).result<int>());
    });
  });
  EXPECT_EQ(env.run("i", "Caller", 4).result<int>(), 8);
  EXPECT_EQ(passed(env), 0ms);
}

TEST(OtherThreads, WaitInVirtualTime) {
  TestEnvironment env(racing());
  std::atomic<bool> timed_out = false;
  std::latch waiting(1);
  std::jthread worker([&, client = env.client()] {
    waiting.count_down();
    try {
      client.wait_for_orchestration("nobody", 1h);
    } catch (const ClientError& error) {
      timed_out = error.kind() == ClientErrorKind::kTimeout;
    }
  });
  waiting.wait();
  // It may not have begun to wait, and then waits for an hour from there: so an hour passes until it is through.
  while (!timed_out) {
    env.advance(1h);
    std::this_thread::yield();
  }
  worker.join();
  EXPECT_TRUE(timed_out);
}

TEST(OtherThreads, ThatNeverCompleteAnActivityAreNotWaitedForWithoutEnd) {
  TestOptions options;
  options.patience = 20ms;
  TestEnvironment env(racing(), options);
  std::optional<Handle> kept;
  env.mock_async_activity("Work", [&](ActivityContext, int, Handle done) { kept = std::move(done); });
  EXPECT_THAT(stall_of([&] { env.run("i", "Races"); }),
              AllOf(HasSubstr("activity 'Work' of instance 'i'"), HasSubstr("within 20 ms of real time"),
                    HasSubstr("set_activity_duration()")));
  EXPECT_EQ(passed(env), 0ms);
  kept->complete(1);
  EXPECT_EQ(env.wait("i").result<std::string>(), "done");
}

TEST(OtherThreads, MayDropTheirHandle) {
  TestEnvironment env(caller());
  env.mock_async_activity("Work", [&](ActivityContext, int, Handle) {});
  EXPECT_THAT(env.run("i", "Caller", 1).error_text(), HasSubstr("dropped without a result"));
}

// A cancelled activity is told, and nobody waits for it.
TEST(OtherThreads, DoNotHoldUpWhatHasBeenCancelled) {
  TestEnvironment env(caller());
  std::optional<Handle> kept;
  std::stop_token stop;
  env.mock_async_activity("Work", [&](ActivityContext ctx, int, Handle done) {
    stop = ctx.stop_token();
    kept = std::move(done);
    ctx.client().cancel_instance("i");
  });
  EXPECT_EQ(env.run("i", "Caller", 1).state, OrchestrationState::kCancelled);
  env.advance(1h);
  EXPECT_TRUE(stop.stop_requested());
}

TEST(OtherThreads, DoNotHoldUpWhatHasBeenDeleted) {
  TestOptions options;
  options.patience = 0ms;
  TestEnvironment env(caller(), options);
  std::optional<Handle> kept;
  env.mock_async_activity("Work", [&](ActivityContext, int, Handle done) { kept = std::move(done); });
  EXPECT_THAT(stall_of([&] { env.run("i", "Caller", 1); }), HasSubstr("'Work'"));
  env.client().delete_instance("i", true);
  env.advance(1h);
  EXPECT_EQ(passed(env), 1h);
}

TEST(OtherThreads, AreToldWhenTheProcessDies) {
  std::stop_token first;
  std::stop_token second;
  std::optional<Handle> kept;
  {
    TestOptions options;
    options.patience = 0ms;
    TestEnvironment env(caller(), options);
    env.mock_async_activity("Work", [&](ActivityContext ctx, int, Handle done) {
      (first.stop_possible() ? second : first) = ctx.stop_token();
      kept = std::move(done);
    });
    EXPECT_THAT(stall_of([&] { env.run("i", "Caller", 1); }), HasSubstr("'Work'"));
    EXPECT_FALSE(first.stop_requested());
    env.restart();
    EXPECT_TRUE(first.stop_requested());
    EXPECT_THAT(stall_of([&] { env.wait("i"); }), HasSubstr("'Work'"));
    EXPECT_EQ(passed(env), 30s);
    EXPECT_FALSE(second.stop_requested());
  }
  EXPECT_TRUE(second.stop_requested());
  EXPECT_TRUE(kept->complete(1)) << "nobody hears it any more, and nothing breaks";
}

TEST(OtherThreads, DoNotDriveTheEnvironment) {
  TestEnvironment env(caller());
  std::string refusal;
  std::thread([&] {
    try {
      env.advance(1h);
    } catch (const std::logic_error& error) {
      refusal = error.what();
    }
  }).join();
  EXPECT_THAT(refusal, HasSubstr("by the thread that created it"));
}

// A client may outlive its environment; a wait of it must not hang.
TEST(Clients, OfAnEnvironmentThatIsGoneDoNotHang) {
  std::optional<Client> client;
  {
    TestEnvironment env(caller());
    client = env.client();
  }
  EXPECT_THROW(client->wait_for_orchestration("i", 1h), std::logic_error);
}

}  // namespace
}  // namespace perdure::test
