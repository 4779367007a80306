// The worker dispatcher and threads of activities that end, while the system has no other one.
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using worker::Await;
using worker::Done;
using worker::Fetch;
using worker::NoThread;
using worker::ReplaceThread;

class EndedActivityThreads : public DispatchActivities {};

TEST_F(EndedActivityThreads, TheSlotOfAThreadThatEndedIsFreeOnceThereIsAnotherThread) {
  options.worker_concurrency = 1;
  fetch({item(1)});
  const RunId run = start();
  dispatcher().abandoned(run, now);
  dispatcher().thread_lost(run, now);
  give_back();
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U) << "the slot has no thread";
  for (int tries = 0; tries < 3; ++tries) {
    now += options.activity_cancellation_grace_period;
    answer(take<ReplaceThread>().first, NoThread{run, "no more threads"});
    EXPECT_EQ(count<Fetch>() + count<Await>() + count<ReplaceThread>(), 0U);
  }
  now += options.activity_cancellation_grace_period;
  answer(take<ReplaceThread>().first, Done());
  EXPECT_EQ(count<Fetch>() + count<Await>(), 1U);
  EXPECT_TRUE(dispatcher().running_names().empty());
  fetch({item(2)});
  finish(start());
  ack();
}

// It ends while a thread is made because it ignores its stop token.
TEST_F(EndedActivityThreads, AThreadThatEndsWhileItIsReplacedLeavesOneThread) {
  options.worker_concurrency = 1;
  fetch({item(1)});
  const RunId run = start();
  dispatcher().withdrawn({.instance = "i", .execution = 1, .activity_id = 1}, now);
  EXPECT_EQ(stopped(), run);
  now += options.activity_cancellation_grace_period;
  const RequestId replacing = take<ReplaceThread>().first;
  dispatcher().thread_lost(run, now);
  answer(replacing, Done());
  EXPECT_TRUE(dispatcher().running_names().empty());
  fetch({item(2)});
  start();
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U);
}

TEST_F(EndedActivityThreads, ANodeThatStopsDoesNotWaitForAThreadThatEnded) {
  fetch({item(1), item(2)});
  const RunId first = start();
  const RunId second = start();
  for (const RunId run : {first, second}) dispatcher().abandoned(run, now);
  give_back();
  dispatcher().thread_lost(first, now);
  dispatcher().drain();
  dispatcher().thread_lost(second, now);
  collect();
  EXPECT_TRUE(dispatcher().running_names().empty());
  EXPECT_TRUE(dispatcher().resting());
}

}  // namespace
}  // namespace perdure::test
