// Processes of nodes that are stopped, interrupted, starved of descriptors or ended: see world_node_child.cpp.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include "providers/sqlite_scene.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::SizeIs;

class WorldNode : public ChildProcess {
 public:
  explicit WorldNode(const std::string& store, Milliseconds locks = 2s, const std::string& mode = {})
      : ChildProcess({PERDURE_WORLD_NODE_CHILD, store, std::to_string(locks.count()), mode}) {
    if (const std::string first = answer(); first != "ready") throw std::runtime_error("the node said: " + first);
  }
  bool reaches(const std::string& state) {
    return eventually([&] { return ask("state") == state; });
  }
  // Whether it ends by itself once it is asked to.
  bool ends_well() {
    const int status = end();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

// A store that goes with the object, and a client on it.
class NodesInTheWorld : public ::testing::TestWithParam<bool> {
 protected:
  NodesInTheWorld() {
    if (!on_server()) {
      address = folder.file("store.db");
      store = SqliteProvider::open(address);
      return;
    }
    PostgresOptions options;
    options.schema = "perdure_world_" + std::to_string(::getpid());
    PostgresSession(shared_postgres_url()).execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
    const std::string url = shared_postgres_url();
    // The name tells its nodes from those of tests that run at the same time on the same server.
    const std::string name = (url.find('?') == std::string::npos ? "?" : "&") + ("application_name=" + options.schema);
    address = url + name + "#" + options.schema;
    store = PostgresProvider::connect(shared_postgres_url(), options);
  }
  ~NodesInTheWorld() override {
    store.reset();
    if (!on_server()) return;
    PostgresSession(shared_postgres_url()).execute("DROP SCHEMA " + schema() + " CASCADE");
  }
  [[nodiscard]] std::string schema() const { return address.substr(address.find('#') + 1); }
  [[nodiscard]] bool on_server() const { return GetParam(); }
  void start(int count, int steps = 5) {
    for (int i = 0; i < count; ++i) client().start_orchestration("i" + std::to_string(started++), "Steps", steps);
  }
  [[nodiscard]] Client client() const { return Client(store); }
  [[nodiscard]] bool all_ended() const { return client().get_system_metrics().running == 0; }
  void expect_completed(int steps = 5) const {
    for (int i = 0; i < started; ++i) {
      const auto status = client().wait_for_orchestration("i" + std::to_string(i), 60s);
      ASSERT_TRUE(status.completed()) << status.error_text();
      EXPECT_THAT(status.result<std::vector<int>>(), SizeIs(steps));
    }
  }

  TemporaryFolder folder;
  std::string address;
  std::shared_ptr<Provider> store;
  int started = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, NodesInTheWorld, ::testing::Values(false, true),
                         [](const auto& on_server) { return on_server.param ? "Postgres" : "Sqlite"; });

// At whatever moment: what they had locked expires, and what they still believe to have is refused.
TEST_P(NodesInTheWorld, StoppedForLongerThanTheirLocksTheyCommitNothingTwice) {
  start(6, 20);
  WorldNode first(address, 500ms);
  WorldNode second(address, 500ms);
  for (int round = 0; round < 4; ++round) {
    WorldNode& stopped = round % 2 == 0 ? first : second;
    const auto before = client().get_system_metrics().events;
    EXPECT_TRUE(eventually([&] { return client().get_system_metrics().events > before || all_ended(); }));
    stopped.send(SIGSTOP);
    stopped.await_stop();
    if (on_server()) {
      // The other goes on with everything. On SQLite it may have to wait: the stopped one may hold the file.
      EXPECT_TRUE(eventually([&] { return client().get_system_metrics().events > before + 20 || all_ended(); }));
    }
    stopped.send(SIGCONT);
  }
  expect_completed(20);
  for (int i = 0; i < started; ++i) {
    std::vector<EventId> completed;
    for (const Event& event : client().read_execution_history("i" + std::to_string(i))) {
      if (const auto* done = std::get_if<events::ActivityCompleted>(&event.body)) completed.push_back(done->source);
    }
    EXPECT_THAT(completed, SizeIs(20));
    EXPECT_EQ(std::set<EventId>(completed.begin(), completed.end()).size(), 20U) << "an outcome was taken twice";
  }
  EXPECT_TRUE(first.ends_well());
  EXPECT_TRUE(second.ends_well());
}

TEST_P(NodesInTheWorld, WithoutDescriptorsTheyWaitAndGoOn) {
  WorldNode node(address);
  start(1);
  expect_completed();
  EXPECT_TRUE(node.reaches("available"));
  static_cast<void>(node.ask("descriptors"));
  if (on_server()) {  // whose connections have to be made again
    PostgresSession(shared_postgres_url())
        .execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '" + schema() + "'");
    EXPECT_TRUE(node.reaches("unavailable"));
  }
  start(3);
  static_cast<void>(node.ask("restore"));
  EXPECT_TRUE(node.reaches("available"));
  start(3);
  expect_completed();
  EXPECT_TRUE(node.ends_well());
}

// SIGUSR1 to each thread and SIGALRM to the process, whose handlers do not restart calls.
TEST_P(NodesInTheWorld, InterruptedAllTheTimeTheyWork) {
  WorldNode node(address, 5s, "interrupted");
  start(10);
  expect_completed();
  EXPECT_TRUE(node.reaches("available"));
  EXPECT_TRUE(node.ends_well());
}

TEST_P(NodesInTheWorld, WithAllSignalsBlockedTheyWork) {
  WorldNode node(address, 5s, "blocked");
  start(5);
  expect_completed();
  EXPECT_TRUE(node.ends_well());
}

// Destructors of static objects run while threads of the node work.
TEST_P(NodesInTheWorld, ExitWhileTheyWorkEndsAndLosesNothing) {
  for (int round = 0; round < 3; ++round) {
    WorldNode node(address, 500ms);
    start(5);
    node.tell("exit");
    EXPECT_TRUE(node.ended_within(20s));
    EXPECT_TRUE(WIFEXITED(node.wait_status())) << node.wait_status();
  }
  WorldNode next(address, 500ms);
  expect_completed();
}

TEST_P(NodesInTheWorld, RuntimesInsideActivitiesAreMadeUsedAndEnded) {
  WorldNode node(address);
  EXPECT_EQ(node.ask("recursion"), "fine");
  EXPECT_TRUE(node.ends_well());
}

class FilesOfANode : public ::testing::Test {
 protected:
  void start(const std::shared_ptr<Provider>& store, int count, int steps) {
    for (int i = 0; i < count; ++i) Client(store).start_orchestration("i" + std::to_string(started++), "Steps", steps);
  }
  void expect_completed(const std::shared_ptr<Provider>& store) const {
    for (int i = 0; i < started; ++i) {
      EXPECT_TRUE(Client(store).wait_for_orchestration("i" + std::to_string(i), 60s).completed()) << i;
    }
  }

  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  int started = 0;
};

// With SIGXFSZ at its default the system ends the process; ignored, the limit is a full disk.
TEST_F(FilesOfANode, ALimitOfTheSizeOfFilesIsAFullDisk) {
  const auto store = SqliteProvider::open(path);
  WorldNode node(path, 2s, "small files");
  start(store, 20, 50);
  EXPECT_TRUE(node.reaches("unavailable"));
  static_cast<void>(node.ask("files"));
  EXPECT_TRUE(node.reaches("available"));
  expect_completed(store);
  EXPECT_TRUE(node.ends_well());
}

// As a user without rights: root may write everywhere.
TEST_F(FilesOfANode, AFolderAndAFileThatBecomeReadOnlyAreWaitedFor) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  static_cast<void>(SqliteProvider::open(path));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ASSERT_EQ(::chmod(entry.path().c_str(), 0666), 0);
  }
  WorldNode node(path, 2s, "unprivileged");
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const auto store = SqliteProvider::open(path);
  start(store, 3, 5);
  expect_completed(store);  // what it has open it may use
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  start(store, 3, 5);
  EXPECT_TRUE(node.reaches("available"));
  expect_completed(store);
  EXPECT_TRUE(node.ends_well());
}

// The real limit, as `ulimit -u` sets it. Where each single thread is missing: runtime/thread_shortage_test.cpp.
TEST_F(FilesOfANode, ALimitOfThreadsRefusesTheNodeAndLeavesNothingBehind) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  static_cast<void>(SqliteProvider::open(path));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ASSERT_EQ(::chmod(entry.path().c_str(), 0666), 0);
  }
  WorldNode node(path, 2s, "no threads");
  const auto store = SqliteProvider::open(path);
  start(store, 3, 5);
  expect_completed(store);
  EXPECT_TRUE(node.ends_well());
}

}  // namespace
}  // namespace perdure::test
