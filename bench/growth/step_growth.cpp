// Whether a step gets dearer as its workflow grows: one workflow of 10,000 steps is run, and the time of its steps
// 9,000 to 10,000 is compared with that of its steps 1,000 to 2,000.
//
//   step_growth [store=FILE] [cache=1] [fast=1]
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <perdure/perdure.h>
#include "../arguments.h"

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kSteps = 10'000;

struct Arguments {
  std::string store = "step_growth.db";
  bool cache = true;
  bool fast = true;
};

perdure::Orchestration<int> grow(perdure::OrchestrationContext ctx) {
  int step = 0;
  while (step < kSteps) step = co_await ctx.schedule_activity<int>("Mark", step);
  co_return step;
}

void run(const Arguments& arguments) {
  std::vector<SteadyClock::time_point> at(kSteps);
  perdure::Registry registry;
  registry.add_orchestration("Grow", grow);
  registry.add_activity("Mark", [&at](perdure::ActivityContext&, int step) {
    at[static_cast<std::size_t>(step)] = SteadyClock::now();
    return step + 1;
  });
  perdure::RuntimeOptions options;
  if (!arguments.cache) options.cached_executions = 0;
  options.fast_path = arguments.fast;
  const auto store = perdure::SqliteProvider::open(arguments.store);
  const perdure::Runtime runtime(store, registry, options);
  const perdure::Client client(store);
  client.start_orchestration("long", "Grow");
  const auto status = client.wait_for_orchestration("long", std::chrono::minutes(20));
  if (!status.completed()) throw std::runtime_error(status.error_text());
  const auto span = [&](std::size_t from, std::size_t to) {
    return std::chrono::duration<double, std::micro>(at[to - 1] - at[from]).count() / static_cast<double>(to - from);
  };
  const double early = span(1'000, 2'000);
  const double late = span(9'000, 10'000);
  std::printf(
      "one workflow of %d steps%s: %.0f us a step from 1,000 to 2,000, %.0f us from 9,000 to 10,000: %.2f times\n",
      kSteps, arguments.cache ? "" : " without cache", early, late, late / early);
}

}  // namespace

int main(int count, char** values) {
  try {
    Arguments arguments;
    bench::read_arguments(count, values,
                          {{"store", &arguments.store}, {"cache", &arguments.cache}, {"fast", &arguments.fast}});
    run(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
