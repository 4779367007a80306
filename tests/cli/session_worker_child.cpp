// The worker of the session in session.sh: serves the SQLite file that is named until its standard input ends.
#include <iostream>
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace {

using perdure::ActivityContext;
using perdure::Orchestration;
using perdure::OrchestrationContext;

Orchestration<std::string> purchase(OrchestrationContext ctx, nlohmann::json order) {
  ctx.set_kv_value("item", order.at("item").get<std::string>());
  ctx.set_custom_status("waiting for approval");
  const auto who = co_await ctx.schedule_wait<std::string>("approved");
  const auto receipt = co_await ctx.schedule_activity<std::string>("Pay", order.at("cents").get<int>());
  co_return receipt + ", approved by " + who;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  perdure::Registry registry;
  registry.add_orchestration("Purchase", purchase).add_activity("Pay", [](ActivityContext&, int cents) {
    return "paid " + std::to_string(cents);
  });
  perdure::Runtime runtime(perdure::SqliteProvider::open(argv[1]), registry);
  for (std::string line; std::getline(std::cin, line);) {
  }
  runtime.shutdown();
  return 0;
}
