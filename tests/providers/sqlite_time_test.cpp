// The time of a SQLite store: kept in the file, shared by processes, and steady for locks when the clock is set.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/sqlite_scene.h"
#include "support/temporary_folder.h"
#include "testing/validation/moves.h"

namespace perdure::testing {
namespace {

using namespace std::chrono_literals;

class SqliteTime : public ::testing::Test {
 protected:
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
