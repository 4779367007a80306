// Disks without room: how long the log gets, when work resumes, and what can be read.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "providers/fault_vfs.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebibyte = 1 << 20;

class SqliteSpace : public ::testing::Test {
 protected:
  // A turn whose commit writes that many bytes over those of the turn before.
  static auto set_status(Scene& scene, std::size_t bytes) {
    TurnCommit commit = scene.commit_of(scene.wake("a"));
    commit.custom_status = CustomStatusChange{.value = std::string(bytes, 'x')};
    return scene.store().ack_orchestration_item(commit);
  }
  [[nodiscard]] SqliteOptions read_only() const {
    SqliteOptions options = file_.options();
    options.read_only = true;
    return options;
  }
  void fill_shared_memory() {
    disk_.set_hook([](const FileOperation& operation) {
      const bool grows = operation.call == FileCall::kShmMap || operation.call == FileCall::kWrite;
      return grows ? Fault::kDiskFull : Fault::kNone;
    });
  }

  TemporaryFolder folder_;
  FaultVfs disk_;
  SqliteFile file_{folder_.file("store.db"), disk_.name()};
};

TEST_F(SqliteSpace, ALogThatFillsTheDiskAloneFailsNoCommit) {
  {
    Scene scene(file_);
    scene.create("a");
    take(set_status(scene, 400'000));  // leaves pages in the file that the turns below can use
    take(set_status(scene, 50'000));
  }
  Scene scene(file_);
  disk_.set_capacity(2 * kMebibyte);
  for (int turn = 0; turn < 200; ++turn) take(set_status(scene, 50'000));
}

TEST_F(SqliteSpace, WorkResumesOnceSpaceIsFreed) {
  Scene scene(file_);
  scene.create("a");
  disk_.set_capacity(2 * kMebibyte);
  const auto enqueue = [&] {
    return scene.store().enqueue_message(event_message("b", "e", std::string(100'000, 'x')));
  };
  int fitting = 0;
  for (; enqueue(); ++fitting) ASSERT_LT(fitting, 100);
  for (int times = 0; times < 3; ++times) {
    const auto full = enqueue();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind(), ProviderErrorKind::kDiskFull) << full.error().to_string();
    EXPECT_TRUE(full.error().retryable());
  }
  EXPECT_TRUE(take(scene.store().read_status("a")));
  disk_.set_capacity(4 * kMebibyte);
  take(enqueue());
  EXPECT_EQ(take(scene.admin().queue_depths()).messages, static_cast<std::uint64_t>(fitting) + 1);
  EXPECT_EQ(integrity_of(file_.path()), "ok");
}

TEST(SqliteLog, ALongTransactionLeavesNoLongLog) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  scene.enqueue(event_message("big", "e", std::string(40 * kMebibyte, 'x')));
  EXPECT_GT(fs::file_size(file.path() + "-wal"), 40 * kMebibyte);
  for (int times = 0; times < 3; ++times) scene.enqueue(event_message("small", "e"));
  EXPECT_LE(fs::file_size(file.path() + "-wal"), 17 * kMebibyte);
}

// One snapshot begins before the last one ends, so that at each moment a reader uses the log.
TEST(SqliteLog, ReadersThatOverlapDoNotLetItGrow) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  std::atomic<bool> stop = false;
  auto reading = std::async(std::launch::async, [&] {
    sqlite::Connection first = open_plainly(file.path());
    sqlite::Connection second = open_plainly(file.path());
    const auto begin = [](sqlite::Connection& connection) {
      connection.execute("BEGIN");
      static_cast<void>(connection.integer("SELECT count(*) FROM messages"));
    };
    begin(first);
    while (!stop) {
      begin(second);
      first.execute("COMMIT");
      begin(first);
      second.execute("COMMIT");
    }
    first.execute("COMMIT");
  });
  std::uintmax_t longest = 0;
  // On a busy machine a reader may be late again and again. The log then grows until the writer tries the next time.
  for (int number = 0; number < 200; ++number) {
    scene.enqueue(event_message("big", "e", std::string(kMebibyte, 'x')));
    longest = std::max(longest, fs::file_size(file.path() + "-wal"));
  }
  stop = true;
  reading.get();
  EXPECT_LE(longest, 120 * kMebibyte);
}

// ---- Reading ----

TEST_F(SqliteSpace, AClosedStoreIsReadWithoutRoomForSharedMemory) {
  {
    Scene scene(file_);
    scene.create("a");
  }
  ASSERT_FALSE(fs::exists(file_.path() + "-shm"));
  fill_shared_memory();
  const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path(), read_only());
  EXPECT_EQ(take(store->admin()->list_instances({})).instances.size(), 1U);
  EXPECT_TRUE(take(store->read_status("a")));
}

TEST_F(SqliteSpace, AnInterruptedStoreIsReadWithItsLog) {
  const std::string copy = folder_.file("copy.db");
  {
    Scene scene(file_);
    scene.create("a");
    fs::copy_file(file_.path(), copy);
    fs::copy_file(file_.path() + "-wal", copy + "-wal");  // as a process leaves them that was killed
  }
  fill_shared_memory();
  const std::shared_ptr<Provider> store = SqliteProvider::open(copy, read_only());
  EXPECT_EQ(take(store->admin()->list_instances({})).instances.size(), 1U);
  EXPECT_EQ(take(store->admin()->read_history("a", std::nullopt, 0)).size(), 1U);
}

TEST_F(SqliteSpace, AnOpenStoreIsReadByAnotherOnAFullDisk) {
  Scene scene(file_);
  scene.create("a");
  disk_.set_hook([](const FileOperation& operation) {
    return operation.call == FileCall::kWrite ? Fault::kDiskFull : Fault::kNone;
  });
  const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path(), read_only());
  EXPECT_EQ(take(store->admin()->list_instances({})).instances.size(), 1U);
  disk_.set_hook({});
  scene.create("b");
  EXPECT_EQ(take(store->admin()->list_instances({})).instances.size(), 2U);
}

TEST_F(SqliteSpace, AStoreThatIsOnlyReadChangesNothing) {
  {
    Scene scene(file_);
    scene.create("a");
  }
  fs::remove(file_.path() + "-processes");
  const std::string before = bytes_of(file_.path());
  {
    const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path(), read_only());
    const auto refused = store->enqueue_message(event_message("a", "e"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ProviderErrorKind::kUnsupported);
    EXPECT_FALSE(store->fetch_orchestration_item());
    EXPECT_FALSE(take(store->wait_for_work({.orchestrations = OrchestrationFetch{}, .activities = {}}, store->now())));
  }
  EXPECT_EQ(bytes_of(file_.path()), before);
  EXPECT_FALSE(fs::exists(file_.path() + "-processes"));
  EXPECT_FALSE(fs::exists(file_.path() + "-wal"));
}

TEST_F(SqliteSpace, AFileThatIsNoStoreIsNotOpenedForReading) {
  EXPECT_FALSE(refusal_of(file_.path(), read_only()).message().empty());
  EXPECT_FALSE(fs::exists(file_.path()));
  std::ofstream(file_.path()) << "";
  EXPECT_EQ(refusal_of(file_.path(), read_only()).kind(), ProviderErrorKind::kIncompatibleStore);
  std::ofstream(file_.path()) << "something else that is not a database";
  EXPECT_EQ(refusal_of(file_.path(), read_only()).kind(), ProviderErrorKind::kIncompatibleStore);
  EXPECT_EQ(refusal_of(":memory:", read_only()).kind(), ProviderErrorKind::kInvalidArgument);
}

// A file system of one mebibyte, where the process may mount one.
class SqliteSmallDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::mount("tmpfs", folder_.file("").c_str(), "tmpfs", 0, "size=1m") != 0) {
      GTEST_SKIP() << "file systems cannot be mounted here";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(folder_.file("").c_str(), MNT_DETACH);
  }
  // Takes all space that is left.
  void fill() {
    std::ofstream file(folder_.file("filler"), std::ios::binary);
    while (file << std::string(4'096, 'x') && file.flush()) {
    }
  }

  TemporaryFolder folder_;
  bool mounted_ = false;
};

TEST_F(SqliteSmallDisk, AFullDiskIsReadAndWorkResumesWhenItIsFreed) {
  SqliteFile file(folder_.file("store.db"));
  SqliteOptions read_only = file.options();
  read_only.read_only = true;
  {
    Scene scene(file);
    scene.create("a");
    fill();
    const auto enqueue = [&] {
      return scene.store().enqueue_message(event_message("b", "e", std::string(200'000, 'x')));
    };
    const auto full = enqueue();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind(), ProviderErrorKind::kDiskFull) << full.error().to_string();
    EXPECT_EQ(take(SqliteProvider::open(file.path(), read_only)->admin()->list_instances({})).instances.size(), 1U);
    fs::remove(folder_.file("filler"));
    take(enqueue());
  }
  fill();
  ASSERT_FALSE(fs::exists(file.path() + "-shm"));
  EXPECT_EQ(take(SqliteProvider::open(file.path(), read_only)->admin()->list_instances({})).instances.size(), 1U);
}

}  // namespace
}  // namespace perdure::testing
