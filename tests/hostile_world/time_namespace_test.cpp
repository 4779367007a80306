// Processes on one machine whose steady clocks differ: containers with time namespaces.
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/sqlite_provider.h>
#include "support/temporary_folder.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

constexpr int kNotPermitted = 77;

// In a child process.
[[noreturn]] void enter_namespace(const std::function<int()>& body) {
  if (::unshare(CLONE_NEWTIME) != 0) ::_exit(kNotPermitted);
  std::ofstream offsets("/proc/self/timens_offsets");
  offsets << "boottime 86400 0" << std::flush;
  if (!offsets) ::_exit(kNotPermitted);
  const pid_t process = ::fork();  // only children are in the new namespace
  if (process < 0) ::_exit(kNotPermitted);
  if (process == 0) ::_exit(body());
  int status = 0;
  ::waitpid(process, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// Runs it in a process whose machine booted a day earlier, by its clock. Returns the exit status.
int a_day_later(const std::function<int()>& body) {
  const pid_t process = ::fork();
  if (process < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process == 0) enter_namespace(body);
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST(TimeNamespaces, HaveSteadyClocksThatCannotBeCompared) {
  const SystemClock clock;
  const std::string origin = clock.steady_origin();
  const Milliseconds steady = clock.steady();
  const int status = a_day_later([&] {
    const SystemClock there;
    return there.steady() - steady > 23h && there.steady_origin() != origin ? 0 : 1;
  });
  if (status == kNotPermitted) GTEST_SKIP() << "this process may not make a time namespace";
  EXPECT_EQ(status, 0);
}

// Opens the store, changes something, and returns the time of the store.
Timestamp use(const std::string& path) {
  const auto store = SqliteProvider::open(path, {});
  const Client client(store);
  client.start_orchestration("i", "Flow");
  client.enqueue_event("i", "queue", 1);
  return store->now();
}

TEST(TimeNamespaces, ShareAStoreWithoutLeapsOfItsTime) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  const Timestamp before = use(path);
  for (int turn = 0; turn < 3; ++turn) {
    const int status = a_day_later([&] {
      use(path);
      return 0;
    });
    if (status == kNotPermitted) GTEST_SKIP() << "this process may not make a time namespace";
    ASSERT_EQ(status, 0);
    EXPECT_LT(use(path) - before, 1h);
  }
}

}  // namespace
}  // namespace perdure::test
