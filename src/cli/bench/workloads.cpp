#include "cli/bench/workloads.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace perdure::cli::bench {

namespace {

using Ctx = OrchestrationContext;

constexpr const char* kQueue = "signals";
constexpr int kSignalsOfAnExecution = 1'000;  // then it continues as new, so that no history grows for ever

constexpr std::array kWorkloads{
    Workload{"noop", "a workflow that does nothing", "workflow", 1, 1, 0,
             [](const Options&) { return std::size_t{0}; }},
    Workload{"seq", "--steps activities, one after the other", "activity", 1, 1, 0,
             [](const Options&) { return std::size_t{1}; }},
    Workload{"fan", "--width activities at once", "activity", 1, 10, 0,
             [](const Options& options) { return *options.width; }},
    Workload{"timers", "--steps timers of --delay-ms, one after the other", "timer", 1, 1, 10,
             [](const Options&) { return std::size_t{0}; }},
    Workload{"signals", "events into one instance, --in-flight of them in progress", "signal", 1, 1, 0,
             [](const Options&) { return std::size_t{0}; }},
    Workload{"children", "--width children that do nothing, at once", "child", 1, 5, 0,
             [](const Options&) { return std::size_t{0}; }},
    Workload{"payload", "an activity that returns its input of --bytes", "activity", 1, 1, 0,
             [](const Options&) { return std::size_t{1}; }},
    Workload{"idle", "--instances waiting for an event that never arrives", "instance", 1, 1, 0,
             [](const Options&) { return std::size_t{0}; }},
    Workload{"stress", "--width activities of --delay-ms at once: the published workload", "activity", 20, 5, 10,
             [](const Options& options) { return *options.width; }},
};

Orchestration<int> noop(Ctx /*ctx*/) {
  co_return 0;
}

Orchestration<int> sequence(Ctx ctx, int steps) {
  int value = 0;
  for (int i = 0; i < steps; ++i) value = co_await ctx.schedule_activity<int>("Step", value);
  co_return value;
}

Orchestration<int> fan(Ctx ctx, int width) {
  std::vector<Future<int>> parts;
  parts.reserve(static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i) parts.push_back(ctx.schedule_activity<int>("Step", i));
  int sum = 0;
  for (const int part : co_await ctx.join(std::move(parts))) sum += part;
  co_return sum;
}

// How many, and of how many milliseconds.
Orchestration<int> timers(Ctx ctx, std::vector<int> shape) {
  for (int i = 0; i < shape.at(0); ++i) co_await ctx.schedule_timer(Milliseconds(shape.at(1)));
  co_return shape.at(0);
}

Orchestration<int> receive(Ctx ctx, int received) {
  for (int i = 0; i < kSignalsOfAnExecution; ++i) received += co_await ctx.dequeue_event<int>(kQueue);
  co_return ctx.continue_as_new(received);
}

Orchestration<int> children(Ctx ctx, int width) {
  std::vector<Future<int>> parts;
  parts.reserve(static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i) parts.push_back(ctx.schedule_sub_orchestration<int>("noop"));
  int sum = 0;
  for (const int part : co_await ctx.join(std::move(parts))) sum += part;
  co_return sum;
}

Orchestration<std::string> carry(Ctx ctx, std::string load) {
  co_return co_await ctx.schedule_activity<std::string>("Echo", load);
}

Orchestration<int> wait_for_ever(Ctx ctx) {
  co_return co_await ctx.schedule_wait<int>("never");
}

Orchestration<std::string> fan_of_tasks(Ctx ctx, int width) {
  std::vector<Future<std::string>> parts;
  parts.reserve(static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i)
    parts.push_back(ctx.schedule_activity<std::string>("Task", "task-" + std::to_string(i)));
  const std::vector<std::string> done = co_await ctx.join(std::move(parts));
  co_return std::to_string(done.size()) + " tasks";
}

// Ends early when nobody waits for it any more.
void rest(const ActivityContext& ctx, Milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, ctx.stop_token(), time, [] { return false; });
}

}  // namespace

std::span<const Workload> workloads() noexcept {
  return kWorkloads;
}

const Workload& workload_named(std::string_view name) {
  std::string names;
  for (const Workload& workload : kWorkloads) {
    if (workload.is(name)) return workload;
    names += (names.empty() ? "" : ", ") + std::string(workload.name);
  }
  throw std::invalid_argument("there is no workload '" + std::string(name) + "'; there are " + names);
}

Registry make_registry(const Options& options, std::atomic<std::uint64_t>& steps) {
  Registry registry;
  registry.add_orchestration("noop", noop);
  registry.add_orchestration("seq", sequence);
  registry.add_orchestration("fan", fan);
  registry.add_orchestration("timers", timers);
  registry.add_orchestration("signals", receive);
  registry.add_orchestration("children", children);
  registry.add_orchestration("payload", carry);
  registry.add_orchestration("idle", wait_for_ever);
  registry.add_orchestration("stress", fan_of_tasks);
  registry.add_activity("Step", [&steps](ActivityContext&, int value) {
    ++steps;
    return value + 1;
  });
  registry.add_activity("Echo", [&steps](ActivityContext&, std::string value) {
    ++steps;
    return value;
  });
  const Milliseconds delay(static_cast<Milliseconds::rep>(*options.delay_ms));
  registry.add_activity("Task", [&steps, delay](ActivityContext& ctx, std::string task) {
    if (delay > Milliseconds(0)) rest(ctx, delay);
    ++steps;
    return task;
  });
  return registry;
}

void start_workflow(const Client& client, const Options& options, const std::string& instance) {
  const Workload& workload = workload_named(options.workload);
  const auto start = [&](const auto& input) { client.start_orchestration(instance, options.workload, input); };
  if (workload.is("noop") || workload.is("idle")) {
    client.start_orchestration(instance, options.workload);
  } else if (workload.is("seq")) {
    start(static_cast<int>(options.steps));
  } else if (workload.is("timers")) {
    start(std::vector<int>{static_cast<int>(options.steps), static_cast<int>(*options.delay_ms)});
  } else if (workload.is("signals")) {
    start(0);
  } else if (workload.is("payload")) {
    start(std::string(options.bytes, 'x'));
  } else {
    start(static_cast<int>(*options.width));
  }
}

void send_signal(const Client& client) {
  client.enqueue_event(kReceiver, kQueue, 1);
}

}  // namespace perdure::cli::bench
