// The client's waits, on every store: what ends them and what does not.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client_scene.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ClientWaits : public ClientScene {
 protected:
  // Runs a wait on a thread of its own, and returns once the store has been asked.
  template <class Wait>
  auto waiting(Wait wait) {
    const int before = store->waits();
    auto result = std::async(std::launch::async, wait);
    store->await_waits(before + 1);
    return result;
  }
  template <class Future>
  static std::optional<ClientErrorKind> refused(Future& future) {
    return refusal([&] { (void)future.get(); });
  }
};
PERDURE_ON_EVERY_STORE(ClientWaits);

TEST_P(ClientWaits, TheEndOfAnInstanceEndsTheWait) {
  start("i", "Listen");
  auto ended = waiting([&] { return client->wait_for_orchestration("i", 1h); });
  client->raise_event("i", "go", "now");
  work();
  EXPECT_EQ(ended.get().result<std::string>(), "now");
}

TEST_P(ClientWaits, EveryKindOfEndEndsTheWait) {
  for (const bool terminate : {false, true}) {
    const std::string instance = terminate ? "t" : "c";
    start(instance, "Listen");
    auto ended = waiting([&] { return client->wait_for_orchestration(instance, 1h); });
    terminate ? client->terminate_instance(instance) : client->cancel_instance(instance);
    work();
    EXPECT_EQ(ended.get().state, terminate ? OrchestrationState::kTerminated : OrchestrationState::kCancelled);
  }
}

TEST_P(ClientWaits, WhatHasEndedIsNotWaitedFor) {
  start("i", "Nothing");
  EXPECT_EQ(client->wait_for_orchestration("i", 0ms).state, OrchestrationState::kCompleted);
  EXPECT_EQ(client->wait_for_orchestration("i", -5ms).state, OrchestrationState::kCompleted);
  EXPECT_EQ(client->wait_for_orchestration("i", Milliseconds::max()).state, OrchestrationState::kCompleted);
}

TEST_P(ClientWaits, AnInstanceThatDoesNotExistYetIsWaitedFor) {
  auto ended = waiting([&] { return client->wait_for_orchestration("i", 1h); });
  start("i", "Nothing");
  EXPECT_EQ(ended.get().state, OrchestrationState::kCompleted);
}

TEST_P(ClientWaits, TheLongestTimeoutDoesNotWrapIntoThePast) {
  auto ended = waiting([&] { return client->wait_for_orchestration("i", Milliseconds::max()); });
  clock->advance(24h);
  start("i", "Nothing");
  EXPECT_EQ(ended.get().state, OrchestrationState::kCompleted);
}

TEST_P(ClientWaits, ContinueAsNewIsNoEnd) {
  start("i", "Listen");
  client->start_orchestration("r", "Rounds", 3);
  auto ended = waiting([&] { return client->wait_for_orchestration("r", 1h); });
  work();
  client->raise_event("r", "go");
  work();
  EXPECT_EQ(ended.get().execution_id, 4U);
}

