// A person decides, or time does: an event from outside against a durable timer.
//
// Two expenses wait for an approval. Somebody approves the first; nobody looks at the second, so its time runs out and
// it goes to the manager. The time may as well be a month: nothing runs meanwhile, and a restart changes nothing.
//
// It prints:
//   expense-1: waiting for approval
//   expense-1: approved by Ada
//   expense-2: sent to the manager, because nobody approved it in time
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <variant>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

// `patience`: how many milliseconds it waits.
perdure::Orchestration<std::string> expense(perdure::OrchestrationContext ctx, int patience) {
  ctx.set_custom_status("waiting for approval");
  // Whichever comes first in history wins, now and in every replay. The loser is dropped, which cancels it.
  const auto first = co_await perdure::select{ctx.schedule_wait<std::string>("approved"),
                                              ctx.schedule_timer(perdure::Milliseconds(patience))};
  if (first.index() == 0) co_return "approved by " + std::get<0>(first);
  co_return co_await ctx.schedule_activity<std::string>("SendToManager");
}

std::string send_to_manager(perdure::ActivityContext&) {
  return "sent to the manager, because nobody approved it in time";
}

void expect(const perdure::Client& client, const std::string& instance, const std::string& wanted) {
  const auto got = client.wait_for_orchestration(instance, 30s).result<std::string>();
  std::printf("%s: %s\n", instance.c_str(), got.c_str());
  if (got != wanted) throw std::runtime_error(instance + " should be: " + wanted);
}

int run() {
  perdure::Registry registry;
  registry.add_orchestration("Expense", expense);
  registry.add_activity("SendToManager", send_to_manager);

  const auto store = perdure::make_memory_provider();
  const perdure::Runtime runtime(store, registry);
  const perdure::Client client(store);
  constexpr int kHour = 3'600'000;
  client.start_orchestration("expense-1", "Expense", kHour);
  client.start_orchestration("expense-2", "Expense", 50);

  // An event is for whoever waits for it, so it is raised when the expense does. (A queue, as in monitor.cpp, keeps
  // what comes too early.)
  const auto waiting = client.wait_for_status_change("expense-1", 0, 30s);
  std::printf("expense-1: %s\n", waiting.custom_status.value_or("").c_str());
  client.raise_event("expense-1", "approved", "Ada");

  expect(client, "expense-1", "approved by Ada");
  expect(client, "expense-2", "sent to the manager, because nobody approved it in time");
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "approval: %s\n", error.what());
    return 1;
  }
}
