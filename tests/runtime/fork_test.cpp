// A child of fork(): it has a copy of the store and of the runtime, and none of their threads.
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/sqlite_provider.h>
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Returns the exit status of the child, which is killed if it hangs.
int status_in_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(holds() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

template <class Failure>
bool complains(const std::function<void()>& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return std::string(failure.what()).find("after fork()") != std::string::npos;
  }
  return false;
}

class Forked : public ::testing::Test {
 protected:
  Forked() {
    registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  }
  TemporaryFolder folder;
  Registry registry;
};

TEST_F(Forked, StoreFailsAtOnceInAChild) {
  auto store = SqliteProvider::open(folder.file("store.db"));
  const Client client(store);
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(status_in_child([&] {
              return complains<ClientError>([&] { client.start_orchestration("j", "Flow"); }) &&
                     complains<ClientError>([&] { (void)client.get_orchestration_status("i"); }) &&
                     complains<ClientError>([&] { (void)client.wait_for_orchestration("i", 10s); }) &&
                     complains<ClientError>([&] { (void)client.list_all_instances(); });
            }),
            0);
  EXPECT_EQ(client.get_orchestration_status("i").state, OrchestrationState::kPending);
  EXPECT_EQ(client.get_orchestration_status("j").state, OrchestrationState::kNotFound);
}

TEST_F(Forked, DestructorsInAChildTouchNothing) {
  auto store = SqliteProvider::open(folder.file("store.db"));
  auto runtime = std::make_unique<Runtime>(store, registry);
  EXPECT_EQ(status_in_child([&] {
              store->wake_waiters();
              runtime.reset();
              store.reset();
              return true;
            }),
            0);
  const Client client(store);
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(client.wait_for_orchestration("i", 30s).completed());
  EXPECT_EQ(client.list_nodes().size(), 1U);
}

TEST_F(Forked, RuntimeThrowsInAChild) {
  Runtime runtime(SqliteProvider::open(folder.file("store.db")), registry);
  EXPECT_EQ(status_in_child([&] {
              return complains<std::logic_error>([&] { runtime.shutdown(); }) &&
                     complains<std::logic_error>([&] { (void)runtime.idle(); }) &&
                     complains<std::logic_error>([&] { (void)runtime.health(); }) &&
                     complains<std::logic_error>([&] { runtime.set_version_policy("Flow", VersionPolicy::latest()); });
            }),
            0);
}

}  // namespace
}  // namespace perdure::test
