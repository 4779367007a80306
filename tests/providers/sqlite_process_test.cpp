// Several processes on one file: locks, wake-ups, and what a process leaves that was killed.
#include <csignal>
#include <future>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "providers/child_process.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

constexpr Milliseconds kFar{3'600'000};

// Processes share the machine's clock.
class SharedFile {
 public:
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::shared_ptr<Provider> open() const { return SqliteProvider::open(path_); }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.file("store.db");
};

// One answer of the child: "<instance> <token>".
std::string instance_of(const std::string& answer) {
  return answer.substr(0, answer.find(' '));
}
LockToken token_of(const std::string& answer) {
  return {answer.substr(answer.find(' ') + 1)};
}

std::optional<OrchestrationItem> fetch(Provider& store) {
  return take(store.fetch_orchestration_item());
}

WorkWait for_instances() {
  return {.orchestrations = OrchestrationFetch{}, .activities = {}};
}

TEST(SqliteProcesses, ALockHoldsInBoth) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  take(store->enqueue_start(start_message("a"), StartPolicy::kFail));
  const std::string locked = child.ask("fetch");
  EXPECT_EQ(instance_of(locked), "a");
  EXPECT_FALSE(fetch(*store));
  EXPECT_TRUE(take(store->read_history(token_of(locked), 0)).events.empty());  // the token says so, not the process

  take(store->enqueue_start(start_message("b"), StartPolicy::kFail));
  EXPECT_EQ(fetch(*store).value().instance, "b");
  EXPECT_EQ(child.ask("fetch"), "nothing");
}

TEST(SqliteProcesses, ACommitOfTheOtherWakesWhoWaitsForWork) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  auto woken =
      std::async(std::launch::async, [&] { return take(store->wait_for_work(for_instances(), store->now() + kFar)); });
  EXPECT_EQ(child.ask("start a"), "ok");
  EXPECT_TRUE(woken.get());
}

TEST(SqliteProcesses, ACommitOfTheOtherWakesWhoWaitsForAnInstance) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  EXPECT_EQ(child.ask("create a"), "ok");
  const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
  auto woken =
      std::async(std::launch::async, [&] { return take(store->wait_for_change("a", ended, store->now() + kFar)); });
  EXPECT_EQ(child.ask("end a"), "ok");
  EXPECT_TRUE(woken.get());
}

TEST(SqliteProcesses, TheOtherIsWokenToo) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  child.tell("wait");
  take(store->enqueue_start(start_message("a"), StartPolicy::kFail));
  EXPECT_EQ(child.answer(), "woken");
}

TEST(SqliteProcesses, EachCommitIsSeenByTheOtherAtOnce) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  for (int number = 0; number < 20; ++number) {
    const std::string instance = "i" + std::to_string(number);
    EXPECT_EQ(child.ask("create " + instance), "ok");
    EXPECT_TRUE(take(store->read_status(instance)));
  }
}

TEST(SqliteProcesses, BothWriteWithoutStoppingEachOther) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  child.tell("create_many 100");
  for (int number = 0; number < 200; ++number) {
    take(store->enqueue_message(event_message("mine", "e" + std::to_string(number))));
  }
  int answers = 0;
  while (child.answer().starts_with("child-")) ++answers;
  EXPECT_EQ(answers, 100);
  EXPECT_EQ(take(store->admin()->system_metrics()).instances, 100U);
  EXPECT_EQ(take(store->admin()->queue_depths()).messages, 200U);
}

TEST(SqliteProcesses, AStoppedProcessThatHoldsTheStoreIsNamed) {
  const SharedFile file;
  SqliteOptions options;
  options.busy_timeout = Milliseconds{50};
  const std::shared_ptr<Provider> store = SqliteProvider::open(file.path(), options);
  ChildProcess child(file.path());
  const std::string process = child.ask("hold " + file.path());
  child.send(SIGSTOP);
  child.await_stop();
  const auto busy = store->enqueue_message(event_message("a", "e"));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind(), ProviderErrorKind::kBusy);
  EXPECT_TRUE(busy.error().retryable());
  EXPECT_NE(busy.error().message().find("process " + process + " '"), std::string::npos) << busy.error().message();
  EXPECT_NE(busy.error().message().find("is stopped"), std::string::npos) << busy.error().message();
  child.kill();
  take(store->enqueue_message(event_message("a", "e")));
}

