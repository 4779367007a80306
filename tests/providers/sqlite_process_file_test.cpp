// The file of locks next to the store: deleted while stores are open, and who may use it.
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/child_process.h"
#include "providers/sqlite/process_lock.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

namespace fs = std::filesystem;

class SqliteProcessFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string locks() const { return file_.path() + "-processes"; }
  [[nodiscard]] static struct stat status_of(const std::string& path) {
    struct stat found = {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found;
  }

  TemporaryFolder folder_;
  SqliteFile file_{folder_.file("store.db")};
};

TEST_F(SqliteProcessFile, OpeningReleasesNothingOfAnOpenStoreAfterItIsDeleted) {
  Scene scene(file_);
  scene.create("a");
  scene.create("b");
  const OrchestrationItem item = scene.wake("a");
  fs::remove(locks());
  for (int times = 0; times < 3; ++times) Scene(file_).fetch_nothing();
  scene.ack(scene.commit_of(item));
  // From here on the lock is seen again.
  const OrchestrationItem other = scene.wake("b");
  for (int times = 0; times < 3; ++times) Scene(file_).fetch_nothing();
  scene.ack(scene.commit_of(other));
}

TEST_F(SqliteProcessFile, AnIdleStoreTakesItsPlaceAgainAfterItIsDeleted) {
  Scene scene(file_);
  scene.create("a");
  fs::remove(locks());
  {
    Scene other(file_);  // thinks that nobody else is there
    const OrchestrationItem item = scene.wake("a");
    other.fetch_nothing();
    scene.ack(scene.commit_of(item));
  }
  const OrchestrationItem item = scene.wake("a");
  Scene(file_).fetch_nothing();
  scene.ack(scene.commit_of(item));
}

TEST_F(SqliteProcessFile, AKilledProcessIsSeenAfterItWasDeletedAndMadeAgain) {
  const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path());
  ChildProcess child(file_.path());
  fs::remove(locks());
  take(store->enqueue_start(start_message("a"), StartPolicy::kFail));
  EXPECT_TRUE(child.ask("fetch").starts_with("a "));
  EXPECT_FALSE(take(SqliteProvider::open(file_.path())->fetch_orchestration_item()));
  child.kill();
  EXPECT_TRUE(take(SqliteProvider::open(file_.path())->fetch_orchestration_item()));
}

// A part that fails rolls the whole transaction back, and the others run again.
TEST_F(SqliteProcessFile, ANumberIsTakenAgainAfterATransactionThatFailed) {
  Scene scene(file_);
  scene.create("a");
  scene.enqueue_activity(activity("a", 2));
  fs::remove(locks());
  {
    const Scene other(file_);
  }  // knows nothing of the number and removes it
  const std::vector<MessageRecord> twice{activity("a", 2), activity("a", 3)};
  const auto outcomes = scene.store().enqueue_activities(twice);
  EXPECT_FALSE(outcomes.at(0).has_value());
  EXPECT_TRUE(outcomes.at(1).has_value());
  EXPECT_EQ(open_plainly(file_.path()).integer("SELECT count(*) FROM processes"), 1);
}

TEST_F(SqliteProcessFile, HasTheModeAndTheGroupOfTheStore) {
  {
    const Scene scene(file_);
  }
  fs::remove(locks());
  ASSERT_EQ(::chmod(file_.path().c_str(), 0660), 0);
  const bool is_root = ::geteuid() == 0;
  ASSERT_EQ(is_root ? ::chown(file_.path().c_str(), 12'345, 23'456) : 0, 0);
  {
    const Scene scene(file_);
  }
  EXPECT_EQ(status_of(locks()).st_mode & 07777, 0660U);
  EXPECT_EQ(status_of(locks()).st_gid, status_of(file_.path()).st_gid);
  EXPECT_EQ(status_of(locks()).st_uid, status_of(file_.path()).st_uid);
}

// Another member of the group may open it at any time.
TEST_F(SqliteProcessFile, HasItsModeFromTheBeginning) {
  {
    const Scene scene(file_);
  }
  ASSERT_EQ(::chmod(file_.path().c_str(), 0660), 0);
  std::atomic<bool> done = false;
  std::atomic<unsigned> other_mode = 0;
  std::thread looking([&] {
    while (!done) {
      struct stat found = {};
      if (::stat(locks().c_str(), &found) == 0 && (found.st_mode & 07777) != 0660) other_mode = found.st_mode & 07777;
    }
  });
  for (int times = 0; times < 200; ++times) {
    fs::remove(locks());
    const sqlite::ProcessLocks made(file_.path());
  }
  done = true;
  looking.join();
  EXPECT_EQ(other_mode, 0U);
}

TEST_F(SqliteProcessFile, ReadingItIsEnough) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user";
  const Scene scene(file_);  // as root
  ASSERT_EQ(::chmod(folder_.file("").c_str(), 0777), 0);
  for (const char* suffix : {"", "-wal", "-shm"}) ASSERT_EQ(::chmod((file_.path() + suffix).c_str(), 0666), 0);
  ASSERT_EQ(::chmod(locks().c_str(), 0644), 0);
  ASSERT_EQ(::seteuid(65'534), 0);
  std::string error;
  try {
    Scene other(file_);
    other.create("a");
    const OrchestrationItem item = other.wake("a");
    Scene(file_).fetch_nothing();
    other.ack(other.commit_of(item));
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(error, "");
}

TEST_F(SqliteProcessFile, ALinkIsNotFollowed) {
  fs::create_symlink(folder_.file("elsewhere"), locks());
  EXPECT_EQ(refusal_of(file_.path()).kind(), ProviderErrorKind::kUnavailable);
  EXPECT_FALSE(fs::exists(folder_.file("elsewhere")));
}

}  // namespace
}  // namespace perdure::testing
