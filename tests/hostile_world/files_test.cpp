// Stores on strange paths, and files that somebody changes from outside.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "providers/sqlite_scene.h"
#include "support/temporary_folder.h"
#include "testing/validation/moves.h"

namespace perdure::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

class StrangeNames : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Names, StrangeNames,
                         ::testing::Values("with spaces and ends with one ", "what?mode=memory", "100%41%00", "a#b",
                                           "two\nlines", "naïve-數據-🗄", "not utf-8 \xff\xfe", "-dash", "'\"`;$(x)",
                                           "file:x?mode=memory&cache=shared", ":memory:", "\\back\\slash", "\x1b[31m",
                                           std::string(240, 'x')));

TEST_P(StrangeNames, AreNamesOfFilesAndNothingElse) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / GetParam()).string();
  {
    SqliteFile file(path);
    Scene(file).create("order");
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre(GetParam(), GetParam() + "-processes"));
  SqliteFile file(path);
  Scene scene(file);
  EXPECT_TRUE(take(scene.store().read_status("order")));
  EXPECT_EQ(integrity_of(path), "ok");
}

class StoreFiles : public ::testing::Test {
 protected:
  // Opening must fail in time, name the path, and change nothing.
  void expect_refusal(const std::string& path, const std::string& words) {
    const std::vector<std::string> before = names_in(folder.path());
    for (const bool read_only : {false, true}) {
      SqliteOptions options;
      options.read_only = read_only;
      const ProviderError error = refusal_of(path, options);
      EXPECT_THAT(error.message(), HasSubstr(words)) << read_only;
      EXPECT_THAT(error.message(), HasSubstr(path.substr(0, 100))) << read_only;
    }
    EXPECT_EQ(names_in(folder.path()), before);
  }

  test::TemporaryFolder folder;
  SqliteFile file{folder.file("store.db")};
};

TEST_F(StoreFiles, APathThatIsTooLongIsRefused) {
  std::string path = folder.path().string();
  while (path.size() < 4'000) path += "/" + std::string(100, 'd');
  expect_refusal(path, "");
  expect_refusal(folder.file(std::string(256, 'x')), "");
}

TEST_F(StoreFiles, ADirectoryIsRefused) {
  fs::create_directory(folder.file("directory"));
  expect_refusal(folder.file("directory"), "not a regular file");
  expect_refusal(folder.file("directory") + "/", "names a directory");
  expect_refusal(folder.file("missing") + "/", "names a directory");
}

TEST_F(StoreFiles, ADeviceOrAPipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", folder.file("null"));
  expect_refusal(folder.file("pipe"), "not a regular file");
  expect_refusal(folder.file("null"), "not a regular file");
  for (const std::string path : {"/dev/null", "/dev/zero", "/dev/full"}) {
    expect_refusal(path, "not a regular file");
    EXPECT_FALSE(fs::exists(path + "-processes"));
    EXPECT_FALSE(fs::exists(path + "-wal"));
  }
}

TEST_F(StoreFiles, ALoopOfLinksIsRefused) {
  fs::create_symlink(folder.file("b"), folder.file("a"));
  fs::create_symlink(folder.file("a"), folder.file("b"));
  expect_refusal(folder.file("a"), "");
}

// Each name would have a log of its own, and both processes would write the same pages.
TEST_F(StoreFiles, ASecondNameOfAnOpenStoreIsRefused) {
  Scene scene(file);
  scene.create("order");
  fs::create_hard_link(file.path(), folder.file("second.db"));
  expect_refusal(folder.file("second.db"), "hard links");
  scene.enqueue(event_message("order", "x"));  // whoever has it open goes on
  EXPECT_EQ(scene.fetch().instance, "order");
  fs::remove(folder.file("second.db"));
  Scene other(file);
  EXPECT_TRUE(take(other.store().read_status("order")));
}

TEST_F(StoreFiles, ALogThatIsDeletedAfterACrashCostsWhatWasInItAndNoMore) {
  Scene(file).create("copied");
  Scene scene(file);
  scene.create("in the log");
  fs::copy_file(file.path(), folder.file("crashed.db"));
  SqliteFile crashed(folder.file("crashed.db"));
  {
    Scene after(crashed);
    EXPECT_TRUE(take(after.store().read_status("copied")));
    after.create("new");
  }
  EXPECT_EQ(integrity_of(crashed.path()), "ok");
}

TEST_F(StoreFiles, ACopyOfAnOpenStoreIsAStoreOfItsOwn) {
  Scene scene(file);
  scene.create("order");
  scene.enqueue(event_message("order", "x"));
  const OrchestrationItem locked = scene.fetch();
  fs::copy_file(file.path(), folder.file("copy.db"));
  fs::copy_file(file.path() + "-wal", folder.file("copy.db-wal"));
  SqliteFile copied(folder.file("copy.db"));
  Scene copy(copied);
  copied.advance(kLockTimeout);  // nobody knows whether its owner lives, so the lock expires
  const OrchestrationItem again = copy.fetch();
  EXPECT_EQ(again.instance, "order");
  copy.ack(copy.commit_of(again));
  scene.ack(scene.commit_of(locked));  // the two know nothing of each other
  EXPECT_EQ(integrity_of(copied.path()), "ok");
}

}  // namespace
}  // namespace perdure::testing