// ---- Killed ----

TEST(SqliteProcesses, TheNextOpeningReleasesWhatAKilledProcessHeld) {
  const SharedFile file;
  std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  EXPECT_EQ(child.ask("create a"), "ok");
  take(store->enqueue_message(event_message("a", "e")));
  take(store->enqueue_activity(in_session(activity("a", 9), "s")));
  EXPECT_EQ(instance_of(child.ask("fetch")), "a");
  const std::string work = child.ask("fetch_work worker");
  EXPECT_EQ(instance_of(work), "a");
  EXPECT_EQ(instance_of(child.ask("fetch_work worker")), "a");
  child.kill();

  EXPECT_FALSE(fetch(*store));  // its leases have an hour to go
  EXPECT_FALSE(take(store->fetch_work_item(as_worker("me"))));
  const std::shared_ptr<Provider> opened = file.open();
  const std::optional<OrchestrationItem> item = fetch(*store);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->attempt_count, 2U);  // it may be what took the process down
  const std::optional<WorkItem> first = take(store->fetch_work_item(as_worker("me")));
  const std::optional<WorkItem> second = take(store->fetch_work_item(as_worker("me")));
  ASSERT_TRUE(first && second);  // the session of the dead is free as well
  EXPECT_EQ(first->attempt_count, 2U);
  const auto late = store->ack_work_item({.token = token_of(work), .completion = {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ProviderErrorKind::kLockLost);
}

TEST(SqliteProcesses, OpeningDoesNotTouchTheLocksOfTheLiving) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  ChildProcess child(file.path());
  take(store->enqueue_start(start_message("a"), StartPolicy::kFail));
  EXPECT_EQ(instance_of(child.ask("fetch")), "a");
  for (int times = 0; times < 3; ++times) EXPECT_FALSE(fetch(*file.open()));
  const ChildProcess other(file.path());
  EXPECT_FALSE(fetch(*store));
}

TEST(SqliteProcesses, ALeaseOfTheKilledExpires) {
  const TemporaryFolder folder;
  // A clock of its own, so that the lease can end without waiting for it.
  SqliteFile file(folder.file("store.db"));
  file.advance(SystemClock().now() - Timestamp(Milliseconds{1'700'000'000'000}));
  Scene scene(file);
  scene.enqueue_start("a");
  ChildProcess child(file.path());
  EXPECT_EQ(instance_of(child.ask("fetch")), "a");
  child.kill();
  scene.fetch_nothing();
  scene.advance(2 * kFar);
  EXPECT_EQ(scene.fetch().attempt_count, 2U);
}

TEST(SqliteProcesses, ClosingReleasesWhatWasHeld) {
  const SharedFile file;
  const std::shared_ptr<Provider> store = file.open();
  {
    ChildProcess child(file.path());
    take(store->enqueue_start(start_message("a"), StartPolicy::kFail));
    EXPECT_EQ(instance_of(child.ask("fetch")), "a");
  }
  EXPECT_TRUE(fetch(*store));
}

TEST(SqliteProcesses, WhatAKilledProcessWasAnsweredIsThere) {
  const SharedFile file;
  std::set<std::string> answered;
  for (std::size_t kill = 0; kill < 10; ++kill) {
    ChildProcess child(file.path());
    child.tell("create_many");
    // Another moment of its life each time.
    for (std::size_t number = 0; number < 5 + 3 * kill; ++number) answered.insert(child.answer());
    child.kill();
    for (std::string line = child.answer(); line.starts_with("child-"); line = child.answer()) answered.insert(line);
  }
  EXPECT_EQ(integrity_of(file.path()), "ok");
  const std::shared_ptr<Provider> store = file.open();
  EXPECT_GE(answered.size(), 185U);
  for (const std::string& instance : answered) {
    const auto status = take(store->read_status(instance));
    ASSERT_TRUE(status) << instance;
    EXPECT_FALSE(status->pending) << instance;
    EXPECT_EQ(take(store->read_key_value(instance, "k")), "v");
    EXPECT_EQ(take(store->admin()->read_history(instance, std::nullopt, 0)).size(), 2U);
  }
  // Whole or not at all: as many activities as instances.
  EXPECT_EQ(take(store->admin()->queue_depths()).activities, take(store->admin()->system_metrics()).instances);
}

}  // namespace
}  // namespace perdure::testing
