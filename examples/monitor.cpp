// A workflow that never ends by itself: each round is an execution with a history of its own, and commands reach it
// through a queue.
//
// The monitor looks at a disk again and again. continue_as_new ends a round and begins the next one with the state that
// it is given, so that the history stays short for ever. A queue keeps commands until they are read, whichever round
// that is: none is lost between two rounds.
//
// It prints:
//   round ... after ... looks at the disk
//   told: clean, report, stop
//     clean
//     report
//   ended in round ..., after ... looks and 2 commands
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

// `looks` is the whole state: how often it has looked at the disk.
perdure::Orchestration<int> monitor(perdure::OrchestrationContext ctx, int looks) {
  ctx.set_custom_status("round " + std::to_string(ctx.execution_id()) + " after " + std::to_string(looks) +
                        " looks at the disk");
  // The next command or the time for the next look. A message that the timer has overtaken stays in the queue.
  const auto first = co_await perdure::select{ctx.dequeue_event<std::string>("commands"), ctx.schedule_timer(20ms)};
  if (first.index() == 0) {
    const std::string& command = std::get<0>(first);
    if (command == "stop") co_return looks;
    co_await ctx.schedule_activity<void>("Obey", command);
    co_return ctx.continue_as_new(looks);
  }
  co_await ctx.schedule_activity<void>("LookAtDisk");
  co_return ctx.continue_as_new(looks + 1);
}

// Says how the monitor stands when it has come so far. A wait that is in vain throws a ClientError.
void wait_for_round(const perdure::Client& client, perdure::ExecutionId round) {
  perdure::OrchestrationStatus status;
  while (status.execution_id < round && !status.ended()) {
    status = client.wait_for_status_change("monitor", status.custom_status_version, 30s);
  }
  if (status.ended()) throw std::runtime_error("the monitor has ended: " + status.error_text());
  std::printf("%s\n", status.custom_status.value_or("").c_str());
}

int run() {
  std::mutex mutex;
  std::vector<std::string> obeyed;
  perdure::Registry registry;
  registry.add_orchestration("Monitor", monitor);
  registry.add_activity("LookAtDisk", [](perdure::ActivityContext&) {});
  registry.add_activity("Obey", [&](perdure::ActivityContext&, const std::string& command) {
    std::printf("  %s\n", command.c_str());
    const std::scoped_lock lock(mutex);
    obeyed.push_back(command);
  });

  const auto store = perdure::make_memory_provider();
  const perdure::Runtime runtime(store, registry);
  const perdure::Client client(store);
  client.start_orchestration("monitor", "Monitor", 0);
  wait_for_round(client, 3);

  std::printf("told: clean, report, stop\n");
  for (const char* command : {"clean", "report", "stop"}) client.enqueue_event("monitor", "commands", command);
  const auto status = client.wait_for_orchestration("monitor", 30s);
  const int looks = status.result<int>();
  const std::scoped_lock lock(mutex);
  std::printf("ended in round %llu, after %d looks and %zu commands\n",
              static_cast<unsigned long long>(status.execution_id), looks, obeyed.size());

  if (obeyed != std::vector<std::string>{"clean", "report"}) {
    throw std::runtime_error("the commands were not obeyed in their order");
  }
  // Each round but the last has either looked or obeyed.
  if (status.execution_id != static_cast<perdure::ExecutionId>(looks) + obeyed.size() + 1) {
    throw std::runtime_error("a round was lost or run twice");
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "monitor: %s\n", error.what());
    return 1;
  }
}
