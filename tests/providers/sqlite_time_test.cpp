// The time of a SQLite store: kept in the file, shared by processes, and steady for locks when the clock is set.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/sqlite/sqlite_store.h"
#include "providers/sqlite_scene.h"
#include "support/eventually.h"
#include "support/temporary_folder.h"
#include "testing/validation/moves.h"

namespace perdure::testing {
namespace {

using namespace std::chrono_literals;

class SqliteTime : public ::testing::Test {
 protected:
  // A store that never writes, not even the time.
  std::shared_ptr<Provider> open_for_reading() {
    SqliteOptions options = file.options();
    options.read_only = true;
    return SqliteProvider::open(file.path(), options);
  }

  test::TemporaryFolder folder;
  SqliteFile file{folder.file("store.db")};
  Scene scene{file};
};

TEST_F(SqliteTime, AStoreThatIsOpenedAfterAStepBackContinuesFromTheTimeOfTheFile) {
  scene.create("order");
  const Timestamp before = scene.now();
  file.step(-1h);
  EXPECT_EQ(file.create()->now(), before);
  file.advance(10s);
  EXPECT_EQ(file.create()->now(), before + 9s);
}

// The process that has the store open has followed its clock, and has saved nothing since.
TEST_F(SqliteTime, AStoreThatIsOpenedAfterAStepBackIsNotBehindAnIdleOne) {
  scene.create("order");
  file.advance(1h);
  const Timestamp before = scene.now();
  file.step(-1h);
  EXPECT_EQ(open_for_reading()->now(), before);
  EXPECT_EQ(file.create()->now(), before);
  file.advance(10s);
  EXPECT_EQ(file.create()->now(), before + 9s) << "from a time that was saved after the step";
  EXPECT_EQ(scene.now(), before + 9s);
}

TEST_F(SqliteTime, ATimerOfAStoreThatIsOpenedAfterAStepBackDoesNotFireEarly) {
  scene.create("order");
  file.advance(1h);
  static_cast<void>(scene.now());
  file.step(-1h);
  Scene other(file);
  MessageRecord timer = event_message("order", "x");
  timer.visible_at = other.now() + 5min;
  other.enqueue(timer);
  scene.fetch_nothing();
  file.advance(5min);
  scene.fetch_nothing();
  file.advance(1min);
  EXPECT_EQ(scene.fetch().instance, "order");
}

TEST_F(SqliteTime, AClockThatIsSetBackWhileNoProcessHasTheStoreOpenIsFollowed) {
  SqliteFile closed(folder.file("closed.db"));
  Scene(closed).create("order");
  closed.advance(10h);
  closed.step(-1h);
  EXPECT_EQ(closed.create()->now(), closed.clock().now());
}

// Otherwise a store that is opened after both jumps could not know the time of this one.
TEST_F(SqliteTime, AProcessThatOnlyWaitsSavesItsTimeAfterAJump) {
  const auto& store = dynamic_cast<const sqlite::SqliteStore&>(scene.store());
  scene.create("order");
  file.advance(1min);
  const std::uint64_t before = store.write_transactions();
  const WorkWait wait{.orchestrations = OrchestrationFetch{}, .activities = {}};
  std::thread waiting([&] { EXPECT_FALSE(take(scene.store().wait_for_work(wait, Timestamp::max()))); });
  file.step(1h);
  EXPECT_TRUE(test::eventually([&] { return store.write_transactions() == before + 1; }));
  file.advance(1s);
  const Timestamp latest = scene.now();
  file.step(-1h);
  EXPECT_TRUE(test::eventually([&] { return store.write_transactions() == before + 2; }));
  EXPECT_EQ(file.create()->now(), latest);
  scene.fetch_nothing();
  file.advance(10s);
  scene.fetch_nothing();
  EXPECT_EQ(store.write_transactions(), before + 2) << "one for each jump";
  scene.store().wake_waiters();
  waiting.join();
}

TEST_F(SqliteTime, ProcessesShareOneTimeAfterAStepBack) {
  Scene other(file);
  scene.create("a");
  file.advance(1min);
  other.create("b");  // this one has seen a later time
  const Timestamp before = other.now();
  file.step(-1h);
  scene.create("c");
  EXPECT_EQ(scene.now(), before);
  EXPECT_EQ(other.now(), before);
}

TEST_F(SqliteTime, AStoreContinuesFromTheSavedTimeAfterAReboot) {
  file.advance(5s);
  scene.create("order");
  const Timestamp saved = scene.now();
  file.clock().reboot();
  file.step(-1h);
  file.advance(2s);
  const auto reopened = file.create();
  EXPECT_GE(reopened->now(), saved);
  EXPECT_LE(reopened->now(), saved + 2s);
}

TEST_F(SqliteTime, LocksOfLiveProcessesHoldWhenTheClockIsSetForward) {
  scene.enqueue_start("order");
  scene.enqueue_activity(activity("order", 2));
  scene.enqueue_activity(in_session(activity("order", 3), "s"));
  WorkFetch work = as_worker("owner", 30s);
  work.lock_timeout = 30s;
  const OrchestrationItem item = scene.fetch();  // for five seconds
  const WorkItem plain = scene.fetch_work(work);
  const WorkItem sessional = scene.fetch_work(work);
  file.step(1h);
  Scene other(file);
  other.fetch_nothing();
  other.fetch_no_work(as_worker("another"));
  scene.ack(scene.first_commit_of(item));
  EXPECT_TRUE(scene.store().renew_work_lock(plain.token, 30s).has_value());
  file.advance(30s);
  EXPECT_EQ(other.fetch_work(as_worker("another")).token == plain.token, false);
  EXPECT_FALSE(scene.store().ack_work_item({.token = sessional.token, .completion = {}}).has_value())
      << "its lock has ended, by the steady clock";
}

// Until a write transaction extends the locks of live processes.
TEST_F(SqliteTime, ReadsSeeTheLocksOfLiveProcessesAfterAStepForward) {
  scene.enqueue_start("order");
  scene.enqueue_activity(activity("order", 2));
  OrchestrationFetch fetch;
  fetch.lock_timeout = 30s;
  const OrchestrationItem item = scene.fetch(fetch);
  scene.fetch_work();  // for 30 seconds
  const auto reader = open_for_reading();
  const auto is_locked = [&] {
    const bool listed = reader->admin()->list_activities({}).value().activities.at(0).locked;
    EXPECT_EQ(reader->admin()->queue_depths().value().locked_activities, listed ? 1U : 0U);
    EXPECT_EQ(reader->admin()->queue_depths().value().activities, listed ? 0U : 1U);
    EXPECT_EQ(reader->read_history(item.token, 0).has_value(), listed);
    return listed;
  };
  file.step(1h);
  EXPECT_TRUE(is_locked());
  file.advance(30s - 1ms);
  EXPECT_TRUE(is_locked());
  file.advance(1ms);
  EXPECT_FALSE(is_locked()) << "the steady clock has run for 30 seconds";
}

TEST_F(SqliteTime, ReadsOfAStoreThatIsOnlyReadContinueFromTheSavedTimeAfterAStepBack) {
  scene.enqueue_activity(activity("order", 2));
  MessageRecord timer = event_message("order", "x");
  timer.visible_at = scene.now() + 45s;
  scene.enqueue(timer);
  file.advance(10s);
  scene.fetch_work();  // for 30 seconds
  const Timestamp before = scene.now();
  file.step(-1h);
  const auto reader = open_for_reading();
  EXPECT_EQ(reader->now(), before);
  file.advance(40s);
  EXPECT_EQ(reader->now(), before + 36s);
  EXPECT_FALSE(reader->admin()->list_activities({}).value().activities.at(0).locked);
  const QueueDepths depths = reader->admin()->queue_depths().value();
  EXPECT_EQ(depths.activities, 1U);
  EXPECT_EQ(depths.messages, 1U) << "the time of the message has come";
}

// Time of a process that has not read its clock for long may be a little behind that of the file.
TEST_F(SqliteTime, ReadsOfAnotherProcessKeepUpAfterAStepBack) {
  Scene other(file);
  MessageRecord timer = event_message("order", "x");
  timer.visible_at = scene.now() + 58s;
  scene.enqueue(timer);
  file.advance(1min);
  scene.create("a");
  file.step(-1h);
  EXPECT_EQ(other.admin().queue_depths().value().messages, 1U);
}

TEST_F(SqliteTime, TimersFireWhenTheClockIsSetForward) {
  scene.create("order");
  MessageRecord timer = event_message("order", "x");
  timer.visible_at = scene.now() + 1h;
  scene.enqueue(timer);
  file.step(1h);
  Scene other(file);
  EXPECT_EQ(other.fetch().instance, "order");
}

TEST_F(SqliteTime, AJumpExtendsALockOnce) {
  scene.enqueue_start("order");
  scene.fetch();
  file.step(1h);
  Scene first(file);
  Scene second(file);
  first.fetch_nothing();
  second.fetch_nothing();
  file.advance(5s);
  EXPECT_EQ(first.fetch().instance, "order");
}

}  // namespace
}  // namespace perdure::testing