TEST_P(ClientWaits, AWaitEndsAtItsTime) {
  start("i", "Listen");
  auto ended = waiting([&] { return client->wait_for_orchestration("i", 1'000ms); });
  clock->advance(1'000ms);
  try {
    (void)ended.get();
    FAIL() << "it has not ended";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kTimeout);
    EXPECT_TRUE(error.retryable());
    EXPECT_THAT(error.what(), HasSubstr("'i'"));
  }
  auto changed = waiting([&] { return client->wait_for_status_change("i", 0, 1'000ms); });
  clock->advance(1'000ms);
  EXPECT_EQ(refused(changed), ClientErrorKind::kTimeout);
  auto value = waiting([&] { return client->wait_for_kv_value<int>("i", "a", 1'000ms); });
  clock->advance(1'000ms);
  EXPECT_EQ(refused(value), ClientErrorKind::kTimeout);
}

TEST_P(ClientWaits, NotBeforeItsTime) {
  start("i", "Listen");
  auto ended = waiting([&] { return client->wait_for_orchestration("i", 1'000ms); });
  clock->advance(999ms);
  client->raise_event("i", "go", "just in time");
  work();
  EXPECT_EQ(ended.get().result<std::string>(), "just in time");
}

TEST_P(ClientWaits, WithoutTimeOnlyWhatIsThereCounts) {
  start("i", "Talk");
  EXPECT_EQ(refusal([&] { client->wait_for_orchestration("i", 0ms); }), ClientErrorKind::kTimeout);
  EXPECT_EQ(refusal([&] { client->wait_for_orchestration("i", -1ms); }), ClientErrorKind::kTimeout);
  EXPECT_EQ(refusal([&] { client->wait_for_status_change("i", 0, 0ms); }), ClientErrorKind::kTimeout);
  EXPECT_EQ(refusal([&] { (void)client->wait_for_kv_value<int>("i", "a", 0ms); }), ClientErrorKind::kTimeout);
  say("i", "key a");
  EXPECT_EQ(client->wait_for_kv_value<int>("i", "a", 0ms), 7);
}

// A runtime that shuts down wakes everybody who waits on its store.
TEST_P(ClientWaits, SomebodyElsesShutdownDoesNotEndAWait) {
  start("i", "Listen");
  auto ended = waiting([&] { return client->wait_for_orchestration("i", 1h); });
  const int before = store->waits();
  while (store->waits() == before) store->wake_waiters();  // until one has reached it, and it waits again
  client->raise_event("i", "go", "now");
  work();
  EXPECT_EQ(ended.get().result<std::string>(), "now");
}

TEST_P(ClientWaits, AShutdownDoesNotEndTheOtherWaitsEither) {
  start("i", "Talk");
  auto changed = waiting([&] { return client->wait_for_status_change("i", 0, 1h); });
  const int before = store->waits();
  while (store->waits() == before) store->wake_waiters();
  auto value = waiting([&] { return client->wait_for_kv_value<int>("i", "a", 1h); });
  const int later = store->waits();
  while (store->waits() < later + 2) store->wake_waiters();  // both again
  say("i", "hello");
  EXPECT_EQ(changed.get().custom_status, "hello");
  say("i", "key a");
  EXPECT_EQ(value.get(), 7);
}

TEST_P(ClientWaits, AChangeOfTheCustomStatusEndsItsWait) {
  start("i", "Talk");
  auto changed = waiting([&] { return client->wait_for_status_change("i", 0, 1h); });
  say("i", "one");
  const auto first = changed.get();
  EXPECT_EQ(first.custom_status, "one");
  EXPECT_EQ(first.state, OrchestrationState::kRunning);
  auto again = waiting([&] { return client->wait_for_status_change("i", first.custom_status_version, 1h); });
  say("i", "two");
  EXPECT_EQ(again.get().custom_status, "two");
  EXPECT_EQ(client->wait_for_status_change("i", first.custom_status_version, 0ms).custom_status, "two")
      << "a change that was missed is seen at once";
}

TEST_P(ClientWaits, TheEndEndsTheWaitForAStatusToo) {
  start("i", "Talk");
  auto changed = waiting([&] { return client->wait_for_status_change("i", 0, 1h); });
  say("i", "end");
  EXPECT_EQ(changed.get().state, OrchestrationState::kCompleted);
}

TEST_P(ClientWaits, AKeyThatGetsAValueEndsItsWait) {
  auto value = waiting([&] { return client->wait_for_kv_value<int>("i", "a", 1h); });
  start("i", "Talk");
  say("i", "key b");
  say("i", "key a");
  EXPECT_EQ(value.get(), 7);
}

TEST_P(ClientWaits, AValueOfAnotherTypeIsAnError) {
  start("i", "Talk");
  say("i", "key a");
  EXPECT_EQ(refusal([&] { (void)client->wait_for_kv_value<std::string>("i", "a", 1h); }),
            ClientErrorKind::kInvalidOutput);
}

}  // namespace
}  // namespace perdure::test
