// A node whose process is treated badly. Commands come on its standard input, answers go to its standard output.
//
//   world_node_child STORE LOCK_MS [MODE]   STORE: a path, or the URL of a server
//     MODE "interrupted": signals without SA_RESTART come to every thread all the time
//          "blocked": all signals are blocked in all threads
//          "unprivileged": it is a user without rights, if it can be
//          "no threads": likewise, and no runtime can be made at first
//          "small files": no file may grow beyond 256 KiB, and SIGXFSZ is ignored
//
//   descriptors     from now on there are no more file descriptors; "restore" takes that back
//   files           from now on files may be of any size
//   state           answers "available" or "unavailable"
//   exit            calls exit() while the runtime works
//   recursion       what a runtime made inside an activity, a runtime destroyed by one, and a client on the same store
//   do
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>

namespace perdure::test {
namespace {

std::shared_ptr<Provider> open(const std::string& store) {
  if (store.find("://") == std::string::npos) return SqliteProvider::open(store);
  PostgresOptions options;
  const std::size_t schema = store.find('#');
  if (schema != std::string::npos) options.schema = store.substr(schema + 1);
  return PostgresProvider::connect(store.substr(0, schema), options);
}

Registry registry() {
  Registry registry;
  registry.add_activity("Pid", [](ActivityContext&) { return static_cast<int>(::getpid()); });
  // The processes whose runs counted, in order.
  registry.add_orchestration("Steps", [](OrchestrationContext ctx, int steps) -> Orchestration<std::vector<int>> {
    std::vector<int> processes;
    for (int step = 0; step < steps; ++step) {
      ctx.set_custom_status(std::to_string(step));
      processes.push_back(co_await ctx.schedule_activity<int>("Pid"));
      co_await ctx.schedule_timer(Milliseconds(1));
    }
    co_return processes;
  });
  return registry;
}

void set_limit(decltype(RLIMIT_NOFILE) which, rlim_t value) {
  rlimit limit{};
  ::getrlimit(which, &limit);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  ::setrlimit(which, &limit);
}

void ignore(int /*signal*/) {}

void block_all() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// Every thread gets a signal every few milliseconds; each call that waits returns EINTR.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action = {};
    action.sa_handler = ignore;  // without SA_RESTART
    ::sigaction(SIGUSR1, &action, nullptr);
    ::sigaction(SIGALRM, &action, nullptr);
    thread_ = std::thread([this] {
      block_all();
      std::unique_lock lock(mutex_);
      do {
        send_to_all();
      } while (!changed_.wait_for(lock, std::chrono::milliseconds(2), [this] { return ended_; }));
    });
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  static void send_to_all() {
    DIR* const tasks = ::opendir("/proc/self/task");
    if (tasks == nullptr) return;
    while (const dirent* const task = ::readdir(tasks)) {
      if (const int id = std::atoi(task->d_name); id > 0) ::tgkill(::getpid(), id, SIGUSR1);
    }
    ::closedir(tasks);
    ::kill(::getpid(), SIGALRM);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

void enter(const std::string& mode, std::unique_ptr<Interruptions>& interruptions) {
  if (mode == "interrupted") interruptions = std::make_unique<Interruptions>();
  if (mode == "blocked") block_all();
  if ((mode == "unprivileged" || mode == "no threads") && ::geteuid() == 0) {  // root has no limit of threads
    constexpr uid_t kNobody = 65'534;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) std::exit(3);
  }
  if (mode == "small files") {
    ::signal(SIGXFSZ, SIG_IGN);
    set_limit(RLIMIT_FSIZE, 256 * 1'024);
  }
}

std::size_t threads_of_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// Throws unless the constructor fails as it should where no thread can be made.
void fail_without_threads(const std::shared_ptr<Provider>& store, const RuntimeOptions& options) {
  const std::size_t threads = threads_of_process();
  set_limit(RLIMIT_NPROC, 0);
  std::string said = "a runtime without threads was made";
  try {
    const Runtime runtime(store, registry(), options);
  } catch (const std::system_error& error) {
    said = error.what();
  }
  set_limit(RLIMIT_NPROC, RLIM_INFINITY);
  const bool names_limit = said.find("cannot create a thread for activities (0 of ") != std::string::npos &&
                           said.find("raise the limit of threads (ulimit -u, pids.max)") != std::string::npos;
  if (!names_limit) throw std::runtime_error(said);
  if (threads_of_process() != threads) throw std::runtime_error("threads are left behind");
  if (!Client(store).list_nodes().empty()) throw std::runtime_error("a node is left behind");
}

// Answers "fine", or what is not.
std::string recurse(const std::shared_ptr<Provider>& store) {
  const auto outer = std::make_shared<std::unique_ptr<Runtime>>();
  Registry inner;
  inner.add_orchestration("Inner", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  Registry registry;
  registry.add_activity("MakeRuntime", [store, inner](ActivityContext& ctx) {
    const Client client = ctx.client();
    client.start_orchestration("inner", "Inner");
    const Runtime runtime(store, inner);
    return client.wait_for_orchestration("inner", Milliseconds(80'000)).result<int>();
  });
  registry.add_activity("DestroyRuntime", [outer](ActivityContext&) {
    (*outer)->shutdown(Milliseconds(200));
    return 2;
  });
  registry.add_orchestration("Outer", [](OrchestrationContext ctx, std::string activity) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>(activity);
  });
  RuntimeOptions options;
  options.fetch_only_registered = true;
  *outer = std::make_unique<Runtime>(store, registry, options);
  const Client client(store);
  client.start_orchestration("make", "Outer", "MakeRuntime");
  if (!client.wait_for_orchestration("make", Milliseconds(80'000)).completed()) return "no runtime inside an activity";
  client.start_orchestration("destroy", "Outer", "DestroyRuntime");
  for (int tries = 0; tries < 2'000; ++tries) {
    if (client.list_nodes().empty()) break;
    std::this_thread::yield();
    static_cast<void>(store->wait_for_change("nobody", {.ended = true, .custom_status_after = {}, .key_value = {}},
                                             store->now() + Milliseconds(10)));
  }
  if (!client.list_nodes().empty()) return "a runtime that an activity shuts down does not end";
  outer->reset();
  *outer = std::make_unique<Runtime>(store, registry, options);
  (*outer)->shutdown(Milliseconds(0));
  outer->reset();  // its registry holds `outer`
  return "fine";
}

int run(const std::vector<std::string>& arguments) {
  std::unique_ptr<Interruptions> interruptions;
  if (arguments.size() > 2) enter(arguments[2], interruptions);
  const auto store = open(arguments.at(0));
  RuntimeOptions options;
  options.orchestrator_lock_timeout = Milliseconds(std::stoi(arguments.at(1)));
  options.worker_lock_timeout = options.orchestrator_lock_timeout;
  if (arguments.size() > 2 && arguments[2] == "no threads") fail_without_threads(store, options);
  std::optional<Runtime> runtime(std::in_place, store, registry(), options);
  if (interruptions) block_all();  // on this thread, whose commands would end with the first interruption
  std::cout << "ready" << std::endl;
  for (std::string command; std::getline(std::cin, command);) {
    if (command == "descriptors") set_limit(RLIMIT_NOFILE, 0);
    if (command == "restore") set_limit(RLIMIT_NOFILE, 1'024);
    if (command == "files") set_limit(RLIMIT_FSIZE, RLIM_INFINITY);
    if (command == "exit") std::exit(0);
    if (command == "recursion") {
      runtime.reset();
      std::cout << recurse(store) << std::endl;
      continue;
    }
    std::cout << (runtime->health().store_available ? "available" : "unavailable") << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace perdure::test

int main(int argc, char** argv) {
  try {
    return perdure::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cout << "failed: " << error.what() << std::endl;
    return 1;
  }
}
