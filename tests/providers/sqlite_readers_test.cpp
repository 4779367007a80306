// Readers and the writer of a SQLite store: who waits for whom, and what a store does that nobody uses.
#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "providers/fault_vfs.h"
#include "providers/gate.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

class SqliteReaders : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  FaultVfs disk_;
  SqliteFile file_{folder_.file("store.db"), disk_.name()};
  Gate gate_;
};

// ---- Who waits for whom ----

TEST_F(SqliteReaders, AReaderDoesNotHoldUpTheWriter) {
  Scene scene(file_);
  scene.create("a");
  EXPECT_EQ(take(scene.admin().list_instances({})).instances.size(), 1U);  // opens the reader's connection
  scene.enqueue(event_message("orphan", "e"));                             // and makes it read again
  thread_local bool is_reader = false;
  disk_.set_hook([this](const FileOperation& operation) {
    if (is_reader && operation.call == FileCall::kRead && operation.role == FileRole::kLog) gate_.pass();
    return Fault::kNone;
  });
  auto reader = std::async(std::launch::async, [&] {
    is_reader = true;
    return take(scene.admin().list_instances({})).instances.size();
  });
  gate_.wait();  // inside its snapshot
  scene.create("b");
  scene.end("b");
  gate_.open();
  EXPECT_EQ(reader.get(), 1U);
}

TEST_F(SqliteReaders, TheWriterDoesNotHoldUpReaders) {
  Scene scene(file_);
  scene.create("a");
  disk_.set_hook([this](const FileOperation& operation) {
    if (operation.call == FileCall::kSync) gate_.pass();
    return Fault::kNone;
  });
  auto start = std::async(std::launch::async, [&] { scene.enqueue_start("b"); });
  gate_.wait();
  EXPECT_TRUE(take(scene.store().read_status("a")));
  EXPECT_EQ(take(scene.admin().list_instances({})).instances.size(), 1U);
  EXPECT_EQ(take(scene.admin().read_history("a", std::nullopt, 0)).size(), 1U);
  EXPECT_FALSE(take(scene.store().wait_for_work({}, scene.now())));
  gate_.open();
  start.get();
}

// ---- Idle ----

std::uint64_t looks(const FaultVfs& disk) {
  return disk.count(FileCall::kShmLock, FileRole::kDatabase);
}

// Lets the store of a disk look a few times whether another process has changed something, which takes real time.
void let_it_look(const FaultVfs& disk) {
  disk.wait_for(FileCall::kShmLock, FileRole::kDatabase, looks(disk) + 12);
}

TEST_F(SqliteReaders, AStoreThatNobodyUsesDoesNothing) {
  Scene idle(file_);
  idle.create("a");
  const std::uint64_t before = disk_.count_all();

  FaultVfs other_disk;
  SqliteFile other_file(folder_.file("other.db"), other_disk.name());
  Scene other(other_file);
  auto waiting = std::async(std::launch::async, [&] {
    return take(other.store().wait_for_work({.orchestrations = OrchestrationFetch{}, .activities = {}},
                                            other.now() + Milliseconds{1'000}));
  });
  let_it_look(other_disk);
  EXPECT_EQ(disk_.count_all(), before);
  other.store().wake_waiters();
  other.advance(Milliseconds{1'000});
  EXPECT_FALSE(waiting.get());
}

TEST_F(SqliteReaders, WhoOnlyWaitsReadsAndWritesNothing) {
  Scene scene(file_);
  const WorkWait wait{.orchestrations = OrchestrationFetch{}, .activities = any_tag()};
  EXPECT_FALSE(take(scene.store().wait_for_work(wait, scene.now())));  // looks once, and has it all in its cache
  auto waiting = std::async(std::launch::async,
                            [&] { return take(scene.store().wait_for_work(wait, scene.now() + Milliseconds{1'000})); });
  let_it_look(disk_);
  constexpr std::array kWork = {FileCall::kOpen, FileCall::kRead,   FileCall::kWrite, FileCall::kTruncate,
                                FileCall::kSync, FileCall::kDelete, FileCall::kLock,  FileCall::kShmMap};
  std::array<std::uint64_t, kWork.size()> before{};
  for (std::size_t call = 0; call < kWork.size(); ++call) before[call] = disk_.count(kWork[call]);
  let_it_look(disk_);
  for (std::size_t call = 0; call < kWork.size(); ++call) EXPECT_EQ(disk_.count(kWork[call]), before[call]) << call;
  scene.advance(Milliseconds{1'000});
  EXPECT_FALSE(waiting.get());
}

}  // namespace
}  // namespace perdure::testing
