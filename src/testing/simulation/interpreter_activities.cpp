// The activities of the interpreter. What they are told names the step that they work for, and sometimes a number.
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <perdure/client.h>
#include "testing/simulation/interpreter.h"
#include "testing/simulation/interpreter_steps.h"

namespace perdure::testing::simulation {

namespace {

struct Order {
  std::string token;
  std::uint64_t number = 0;
};

Order order_of(const std::string& input) {
  const auto mark = input.rfind('#');
  if (mark == std::string::npos) return {input, 0};
  return {input.substr(0, mark), std::stoull(input.substr(mark + 1))};
}

std::string echo(ActivityContext&, Ledger&, const Order& order) {
  return "done " + order.token;
}

// The attempts of a retry policy share one key, and so they share one count.
std::string flaky(ActivityContext& context, Ledger& ledger, const Order& order) {
  if (ledger.count(context.idempotency_key()) < order.number)
    throw std::runtime_error(order.token + " fails this time");
  return "done " + order.token;
}

std::string fails(ActivityContext&, Ledger&, const Order& order) {
  throw std::runtime_error(order.token + " fails");
}

std::string fails_for_good(ActivityContext&, Ledger&, const Order& order) {
  throw NonRetryableError(order.token + " fails for good");
}

// An attempt gets one step further than the one before it, whatever ended that.
std::string progress(ActivityContext& context, Ledger&, const Order& order) {
  const std::uint64_t reached = context.last_heartbeat<std::uint64_t>().value_or(0) + 1;
  if (reached > order.number) return "reached " + std::to_string(order.number);
  context.heartbeat(reached);
  if (reached < order.number) throw std::runtime_error(order.token + " is not there yet");
  return "reached " + std::to_string(order.number);
}

std::string release(ActivityContext&, Ledger& ledger, const Order& order) {
  ledger.release(order.token);
  return "released " + order.token;
}

std::string raise(ActivityContext& context, Ledger&, const Order& order) {
  context.client().raise_event(context.instance_id(), order.token, "signal " + order.token);
  return "raised " + order.token;
}

std::string enqueue(ActivityContext& context, Ledger&, const Order& order) {
  const Client client = context.client();
  for (std::uint64_t i = 0; i < order.number; ++i) {
    client.enqueue_event(context.instance_id(), order.token, "m" + std::to_string(i));
  }
  return "enqueued " + order.token;
}

using Function = std::string (*)(ActivityContext&, Ledger&, const Order&);

void add(Registry& registry, const std::shared_ptr<Ledger>& ledger, std::string_view name, Function function) {
  registry.add_activity(name, [ledger, function](ActivityContext& context, const std::string& input) {
    try {
      std::string result = function(context, *ledger, order_of(input));
      ledger->completed(context, result);
      return result;
    } catch (const std::exception& error) {
      ledger->failed(context, error.what());
      throw;
    }
  });
}

}  // namespace

void add_interpreter_activities(Registry& registry, const std::shared_ptr<Ledger>& ledger, int generation) {
  add(registry, ledger, activity::kEcho, echo);
  add(registry, ledger, activity::kFlaky, flaky);
  add(registry, ledger, activity::kFails, fails);
  add(registry, ledger, activity::kFailsForGood, fails_for_good);
  add(registry, ledger, activity::kProgress, progress);
  add(registry, ledger, activity::kRelease, release);
  add(registry, ledger, activity::kRaise, raise);
  add(registry, ledger, activity::kEnqueue, enqueue);
  if (generation > 0) add(registry, ledger, activity::kGreet, echo);
  const auto keep = [ledger](ActivityContext context, const std::string& token, Ledger::Completion completion) {
    ledger->keep(token, std::move(context), std::move(completion));
  };
  registry.add_async_activity(activity::kNever, keep);
  if (generation == 0) registry.add_async_activity(activity::kRetired, keep);
  // It has time to tell how far it is.
  registry.add_async_activity(activity::kLater,
                              [keep](ActivityContext context, const std::string& token, Ledger::Completion completion) {
                                context.heartbeat(token);
                                keep(std::move(context), token, std::move(completion));
                              });
  // The handle is taken and not kept. An asynchronous activity has both by value.
  // NOLINTNEXTLINE(performance-unnecessary-value-param)
  const auto drop = [ledger](ActivityContext context, const std::string&, Ledger::Completion) {
    ledger->failed(context, std::string(kCompletionDropped));
  };
  registry.add_async_activity(activity::kDrops, drop);
}

}  // namespace perdure::testing::simulation
