// Disks that are full and disks that fail.
#include <atomic>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "providers/fault_vfs.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

// A store on a disk that can fail.
class SqliteFaults : public ::testing::Test {
 protected:
  // The operation fails from the n-th time on, counted from 0.
  void fail(Fault fault, FileCall call, FileRole role, int from = 0) {
    disk_.set_hook([=, left = std::make_shared<std::atomic<int>>(from)](const FileOperation& operation) {
      if (operation.call != call || operation.role != role) return Fault::kNone;
      return left->fetch_sub(1) > 0 ? Fault::kNone : fault;
    });
  }
  void mend() { disk_.set_hook({}); }

  // More than the log holds before it is copied into the file.
  static void fill_log(Provider& store) {
    for (int number = 0; number < 18; ++number) {
      static_cast<void>(store.enqueue_message(event_message("big", "e", std::string(1 << 20, 'x'))));
    }
  }

  TemporaryFolder folder_;
  FaultVfs disk_;
  SqliteFile file_{folder_.file("store.db"), disk_.name()};
};

void expect_failed(const ProviderErrorKind kind, const auto& answer) {
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind(), kind) << answer.error().to_string();
  EXPECT_EQ(answer.error().retryable(), kind == ProviderErrorKind::kDiskFull);
}

TEST_F(SqliteFaults, AFullDiskIsToldAndPasses) {
  Scene scene(file_);
  scene.create("a");
  const OrchestrationItem item = scene.wake("a");
  TurnCommit commit = scene.commit_of(item);
  commit.events.push_back(event(2));
  commit.custom_status = CustomStatusChange{.value = std::string(50'000, 'x')};
  commit.messages.push_back(start_message("b"));
  int room = 0;
  for (;; ++room) {  // for one write more each time
    fail(Fault::kDiskFull, FileCall::kWrite, FileRole::kLog, room);
    const auto answer = scene.store().ack_orchestration_item(commit);
    mend();
    if (answer) break;
    expect_failed(ProviderErrorKind::kDiskFull, answer);
    ASSERT_EQ(take(scene.store().read_history(item.token, 0)).events.size(), 1U);
    ASSERT_FALSE(take(scene.store().read_status("b")));
  }
  EXPECT_GT(room, 10);
  EXPECT_EQ(take(scene.admin().read_history("a", std::nullopt, 0)).size(), 2U);
  EXPECT_EQ(integrity_of(file_.path()), "ok");
}

TEST_F(SqliteFaults, ReadsGoOnWhileTheDiskIsFull) {
  Scene scene(file_);
  scene.create("a");
  scene.enqueue(event_message("a", "first"));
  fail(Fault::kDiskFull, FileCall::kWrite, FileRole::kLog);
  expect_failed(ProviderErrorKind::kDiskFull, scene.store().enqueue_message(event_message("a", "e")));
  expect_failed(ProviderErrorKind::kDiskFull, scene.store().fetch_orchestration_item());
  EXPECT_TRUE(take(scene.store().read_status("a")));
  mend();
  scene.enqueue(event_message("a", "e"));
}

TEST_F(SqliteFaults, NoRoomForTheLogsIndexIsAFullDiskToo) {
  Scene scene(file_);
  fail(Fault::kDiskFull, FileCall::kShmMap, FileRole::kDatabase);
  const auto big = event_message("a", "e", std::string(20 << 20, 'x'));
  expect_failed(ProviderErrorKind::kDiskFull, scene.store().enqueue_message(big));
  mend();
  scene.enqueue(big);
  EXPECT_EQ(take(scene.admin().queue_depths()).messages, 1U);
  EXPECT_EQ(integrity_of(file_.path()), "ok");
}

TEST_F(SqliteFaults, ADiskThatIsFullWhenTheStoreIsMade) {
  for (const FileRole role : {FileRole::kJournal, FileRole::kDatabase, FileRole::kLog}) {
    fail(Fault::kDiskFull, FileCall::kWrite, role);
    const ProviderError error = refusal_of(file_.path(), file_.options());
    EXPECT_EQ(error.kind(), ProviderErrorKind::kDiskFull) << error.to_string();
  }
  mend();
  Scene(file_).create("a");
}

TEST_F(SqliteFaults, ACheckpointWithoutRoomIsTriedAgain) {
  Scene scene(file_);
  fail(Fault::kDiskFull, FileCall::kWrite, FileRole::kDatabase);
  fill_log(scene.store());
  scene.enqueue_start("a");
  EXPECT_EQ(disk_.count(FileCall::kSync, FileRole::kDatabase), 1U);  // when the file was made
  mend();
  scene.enqueue_start("b");
  scene.enqueue_start("c");
  EXPECT_GT(disk_.count(FileCall::kSync, FileRole::kDatabase), 1U);
  EXPECT_EQ(take(scene.admin().queue_depths()).messages, 21U);
}

// ---- Nobody knows what the disk holds ----

void expect_all_failed(Scene& scene) {
  const ProviderErrorKind failed = ProviderErrorKind::kStoreFailed;
  Provider& store = scene.store();
  expect_failed(failed, store.enqueue_message(event_message("a", "e")));
  expect_failed(failed, store.enqueue_start(start_message("z"), StartPolicy::kFail));
  expect_failed(failed, store.fetch_orchestration_item());
  expect_failed(failed, store.fetch_work_item());
  expect_failed(failed, store.read_status("a"));
  expect_failed(failed, store.read_key_values("a"));
  expect_failed(failed, scene.admin().list_instances({}));
  expect_failed(failed, scene.admin().delete_instance("a", true));
  expect_failed(failed, store.wait_for_work({.orchestrations = OrchestrationFetch{}, .activities = {}},
                                            scene.now() + Milliseconds{3'600'000}));
  EXPECT_NE(store.read_status("a").error().message().find("reopen"), std::string::npos);
}

TEST_F(SqliteFaults, AFailedSyncEndsTheStoreUntilItIsReopened) {
  {
    Scene scene(file_);
    scene.create("a");
    fail(Fault::kInputOutput, FileCall::kSync, FileRole::kLog);
    expect_failed(ProviderErrorKind::kStoreFailed, scene.store().enqueue_start(start_message("b"), StartPolicy::kFail));
    mend();  // too late
    expect_all_failed(scene);
  }
  Scene scene(file_);
  EXPECT_TRUE(take(scene.store().read_status("a")));
  scene.enqueue(event_message("a", "e"));
  EXPECT_EQ(integrity_of(file_.path()), "ok");
}

TEST_F(SqliteFaults, AFailedWriteDoesToo) {
  Scene scene(file_);
  scene.create("a");
  fail(Fault::kInputOutput, FileCall::kWrite, FileRole::kLog);
  expect_failed(ProviderErrorKind::kStoreFailed, scene.store().enqueue_start(start_message("b"), StartPolicy::kFail));
  mend();
  expect_all_failed(scene);
}

TEST_F(SqliteFaults, AFailedReadDoesToo) {
  Scene scene(file_);
  scene.create("a");
  fail(Fault::kInputOutput, FileCall::kRead, FileRole::kLog);
  expect_failed(ProviderErrorKind::kStoreFailed, scene.store().read_status("a"));
  mend();
  expect_all_failed(scene);
}

TEST_F(SqliteFaults, AFailedSyncOfACheckpointDoesToo) {
  Scene scene(file_);
  scene.create("a");
  fail(Fault::kInputOutput, FileCall::kSync, FileRole::kDatabase);
  fill_log(scene.store());
  static_cast<void>(scene.store().enqueue_message(event_message("a", "e")));  // behind the checkpoint
  mend();
  expect_all_failed(scene);
}

TEST_F(SqliteFaults, WhoWaitsIsToldThatTheStoreHasFailed) {
  Scene scene(file_);
  scene.create("a");
  const Timestamp far = scene.now() + Milliseconds{3'600'000};
  const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
  auto worker = std::async(std::launch::async, [&] {
    return scene.store().wait_for_work({.orchestrations = OrchestrationFetch{}, .activities = {}}, far);
  });
  auto client = std::async(std::launch::async, [&] { return scene.store().wait_for_change("a", ended, far); });
  fail(Fault::kInputOutput, FileCall::kSync, FileRole::kLog);
  expect_failed(ProviderErrorKind::kStoreFailed, scene.store().enqueue_start(start_message("b"), StartPolicy::kFail));
  expect_failed(ProviderErrorKind::kStoreFailed, worker.get());
  expect_failed(ProviderErrorKind::kStoreFailed, client.get());
}

}  // namespace
}  // namespace perdure::testing
