// Opening: what is taken, what is refused and left as it is, and what the options do.
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "providers/fault_vfs.h"
#include "providers/sqlite/schema.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

namespace fs = std::filesystem;

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Refused as a store of somebody else, with every byte and no file beside it as before.
void expect_refused(const std::string& path, const std::string& why) {
  const std::string before = bytes_of(path);
  const std::string log_before = bytes_of(path + "-wal");
  const ProviderError error = refusal_of(path);
  EXPECT_EQ(error.kind(), ProviderErrorKind::kIncompatibleStore) << error.message();
  EXPECT_FALSE(error.retryable());
  EXPECT_NE(error.message().find(path), std::string::npos) << error.message();
  EXPECT_NE(error.message().find(why), std::string::npos) << error.message();
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_EQ(bytes_of(path + "-wal"), log_before);
  EXPECT_FALSE(fs::exists(path + "-processes"));
}

TEST(SqliteOpen, MakesAFileAndFindsItAgain) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  {
    Scene(file).create("a");
  }
  EXPECT_FALSE(fs::exists(file.path() + "-wal"));  // closed cleanly: one file is all there is
  Scene scene(file);
  EXPECT_TRUE(take(scene.store().read_status("a")));
  EXPECT_EQ(integrity_of(file.path()), "ok");
}

TEST(SqliteOpen, AnEmptyFileBecomesAStore) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  write_file(file.path(), "");
  Scene(file).create("a");
}

TEST(SqliteOpen, StoresInMemoryAreApart) {
  SqliteFile file(":memory:");
  Scene first(file);
  Scene second(file);
  first.create("a");
  EXPECT_FALSE(take(second.store().read_status("a")));
  EXPECT_FALSE(first.store().capabilities().durable);
  EXPECT_FALSE(first.store().capabilities().shared_between_processes);
  EXPECT_FALSE(fs::exists(":memory:-processes"));
}

TEST(SqliteOpen, APathIsNeverAUri) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.file(""));
  {
    SqliteFile file("file:store.db?mode=memory");
    Scene(file).create("a");
    Scene again(file);
    EXPECT_TRUE(take(again.store().read_status("a")));
  }
  EXPECT_TRUE(fs::exists("file:store.db?mode=memory"));
  fs::current_path(before);
}

TEST(SqliteOpen, AnEmptyPathIsRefused) {
  EXPECT_EQ(refusal_of("").kind(), ProviderErrorKind::kInvalidArgument);
}

TEST(SqliteOpen, AFolderThatDoesNotExistIsSaid) {
  const TemporaryFolder folder;
  const ProviderError error = refusal_of(folder.file("nowhere/store.db"));
  EXPECT_EQ(error.kind(), ProviderErrorKind::kUnavailable);
  EXPECT_NE(error.message().find("nowhere/store.db"), std::string::npos);
  EXPECT_EQ(refusal_of(folder.file("")).kind(), ProviderErrorKind::kUnavailable);
}

