// Sequential workflows through the whole engine: how many a second, how long each takes, and whether a step gets dearer
// as its workflow grows.
//
//   workflow_steps [store=FILE|URL|memory] [steps=5] [in_flight=1] [workflows=1000] [workers=N] [turns=N] [cache=1]
//   [fast=1] [growth]
//
// A URL is that of a PostgreSQL server, on which a schema is made for the run.
//
// With one workflow in flight it also says how many calls wrote for each step, how long a step took, and how long a
// bare commit of as many bytes took in the same run (on SQLite).
//
// With `growth` one workflow of 10,000 steps is run, and the time of its steps 9,000 to 10,000 is compared with that of
// its steps 1,000 to 2,000.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include <perdure/perdure.h>
#include "../arguments.h"
#include "../percentile.h"
#include "../postgres/fresh_store.h"
#include "../postgres/server_cpu.h"
#include "bare_commits.h"
#include "counting_store.h"

namespace {

using SteadyClock = std::chrono::steady_clock;
using bench::percentile;

struct Arguments {
  std::string store = "workflow_steps.db";
  std::size_t steps = 5;
  std::size_t in_flight = 1;
  std::size_t workflows = 1'000;
  std::size_t workers = 0;  // 0: as many as are in flight, at most 64
  std::size_t turns = 2;
  bool cache = true;
  bool fast = true;
  bool growth = false;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  bench::read_arguments(count, values,
                        {{"store", &arguments.store},
                         {"steps", &arguments.steps},
                         {"in_flight", &arguments.in_flight},
                         {"workflows", &arguments.workflows},
                         {"workers", &arguments.workers},
                         {"turns", &arguments.turns},
                         {"cache", &arguments.cache},
                         {"fast", &arguments.fast},
                         {"growth", &arguments.growth}});
  if (arguments.workers == 0) arguments.workers = std::clamp<std::size_t>(arguments.in_flight, 1, 64);
  return arguments;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Keeps so many workflows in flight. One is over when it has run its last activity: a client that waited for each of
// 512 at once would measure itself.
class Flight {
 public:
  Flight(std::size_t workflows, std::size_t in_flight)
      : seats_(static_cast<std::ptrdiff_t>(in_flight)), started_(workflows), finished_(workflows) {}

  // The next workflow to start, once there is a seat; nothing when all have been started.
  std::optional<std::size_t> board() {
    seats_.acquire();
    const std::size_t workflow = next_++;
    if (workflow >= started_.size()) {
      seats_.release();
      return std::nullopt;
    }
    started_[workflow] = SteadyClock::now();
    return workflow;
  }
  void leave(std::size_t workflow) {
    finished_[workflow] = SteadyClock::now();
    seats_.release();
  }
  [[nodiscard]] double milliseconds(std::size_t workflow) const {
    return std::chrono::duration<double, std::milli>(finished_[workflow] - started_[workflow]).count();
  }

 private:
  std::counting_semaphore<> seats_;
  std::atomic<std::size_t> next_{0};
  std::vector<SteadyClock::time_point> started_;
  std::vector<SteadyClock::time_point> finished_;
};

// The store that was named, and what only one on a server has.
struct Store {
  explicit Store(const std::string& name) {
    if (bench::is_postgres_url(name)) {
      kind = "PostgreSQL";
      perdure::PostgresOptions options;
      options.schema = "perdure_workflows";
      postgres = std::make_unique<bench::FreshStore>(name, options);
      provider = postgres->store();
      server_cpu.emplace(postgres->control().server_process());
    } else if (name == "memory") {
      kind = "memory";
      provider = perdure::make_memory_provider();
    } else {
      kind = "SQLite";
      provider = perdure::SqliteProvider::open(name);
    }
  }

