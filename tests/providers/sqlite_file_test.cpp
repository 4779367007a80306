// The name of a store may lead to another file later, or to none.
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

namespace fs = std::filesystem;

// The working directory of the process, for as long as it lives.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& path) { fs::current_path(path); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  ~WorkingDirectory() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

const InstanceChange kEnded{.ended = true, .custom_status_after = {}, .key_value = {}};

// Every call fails for good, with a sentence about the file.
void expect_moved(Scene& scene) {
  const auto expect = [](const auto& result) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind(), ProviderErrorKind::kStoreFailed) << result.error().to_string();
    EXPECT_NE(result.error().message().find("deleted, moved or replaced"), std::string::npos)
        << result.error().message();
  };
  expect(scene.store().enqueue_message(event_message("a", "e")));
  expect(scene.store().fetch_orchestration_item());
  expect(scene.store().read_status("a"));
  expect(scene.admin().list_instances({}));
  expect(scene.store().wait_for_change("a", kEnded, scene.now() + Milliseconds{3'600'000}));
}

class SqliteMovedFile : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  SqliteFile file_{folder_.file("store.db")};
};

TEST_F(SqliteMovedFile, ReadersKeepTheFileWhenTheWorkingDirectoryChanges) {
  fs::create_directory(folder_.file("one"));
  fs::create_directory(folder_.file("two"));
  SqliteFile other(folder_.file("two/store.db"));
  Scene(other).create("other");
  const WorkingDirectory one(folder_.file("one"));
  SqliteFile relative("store.db");
  Scene scene(relative);
  const WorkingDirectory two(folder_.file("two"));
  scene.create("mine");
  EXPECT_TRUE(take(scene.store().read_status("mine")));
  EXPECT_FALSE(take(scene.store().read_status("other")));
  EXPECT_FALSE(take(scene.store().wait_for_change("mine", kEnded, scene.now())));
}

TEST_F(SqliteMovedFile, ReadersKeepTheFileWhenALinkIsRepointed) {
  SqliteFile other(folder_.file("other.db"));
  Scene(other).create("other");
  Scene(file_).create("mine");
  fs::create_symlink(file_.path(), folder_.file("link.db"));
  SqliteFile link(folder_.file("link.db"));
  Scene scene(link);
  fs::remove(folder_.file("link.db"));
  fs::create_symlink(other.path(), folder_.file("link.db"));
  EXPECT_TRUE(take(scene.store().read_status("mine")));
  EXPECT_FALSE(take(scene.store().read_status("other")));
}

TEST_F(SqliteMovedFile, ACommitToADeletedFileFails) {
  Scene scene(file_);
  scene.create("a");
  fs::remove(file_.path());
  expect_moved(scene);
}

TEST_F(SqliteMovedFile, ACommitToAMovedFileFails) {
  Scene scene(file_);
  scene.create("a");
  fs::rename(file_.path(), folder_.file("moved.db"));
  expect_moved(scene);
  fs::rename(folder_.file("moved.db"), file_.path());
  expect_moved(scene);  // until it is reopened
}

// SQLite would write on into a file that no other process sees.
TEST_F(SqliteMovedFile, ACommitFailsWithoutTheFilesOfTheLog) {
  for (const char* const suffix : {"-wal", "-shm"}) {
    for (const bool replaced : {false, true}) {
      SCOPED_TRACE(std::string(suffix) + (replaced ? " replaced" : " deleted"));
      SqliteFile file(folder_.file(std::string("store") + suffix + (replaced ? "-replaced.db" : "-deleted.db")));
      Scene scene(file);
      scene.create("a");
      const std::string path = file.path() + suffix;
      if (replaced) {
        fs::copy_file(path, folder_.file("copy"), fs::copy_options::overwrite_existing);
        fs::rename(folder_.file("copy"), path);
      } else {
        fs::remove(path);
      }
      expect_moved(scene);
      const ProviderError error = scene.store().read_status("a").error();
      EXPECT_NE(error.message().find(path), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("end all processes"), std::string::npos) << error.message();
    }
  }
}