TEST(SqliteOpen, AFileOfAnotherKindIsRefused) {
  const TemporaryFolder folder;
  const std::array<std::string, 4> texts{"x", "hello, world\n", std::string(100'000, '\0'),
                                         std::string("SQLite format 3\0", 16) + std::string(5'000, 'x')};
  for (const std::string& text : texts) {
    const std::string path = folder.file("file");
    write_file(path, text);
    expect_refused(path, "was not changed");
    EXPECT_FALSE(fs::exists(path + "-wal"));
    EXPECT_FALSE(fs::exists(path + "-shm"));
  }
}

TEST(SqliteOpen, ADatabaseOfAnotherProgramIsRefused) {
  const TemporaryFolder folder;
  for (const char* mode : {"PRAGMA journal_mode=DELETE", "PRAGMA journal_mode=WAL"}) {
    const std::string path = folder.file(mode);
    {
      sqlite::Connection foreign = open_plainly(path);
      foreign.execute(mode);
      foreign.execute("CREATE TABLE instances(key INTEGER PRIMARY KEY); INSERT INTO instances VALUES(1)");
    }
    expect_refused(path, "not a Perdure store");
  }
}

TEST(SqliteOpen, ADatabaseThatAnotherProgramHasOpenIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("foreign.db");
  sqlite::Connection foreign = open_plainly(path);
  foreign.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  expect_refused(path, "not a Perdure store");
  foreign.execute("INSERT INTO t VALUES(2)");
  EXPECT_EQ(foreign.integer("SELECT count(*) FROM t"), 2);
}

TEST(SqliteOpen, AnUnfinishedChangeOfAnotherProgramIsNotUndone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("foreign.db");
  {
    sqlite::Connection foreign = open_plainly(path);
    foreign.execute("CREATE TABLE t(x); INSERT INTO t SELECT value FROM json_each('[1,2,3]')");
  }
  const std::string before = bytes_of(path);
  std::string journal;
  {
    sqlite::Connection foreign = open_plainly(path);
    foreign.execute(
        "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN; UPDATE t SET x = x + 1;"
        "CREATE TABLE u AS SELECT randomblob(3000) FROM t, t, t, t; UPDATE t SET x = 9");
    journal = bytes_of(path + "-journal");
    write_file(folder.file("copy.db"), bytes_of(path));
    foreign.execute("ROLLBACK");
  }
  ASSERT_GT(journal.size(), 512U);
  write_file(folder.file("copy.db-journal"), journal);
  expect_refused(folder.file("copy.db"), "was not changed");
  EXPECT_EQ(bytes_of(folder.file("copy.db-journal")), journal);
}

TEST(SqliteOpen, AStoreOfANewerVersionIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  {
    SqliteFile file(path);
    Scene(file).create("a");
  }
  fs::remove(path + "-processes");
  open_plainly(path).execute("PRAGMA user_version=99");
  expect_refused(path, "format 99");
}

TEST(SqliteOpen, ADamagedStoreIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  {
    SqliteFile file(path);
    Scene(file).create("a");
  }
  fs::remove(path + "-processes");
  std::string bytes = bytes_of(path);
  bytes.replace(100, 2'000, 2'000, '\xee');  // the list of tables
  write_file(path, bytes);
  expect_refused(path, "was not changed");
}

TEST(SqliteOpen, ATruncatedStoreIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  {
    SqliteFile file(path);
    Scene(file).create("a");
  }
  const std::string bytes = bytes_of(path);
  constexpr std::size_t kPage = 4'096;  // of a page that is cut SQLite learns only when it is read
  for (std::size_t size = 1; size + kPage <= bytes.size(); size += 5'000) {
    write_file(path, bytes.substr(0, size));
    const std::string before = bytes_of(path);
    const ProviderError error = refusal_of(path);
    EXPECT_FALSE(error.retryable()) << size << ": " << error.to_string();
    EXPECT_EQ(bytes_of(path), before) << size;
  }
}

TEST(SqliteOpen, ALinkLeadsToTheSameProcesses) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  scene.create("a");
  const OrchestrationItem item = scene.wake("a");
  fs::create_symlink(file.path(), folder.file("link.db"));
  // Somebody who comes through the link must see that the first store is alive, and leave its locks alone.
  SqliteFile link(folder.file("link.db"));
  Scene other(link);
  other.fetch_nothing();
  scene.ack(scene.commit_of(item));
  EXPECT_FALSE(fs::exists(folder.file("link.db-processes")));
}

TEST(SqliteOpen, TheFileSystemLayerIsUsedForEverything) {
  const TemporaryFolder folder;
  FaultVfs disk;
  SqliteFile file(folder.file("store.db"), disk.name());
  {
    Scene(file).create("a");
  }
  disk.set_hook([](const FileOperation&) { return Fault::kInputOutput; });
  EXPECT_THROW(static_cast<void>(file.create()), ProviderFailure);
  disk.set_hook({});
  EXPECT_TRUE(take(Scene(file).store().read_status("a")));
}

TEST(SqliteOpen, AnUnknownFileSystemLayerIsSaid) {
  const TemporaryFolder folder;
  SqliteOptions options;
  options.vfs = "no such layer";
  EXPECT_FALSE(refusal_of(folder.file("store.db"), options).message().empty());
}

// ---- The clock ----

TEST(SqliteClock, NeverRunsBackwards) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  const Timestamp before = scene.now();
  scene.step(Milliseconds{-60'000});
  EXPECT_EQ(scene.now(), before);
  scene.enqueue_start("a");
  OrchestrationFetch fetch;
  const OrchestrationItem item = scene.fetch(fetch);
  EXPECT_EQ(item.locked_until, before + fetch.lock_timeout);
  EXPECT_EQ(scene.ack(scene.first_commit_of(item)).now, before);
  scene.advance(Milliseconds{660'000});
  EXPECT_EQ(scene.now(), before + Milliseconds{600'000}) << "the source has caught up";
}

TEST(SqliteClock, ADeadlineThatHasPassedForTheStoreIsNotWaitedFor) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  const Timestamp deadline = scene.now();
  scene.step(Milliseconds{-60'000});
  EXPECT_FALSE(take(scene.store().wait_for_work({.orchestrations = OrchestrationFetch{}, .activities = {}}, deadline)));
  EXPECT_FALSE(
      take(scene.store().wait_for_change("a", {.ended = true, .custom_status_after = {}, .key_value = {}}, deadline)));
}

}  // namespace
}  // namespace perdure::testing