  const char* kind = "";
  std::unique_ptr<bench::FreshStore> postgres;
  std::shared_ptr<perdure::Provider> provider;
  std::optional<bench::ServerCpu> server_cpu;
};

perdure::RuntimeOptions options_for(const Arguments& arguments) {
  perdure::RuntimeOptions options;
  options.worker_concurrency = arguments.workers;
  options.orchestration_concurrency = arguments.turns;
  options.max_locked_instances = std::max<std::size_t>(128, arguments.in_flight);
  if (!arguments.cache) options.cached_executions = 0;
  options.fast_path = arguments.fast;
  return options;
}

perdure::Orchestration<int> sequence(perdure::OrchestrationContext ctx, std::string input) {
  const std::size_t colon = input.find(':');
  const int steps = std::stoi(input.substr(0, colon));
  const int workflow = std::stoi(input.substr(colon + 1));
  int value = 0;
  for (int i = 0; i + 1 < steps; ++i) value = co_await ctx.schedule_activity<int>("Step", value);
  co_return co_await ctx.schedule_activity<int>("Last", workflow);
}

// When each step of a workflow begins, one workflow after the other.
class StepTimes {
 public:
  void mark(bool first) {
    const auto now = SteadyClock::now();
    if (!first) milliseconds_.push_back(std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  [[nodiscard]] const std::vector<double>& milliseconds() const { return milliseconds_; }

 private:
  SteadyClock::time_point last_;
  std::vector<double> milliseconds_;
};

void report_writes(const Arguments& arguments, const bench::CountingStore& store, const StepTimes& steps,
                   const bench::BareCommits* bare) {
  const double all_steps = static_cast<double>(arguments.workflows * arguments.steps);
  std::printf("  fast path %s: %.2f writes a step, %zu bytes a commit", arguments.fast ? "on" : "off",
              static_cast<double>(store.writes()) / all_steps, store.bytes_a_commit());
  if (!steps.milliseconds().empty()) std::printf(", step p50 %.3f ms", percentile(steps.milliseconds(), 0.5));
  if (bare) std::printf(", bare commit p50 %.3f ms", percentile(bare->milliseconds(), 0.5));
  std::printf("\n");
}

void run_many(const Arguments& arguments) {
  const Store opened(arguments.store);
  const auto store = std::make_shared<bench::CountingStore>(opened.provider);
  const bool alone = arguments.in_flight == 1;
  StepTimes step_times;
  std::unique_ptr<bench::BareCommits> bare;
  if (alone && opened.kind == std::string_view("SQLite"))
    bare = std::make_unique<bench::BareCommits>(arguments.store + ".bare");
  Flight flight(arguments.workflows, arguments.in_flight);
  perdure::Registry registry;
  registry.add_orchestration("Sequence", sequence);
  registry.add_activity("Step", [&step_times, alone](perdure::ActivityContext&, int value) {
    if (alone) step_times.mark(value == 0);
    return value + 1;
  });
  registry.add_activity("Last", [&flight, alone](perdure::ActivityContext&, int workflow) {
    if (!alone) flight.leave(static_cast<std::size_t>(workflow));
    return workflow;
  });
  perdure::Runtime runtime(store, registry, options_for(arguments));
  const perdure::Client client(store);
  const auto id = [](std::size_t workflow) { return "w" + std::to_string(workflow); };
  const auto start_all = [&] {
    while (const auto workflow = flight.board()) {
      client.start_orchestration(id(*workflow), "Sequence",
                                 std::to_string(arguments.steps) + ":" + std::to_string(*workflow));
      if (!alone) continue;
      client.wait_for_orchestration(id(*workflow), std::chrono::minutes(1));
      flight.leave(*workflow);
      for (std::size_t i = 0; bare && i < arguments.steps; ++i) bare->measure(store->bytes_a_commit());
    }
  };
  const auto begin = SteadyClock::now();
  const double cpu = cpu_seconds();
  {
    std::vector<std::jthread> starters;
    for (std::size_t i = 0; i < std::min<std::size_t>(arguments.in_flight, 16); ++i) starters.emplace_back(start_all);
  }
  for (std::size_t i = 0; i < arguments.workflows; ++i) {
    const auto status = client.wait_for_orchestration(id(i), std::chrono::minutes(1));
    if (!status.completed()) throw std::runtime_error(id(i) + ": " + status.error_text());
  }
  double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  if (bare) seconds -= std::accumulate(bare->milliseconds().begin(), bare->milliseconds().end(), 0.0) / 1'000;
  const double used = cpu_seconds() - cpu;
  std::vector<double> milliseconds(arguments.workflows);
  for (std::size_t i = 0; i < arguments.workflows; ++i) milliseconds[i] = flight.milliseconds(i);
  const auto workflows = static_cast<double>(arguments.workflows);
  const double all_steps = workflows * static_cast<double>(arguments.steps);
  std::printf(
      "%zu workflows of %zu steps, %zu in flight, store %s: %.0f workflows/s, %.0f steps/s, "
      "p50 %.2f ms, p95 %.2f ms, p99 %.2f ms, %.1f us CPU a step\n",
      arguments.workflows, arguments.steps, arguments.in_flight, opened.kind, workflows / seconds, all_steps / seconds,
      percentile(milliseconds, 0.5), percentile(milliseconds, 0.95), percentile(milliseconds, 0.99),
      1e6 * used / all_steps);
  if (opened.server_cpu) {
    std::printf("  the server: %.1f us CPU a step, %.2f round trips a step\n",
                1e6 * opened.server_cpu->seconds().value_or(0) / all_steps,
                static_cast<double>(opened.postgres->round_trips()) / all_steps);
  }
  if (alone) report_writes(arguments, *store, step_times, bare.get());
}

void run_growth(const Arguments& arguments) {
  constexpr int kSteps = 10'000;
  const Store opened(arguments.store);
  const auto& store = opened.provider;
  std::vector<SteadyClock::time_point> at(kSteps);
  perdure::Registry registry;
  registry.add_orchestration("Long", [](perdure::OrchestrationContext ctx) -> perdure::Orchestration<int> {
    int step = 0;
    while (step < kSteps) step = co_await ctx.schedule_activity<int>("Mark", step);
    co_return step;
  });
  registry.add_activity("Mark", [&at](perdure::ActivityContext&, int step) {
    at[static_cast<std::size_t>(step)] = SteadyClock::now();
    return step + 1;
  });
  perdure::Runtime runtime(store, registry, options_for(arguments));
  const perdure::Client client(store);
  client.start_orchestration("long", "Long");
  if (!client.wait_for_orchestration("long", std::chrono::minutes(20)).completed())
    throw std::runtime_error("it failed");
  const auto span = [&](int from, int to) {
    return std::chrono::duration<double, std::micro>(at[static_cast<std::size_t>(to) - 1] -
                                                     at[static_cast<std::size_t>(from)])
               .count() /
           (to - from);
  };
  const double early = span(1'000, 2'000);
  const double late = span(9'000, 10'000);
  std::printf(
      "one workflow of %d steps%s: %.0f us a step from 1,000 to 2,000, %.0f us from 9,000 to 10,000: %.2f times\n",
      kSteps, arguments.cache ? "" : " without cache", early, late, late / early);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    arguments.growth ? run_growth(arguments) : run_many(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