// The log begins anew, is cut and is copied into the file all the time.
TEST_F(SqliteMovedFile, TheLogMayBeCheckpointedByOthers) {
  Scene scene(file_);
  Scene other(file_);
  for (int number = 0; number < 10; ++number) {
    scene.create("a" + std::to_string(number));
    open_plainly(file_.path()).execute("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_TRUE(take(other.store().read_status("a" + std::to_string(number))));
  }
}

// As when a daemon loses rights that it had when it opened the store, or a directory loses its mode for a moment.
TEST_F(SqliteMovedFile, APathThatCannotBeFollowedForAMomentFailsNothingForGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user";
  const std::string directory = folder_.file("directory");
  fs::create_directory(directory);
  constexpr uid_t kOther = 65'534;
  ASSERT_EQ(::chown(directory.c_str(), kOther, kOther), 0);
  ASSERT_EQ(::chmod(folder_.file("").c_str(), 0755), 0);
  ASSERT_EQ(::seteuid(kOther), 0);
  const auto allowed = [](const auto& result) {
    const bool is_allowed = result.has_value() || result.error().kind() == ProviderErrorKind::kUnavailable;
    EXPECT_TRUE(is_allowed) << result.error().to_string();
  };
  try {
    SqliteFile file(directory + "/store.db");
    Scene scene(file);
    scene.create("a");
    EXPECT_EQ(::chmod(directory.c_str(), 0), 0);
    struct stat found = {};
    EXPECT_EQ(::stat(file.path().c_str(), &found), -1);
    for (int times = 0; times < 3; ++times) {
      allowed(scene.store().enqueue_message(event_message("a", "e" + std::to_string(times))));
      allowed(scene.store().read_status("a"));
      allowed(scene.store().wait_for_change("a", kEnded, scene.now()));
      allowed(scene.admin().list_instances({}));
    }
    EXPECT_EQ(::chmod(directory.c_str(), 0700), 0);
    EXPECT_TRUE(take(scene.store().read_status("a")));
    EXPECT_EQ(scene.fetch().instance, "a");
    scene.create("b");
    EXPECT_EQ(::rename(file.path().c_str(), (directory + "/moved.db").c_str()), 0);
    expect_moved(scene);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  ASSERT_EQ(::seteuid(0), 0);
}

TEST_F(SqliteMovedFile, ReadsOfAStoreThatIsOnlyReadFailWithoutItsLog) {
  Scene scene(file_);
  scene.create("a");
  SqliteOptions options = file_.options();
  options.read_only = true;
  const auto reader = SqliteProvider::open(file_.path(), options);
  EXPECT_TRUE(take(reader->read_status("a")));
  fs::remove(file_.path() + "-wal");
  ASSERT_FALSE(reader->read_status("a"));
  EXPECT_EQ(reader->read_status("a").error().kind(), ProviderErrorKind::kStoreFailed);
}

TEST_F(SqliteMovedFile, ReadsOfAReplacedFileFailAndNeverShowTheOtherFile) {
  SqliteFile other(folder_.file("other.db"));
  Scene(other).create("other");
  for (const bool has_reader : {false, true}) {
    SCOPED_TRACE(has_reader ? "a reader is open" : "no reader is open");
    SqliteFile file(folder_.file(has_reader ? "second.db" : "first.db"));
    Scene scene(file);
    scene.create("a");
    EXPECT_EQ(has_reader && take(scene.store().read_status("a")), has_reader);
    fs::copy_file(other.path(), folder_.file("copy.db"), fs::copy_options::overwrite_existing);
    fs::rename(folder_.file("copy.db"), file.path());
    EXPECT_FALSE(scene.store().read_status("other"));
    expect_moved(scene);
  }
}

TEST_F(SqliteMovedFile, AStoreThatIsPutBackWorksWhenItIsReopened) {
  {
    Scene scene(file_);
    scene.create("a");
    fs::rename(file_.path(), folder_.file("moved.db"));
    EXPECT_FALSE(scene.store().read_status("a"));
    fs::rename(folder_.file("moved.db"), file_.path());
  }
  Scene scene(file_);
  EXPECT_TRUE(take(scene.store().read_status("a")));
  EXPECT_EQ(integrity_of(file_.path()), "ok");
}

TEST_F(SqliteMovedFile, WaitersEndWhenTheFileIsDeleted) {
  Scene scene(file_);
  scene.create("a");
  const Timestamp far = scene.now() + Milliseconds{3'600'000};
  auto worker = std::async(std::launch::async, [&] {
    return scene.store().wait_for_work({.orchestrations = OrchestrationFetch{}, .activities = {}}, far);
  });
  auto client = std::async(std::launch::async, [&] { return scene.store().wait_for_change("a", kEnded, far); });
  fs::remove(file_.path());
  EXPECT_FALSE(worker.get());
  EXPECT_FALSE(client.get());
}

// The application may use SQLite as well.
TEST(SqliteSharedCache, ASharedCacheOfTheApplicationFailsNoCall) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  sqlite3_enable_shared_cache(1);
  {
    Scene scene(file);
    auto writer = std::async(std::launch::async, [&] {
      int failed = 0;
      for (int number = 0; number < 200; ++number) {
        failed += scene.store().enqueue_message(event_message("a", "e")) ? 0 : 1;
      }
      return failed;
    });
    int failed = 0;
    for (int number = 0; number < 200; ++number) failed += scene.admin().queue_depths() ? 0 : 1;
    EXPECT_EQ(failed + writer.get(), 0);
  }
  sqlite3_enable_shared_cache(0);
}

}  // namespace
}  // namespace perdure::testing
