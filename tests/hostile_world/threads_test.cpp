// Threads of a node that someone tries to cancel. The library that is used in an activity may do so.
#include <memory>

#include <gtest/gtest.h>
#include <pthread.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

class CancelledThreads : public Threaded {
 protected:
  CancelledThreads() {
    options.worker_concurrency = 1;
    options.orchestration_concurrency = 1;
  }
  void expect_works(const std::string& instance) {
    client.start_orchestration(instance, "Flow");
    EXPECT_EQ(end_of(instance).result<int>(), 1) << instance;
  }
};

TEST_F(CancelledThreads, ActivityThatCancelsItsThreadCompletes) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext& ctx) {
    ::pthread_cancel(::pthread_self());
    ::pthread_testcancel();
    return static_cast<int>(ctx.attempt());
  });
  add_flow(registry);
  const auto runtime = run(registry);
  expect_works("first");
  expect_works("second");
}

// While they wait for work: the library is in the midst of its own code.
TEST_F(CancelledThreads, WorkWhenTheyAreCancelledFromOutside) {
  Registry registry;
  std::atomic<pthread_t> of_activities{};
  std::atomic<pthread_t> of_turns{};
  registry.add_activity("Work", [&](ActivityContext&) {
    of_activities = ::pthread_self();
    return 1;
  });
  registry.add_orchestration("Flow", [&](OrchestrationContext ctx) -> Orchestration<int> {
    of_turns = ::pthread_self();
    co_return co_await ctx.schedule_activity<int>("Work");
  });
  const auto runtime = run(registry);
  expect_works("first");
  ASSERT_TRUE(eventually([&] { return runtime->idle(); }));
  ::pthread_cancel(of_activities);
  ::pthread_cancel(of_turns);
  expect_works("second");
  expect_works("third");
  EXPECT_TRUE(warnings().empty());
}

}  // namespace
}  // namespace perdure::test
