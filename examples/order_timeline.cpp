// Replays a stored order workflow against its code, prints its timeline, and then shows what a careless change of the
// code looks like. Exits with 0 only if the stored history fits the code and the changed code is caught.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <perdure/history_text.h>
#include <perdure/json.h>
#include <perdure/perdure.h>
#include <perdure/testing/replayer.h>
#include "order_workflow.h"

namespace {

using perdure::Event;
using perdure::EventClass;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const char* mark(EventClass event_class) {
  switch (event_class) {
    case EventClass::kInput:
      return "<-";
    case EventClass::kDecision:
      return "->";
    case EventClass::kBreadcrumb:
      return " x";
    case EventClass::kTerminal:
      return "==";
  }
  return "  ";
}

void print_timeline(const std::vector<Event>& history) {
  std::printf("  after        turn  event\n");
  perdure::TurnNumber turn = 0;
  for (const Event& event : history) {
    const auto elapsed = static_cast<double>((event.time - history.front().time).count()) / 1000.0;
    if (event.turn != turn) {
      std::printf("  %9.3f s  %4llu", elapsed, static_cast<unsigned long long>(event.turn));
    } else {
      std::printf("  %11s  %4s", "", "");
    }
    turn = event.turn;
    std::printf("  %s %2llu  %s\n", mark(perdure::classify(event.body)), static_cast<unsigned long long>(event.id),
                perdure::summarize(event.body).c_str());
  }
  std::printf("  (<- came in, -> decided by the code, x given up, == the end)\n");
}

template <class Workflow>
perdure::testing::ReplayOutcome replay(const std::vector<Event>& history, Workflow workflow) {
  perdure::Registry registry;
  registry.add_orchestration("ProcessOrder", workflow);
  return perdure::testing::Replayer(registry).replay(history, {.instance = "order-1001"});
}

// Somebody "improves" the workflow while orders are under way: it ships before it charges.
perdure::Orchestration<void> careless_change(perdure::OrchestrationContext ctx, Order order) {
  co_await ctx.schedule_activity<Shipment>("Ship", order);
  co_await ctx.schedule_activity<Payment>("ChargeCard", order);
}

int run() {
  const auto history = perdure::read_history_text(read_file(PERDURE_EXAMPLE_DATA_DIR "/order.history"));
  std::printf("A stored order, %zu events in %llu turns, written by perdure %s:\n\n", history.size(),
              static_cast<unsigned long long>(history.back().turn), history.front().engine_version.to_string().c_str());
  print_timeline(history);

  std::printf("\nReplaying it against examples/order_workflow.h: ");
  if (const auto outcome = replay(history, process_order); !outcome) {
    std::printf("it does not fit.\n%s\n", outcome.report().c_str());
    return 1;
  }
  std::printf("every decision and the result are the same.\n");

  std::printf("\nReplaying it against code that ships before it charges:\n\n");
  const auto outcome = replay(history, careless_change);
  if (outcome) {
    std::printf("the change was not noticed, and it should have been.\n");
    return 1;
  }
  std::printf("%s\n", outcome.report().c_str());
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "order_timeline: %s\n", error.what());
    return 1;
  }
}
