// A process whose system has no more threads, from a chosen one on. Writes a line for each complaint, and "done".
//
//   runtime          constructors of Runtime, each of which fails at another thread
//   store PATH       the same for SqliteProvider::open
//   replacement      a stuck activity whose thread cannot be replaced
//   exit             an activity that ends its thread, which cannot be replaced at once
//   exit-for-good    the same, and there is no thread until the node stops
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <pthread.h>

#include <perdure/perdure.h>
#include <perdure/sqlite_provider.h>
#include "runtime/threaded.h"
#include "support/sanitized.h"

namespace {

std::atomic<int> g_threads_left = -1;  // negative: no limit

}  // namespace

#if !PERDURE_TEST_SANITIZED
// Stands in for the one of the C library, whose callers include std::thread.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (g_threads_left == 0) return EAGAIN;
  if (g_threads_left > 0) --g_threads_left;
  return create(thread, attributes, function, argument);
}
#endif

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

void require(bool holds, const std::string& complaint) {
  if (!holds) std::cout << complaint << std::endl;
}

std::size_t threads_of_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// Fails at the first thread, then at the second, until all can be made. `expected` returns what the error of the
// attempt with so many threads contains.
void try_with_ever_more_threads(const std::function<void()>& make,
                                const std::function<std::string(int threads)>& expected) {
  const std::size_t threads_before = threads_of_process();
  for (int threads = 0;; ++threads) {
    const std::string at = " with " + std::to_string(threads) + " threads";
    require(threads < 100, "never works");
    g_threads_left = threads;
    try {
      make();
      require(threads > 0, "works without threads");
      return;
    } catch (const std::exception& error) {
      require(std::string(error.what()).find(expected(threads)) != std::string::npos, error.what() + at);
    }
    require(eventually([&] { return threads_of_process() == threads_before; }), "threads are left behind" + at);
  }
}

[[maybe_unused]] void make_runtimes() {
  const auto store = make_memory_provider();
  const Client client(store);
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext&) { return ++runs; });
  registry.add_orchestration("Flow", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Work");
  });
  client.start_orchestration("i", "Flow");
  RuntimeOptions options;
  options.worker_concurrency = 2;
  options.orchestration_concurrency = 3;
  std::unique_ptr<Runtime> runtime;
  const auto make = [&] {
    require(runs == 0, "a node that was never returned has run an activity");
    require(client.list_nodes().empty(), "a node that was never returned is registered");
    runtime = std::make_unique<Runtime>(store, registry, options);
  };
  // The threads of activities are made first, then those of their dispatcher, whose number is fixed, then the turns'.
  try_with_ever_more_threads(make, [&](int threads) -> std::string {
    const std::string raise = "raise the limit of threads (ulimit -u, pids.max) or of memory, or lower ";
    if (threads < 2)
      return "cannot create a thread for activities (" + std::to_string(threads) + " of 2 created); " + raise +
             "worker_concurrency";
    if (threads < 6)
      return "cannot create a thread for the dispatcher of activities (" + std::to_string(threads - 2) +
             " of 4 created); " + raise + "worker_concurrency";
    return "cannot create a thread for the dispatcher of orchestrations (" + std::to_string(threads - 6) +
           " of 6 created); " + raise + "orchestration_concurrency";
  });
  require(client.wait_for_orchestration("i", 30s).completed(), "the last node does not work");
}

[[maybe_unused]] void open_stores(const std::string& path) {
  try_with_ever_more_threads(
      [&] {
        try {
          (void)SqliteProvider::open(path);
        } catch (const ProviderFailure& failure) {
          require(failure.error().kind() == ProviderErrorKind::kUnavailable, failure.what());
          throw;
        }
      },
      [](int) { return "cannot create a thread"; });
}

[[maybe_unused]] void replace_thread() {
  const auto log = std::make_shared<CapturingLogSink>();
  const auto store = make_memory_provider();
  const Client client(store);
  const Gate begun;
  const Gate go_on;
  Registry registry;
  registry.add_activity("Stuck", [&](ActivityContext&) {
    begun.open();
    go_on.wait();
    return 1;
  });
  registry.add_activity("Work", [&](ActivityContext&) { return 1; });
  registry.add_orchestration("Flow", [](OrchestrationContext ctx, std::string activity) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>(activity);
  });
  RuntimeOptions options;
  options.worker_concurrency = 1;
  options.activity_cancellation_grace_period = 1ms;
  options.worker_lock_timeout = 1'000ms;
  options.logger = Logger(log);
  const Runtime runtime(store, registry, options);
  client.start_orchestration("stuck", "Flow", "Stuck");
  require(begun.wait(), "the activity does not begin");
  g_threads_left = 0;
  client.cancel_instance("stuck");
  require(eventually([&] { return !log->find("its slot stays occupied").empty(); }), "no warning");
  go_on.open();
  client.start_orchestration("after", "Flow", "Work");
  require(client.wait_for_orchestration("after", 30s).completed(), "the slot is not free again");
  g_threads_left = -1;
}

// The runtime of `use` has one slot, and its thread has ended without another one.
void end_thread(const std::function<void(const Client& client)>& use) {
  const auto log = std::make_shared<CapturingLogSink>();
  const auto store = make_memory_provider();
  const Client client(store);
  const Gate begun;
  const Gate go_on;
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext&) {
    if (++runs > 1) return 1;
    begun.open();
    go_on.wait();
    ::pthread_exit(nullptr);
  });
  registry.add_orchestration("Flow", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Work");
  });
  RuntimeOptions options;
  options.worker_concurrency = 1;
  options.activity_cancellation_grace_period = 1ms;
  options.unregistered_backoff.base = Milliseconds(1);
  options.shutdown_timeout = 600'000ms;
  options.logger = Logger(log);
  const Runtime runtime(store, registry, options);
  client.start_orchestration("i", "Flow");
  require(begun.wait(), "the activity does not begin");
  g_threads_left = 0;
  go_on.open();
  require(eventually([&] { return !log->find("its slot stays occupied").empty(); }), "no warning");
  use(client);
}

[[maybe_unused]] void replace_ended_thread() {
  end_thread([](const Client& client) {
    g_threads_left = -1;
    require(client.wait_for_orchestration("i", 30s).completed(), "the slot is not free again");
  });
}

// The shutdown has ten minutes, and the test less.
[[maybe_unused]] void stop_without_thread() {
  end_thread([](const Client&) {});
  g_threads_left = -1;
}

}  // namespace
}  // namespace perdure::test

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
#if !PERDURE_TEST_SANITIZED
  if (what == "runtime") perdure::test::make_runtimes();
  if (what == "store" && argc > 2) perdure::test::open_stores(argv[2]);
  if (what == "replacement") perdure::test::replace_thread();
  if (what == "exit") perdure::test::replace_ended_thread();
  if (what == "exit-for-good") perdure::test::stop_without_thread();
#endif
  std::cout << "done" << std::endl;
  return 0;
}
