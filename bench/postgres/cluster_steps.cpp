// Nodes that empty one full store together, each a process of its own: how many steps a second, and who used the CPU.
//
//   cluster_steps path=URL [nodes=1] [workflows=2000] [steps=5] [workers=16] [fast=1]
//
// Prints "steps/s, microseconds of CPU a step by the nodes and by the server, percent of the machine that was idle".
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include "../arguments.h"
#include "fresh_store.h"
#include "server_cpu.h"

namespace {

using SteadyClock = std::chrono::steady_clock;

struct Arguments {
  std::string path;
  std::size_t nodes = 1;
  std::size_t workflows = 2'000;
  std::size_t steps = 5;
  std::size_t workers = 16;
  bool fast = true;
  bool is_node = false;  // one of the processes, which the first one starts
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  bench::read_arguments(count, values,
                        {{"path", &arguments.path},
                         {"nodes", &arguments.nodes},
                         {"workflows", &arguments.workflows},
                         {"steps", &arguments.steps},
                         {"workers", &arguments.workers},
                         {"fast", &arguments.fast},
                         {"node", &arguments.is_node}});
  if (!bench::is_postgres_url(arguments.path)) throw std::invalid_argument("path=URL of a PostgreSQL server is needed");
  return arguments;
}

perdure::PostgresOptions store_options() {
  perdure::PostgresOptions options;
  options.schema = "perdure_cluster";
  return options;
}

perdure::Orchestration<int> sequence(perdure::OrchestrationContext ctx, int steps) {
  int value = 0;
  for (int i = 0; i < steps; ++i) value = co_await ctx.schedule_activity<int>("Step", value);
  co_return value;
}

// ---- A node: says that it is ready, works when it is told, and ends when nobody is there to tell it more ----

char read_byte(int from) {
  char byte = 0;
  while (::read(from, &byte, 1) < 0 && errno == EINTR) {
  }
  return byte;
}

void write_byte(int into) {
  const char byte = 'x';
  if (::write(into, &byte, 1) != 1) throw std::runtime_error("the other process has gone");
}

void be_node(const Arguments& arguments) {
  perdure::Registry registry;
  registry.add_orchestration("Sequence", sequence);
  registry.add_activity("Step", [](perdure::ActivityContext&, int value) { return value + 1; });
  perdure::RuntimeOptions options;
  options.worker_concurrency = arguments.workers;
  options.fast_path = arguments.fast;
  const auto store = perdure::PostgresProvider::connect(arguments.path, store_options());
  write_byte(STDOUT_FILENO);
  if (read_byte(STDIN_FILENO) == 0) return;
  const perdure::Runtime runtime(store, registry, options);
  read_byte(STDIN_FILENO);
}

// ---- The process that starts them ----

class Node {
 public:
  explicit Node(const Arguments& arguments) {
    std::array<int, 2> orders{};
    std::array<int, 2> reports{};
    if (::pipe2(orders.data(), O_CLOEXEC) != 0 || ::pipe2(reports.data(), O_CLOEXEC) != 0) throw failure();
    orders_ = orders[1];
    reports_ = reports[0];
    posix_spawn_file_actions_t files{};
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, orders[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, reports[1], STDOUT_FILENO);
    std::vector<std::string> words{"cluster_steps", "node", "path=" + arguments.path,
                                   "workers=" + std::to_string(arguments.workers),
                                   "fast=" + std::to_string(arguments.fast ? 1 : 0)};
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int error = ::posix_spawn(&process_, "/proc/self/exe", &files, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::close(orders[0]);
    ::close(reports[1]);
    errno = error;
    if (error != 0) throw failure();
    if (read_byte(reports_) == 0) throw std::runtime_error("a node did not start");
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { end(); }

  void go() const { write_byte(orders_); }
  // Answers how much CPU time it has used.
  double end() {
    if (process_ == 0) return 0;
    ::close(orders_);
    rusage usage{};
    while (::wait4(process_, nullptr, 0, &usage) < 0 && errno == EINTR) {
    }
    ::close(reports_);
    process_ = 0;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

 private:
  [[nodiscard]] static std::runtime_error failure() {
    return std::runtime_error("cannot start a node: " + std::generic_category().message(errno));
  }

  pid_t process_ = 0;
  int orders_ = -1;
  int reports_ = -1;
};

// Since the machine was started, in ticks of all its cores.
struct MachineTime {
  double all = 0;
  double idle = 0;

  static MachineTime now() {
    std::ifstream file("/proc/stat");
    std::string skipped;
    file >> skipped;
    MachineTime time;
    constexpr int kIdle = 3;
    constexpr int kWaitsForDisk = 4;
    constexpr int kKinds = 8;
    for (int kind = 0; kind < kKinds; ++kind) {
      double ticks = 0;
      file >> ticks;
      time.all += ticks;
      if (kind == kIdle || kind == kWaitsForDisk) time.idle += ticks;
    }
    return time;
  }
};

void fill(const std::shared_ptr<perdure::Provider>& store, const Arguments& arguments) {
  const perdure::Client client(store);
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> starters;
  constexpr std::size_t kStarters = 8;
  starters.reserve(kStarters);
  for (std::size_t i = 0; i < kStarters; ++i) {
    starters.emplace_back([&] {
      for (std::size_t number = next++; number < arguments.workflows; number = next++) {
        client.start_orchestration("w" + std::to_string(number), "Sequence", static_cast<int>(arguments.steps));
      }
    });
  }
}

void measure(const Arguments& arguments) {
  bench::FreshStore fresh(arguments.path, store_options());
  fill(fresh.store(), arguments);
  std::vector<std::unique_ptr<Node>> nodes;
  nodes.reserve(arguments.nodes);
  for (std::size_t i = 0; i < arguments.nodes; ++i) nodes.push_back(std::make_unique<Node>(arguments));
  const bench::ServerCpu server(fresh.control().server_process());
  const MachineTime machine = MachineTime::now();
  const auto begin = SteadyClock::now();
  for (const auto& node : nodes) node->go();
  const std::string completed =
      "SELECT count(*) FROM " + store_options().schema + ".executions WHERE completed_at IS NOT NULL";
  const std::string all = std::to_string(arguments.workflows);
  while (fresh.control().text(completed) != all) {
    if (SteadyClock::now() - begin > std::chrono::minutes(10)) throw std::runtime_error("the workflows do not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  const double server_cpu = server.seconds().value_or(0);
  const MachineTime later = MachineTime::now();
  double node_cpu = 0;
  for (const auto& node : nodes) node_cpu += node->end();
  const auto steps = static_cast<double>(arguments.workflows * arguments.steps);
  std::printf("%.0f %.1f %.1f %.0f\n", steps / seconds, 1e6 * node_cpu / steps, 1e6 * server_cpu / steps,
              100 * (later.idle - machine.idle) / (later.all - machine.all));
}

}  // namespace

int main(int count, char** values) {
  try {
    const Arguments arguments = parse(count, values);
    arguments.is_node ? be_node(arguments) : measure(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
