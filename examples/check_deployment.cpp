// Would the code of this program break the orders that are under way? It replays what a store holds against its own
// registry, changes nothing, and ends with 0 only if everything fits: to be run before a deployment.
//
//   check_deployment STORE    the running orders of a SQLite store
//   check_deployment          a show: an order that is under way, and two changes of its code
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <perdure/history_check.h>
#include <perdure/perdure.h>

namespace {

using perdure::Orchestration;
using perdure::OrchestrationContext;

Orchestration<std::string> order(OrchestrationContext ctx, std::string item) {
  const auto payment = co_await ctx.schedule_activity<std::string>("ChargeCard", item);
  co_await ctx.schedule_wait<std::string>("approved");
  co_return co_await ctx.schedule_activity<std::string>("Ship", payment);
}

// A safe change: what comes behind the place where orders wait now may be anything.
Orchestration<std::string> order_with_a_letter(OrchestrationContext ctx, std::string item) {
  const auto payment = co_await ctx.schedule_activity<std::string>("ChargeCard", item);
  co_await ctx.schedule_wait<std::string>("approved");
  co_await ctx.schedule_activity<std::string>("SendLetter", item);
  co_return co_await ctx.schedule_activity<std::string>("Ship", payment);
}

// A change that breaks orders that wait for their approval: they have charged the card without reserving anything.
Orchestration<std::string> order_with_a_reservation(OrchestrationContext ctx, std::string item) {
  co_await ctx.schedule_activity<std::string>("Reserve", item);
  const auto payment = co_await ctx.schedule_activity<std::string>("ChargeCard", item);
  co_await ctx.schedule_wait<std::string>("approved");
  co_return co_await ctx.schedule_activity<std::string>("Ship", payment);
}

template <class Workflow>
perdure::Registry registry_of(Workflow workflow) {
  perdure::Registry registry;
  registry.add_orchestration("Order", workflow);
  return registry;  // of activities nothing is needed: they are not run
}

bool check(perdure::Provider& store, const perdure::Registry& registry) {
  const auto result = perdure::check_histories(store, registry);
  for (const auto& finding : result.findings) std::printf("%s\n\n", finding.to_string().c_str());
  std::printf("histories: %llu, events: %llu; %s\n", static_cast<unsigned long long>(result.counts.executions),
              static_cast<unsigned long long>(result.counts.events),
              result.ok() ? "all fit the code" : "not all fit the code");
  return result.ok();
}

int check_file(const std::string& path) {
  // Opening would make a new, empty store, in which everything fits.
  if (!std::filesystem::exists(path)) throw std::runtime_error("there is no store '" + path + "'");
  return check(*perdure::SqliteProvider::open(path), registry_of(order_with_a_letter)) ? 0 : 1;
}

int run_show() {
  const auto store = perdure::SqliteProvider::open(":memory:");
  const perdure::Client client(store);
  {
    auto registry = registry_of(order);
    registry.add_activity("ChargeCard",
                          [](perdure::ActivityContext&, const std::string& item) { return "paid " + item; });
    const perdure::Runtime runtime(store, registry);
    client.start_orchestration("order-42", "Order", "a lamp");
    while (client.get_orchestration_stats("order-42").value_or(perdure::InstanceStats()).history_events < 4) {
      std::this_thread::sleep_for(perdure::Milliseconds(5));
    }
  }
  std::printf("An order has charged the card and waits for its approval.\n\n");
  std::printf("Code that sends a letter after the approval:\n\n");
  const bool safe = check(*store, registry_of(order_with_a_letter));
  std::printf("\nCode that reserves the goods before it charges the card:\n\n");
  const bool breaks = !check(*store, registry_of(order_with_a_reservation));
  return safe && breaks ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 1) return run_show();
    if (argc == 2) return check_file(argv[1]);
    std::fprintf(stderr, "usage: check_deployment [STORE]\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check_deployment: %s\n", error.what());
  }
  return 2;
}
