// Shared by the programs: small orchestrations, nodes that lack some of them, and short ways to ask for an outcome.
#pragma once

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "scenarios/world.h"

namespace perdure::test {

using namespace std::chrono_literals;

inline SubOrchestrationOptions child_id(const std::string& id) {
  return SubOrchestrationOptions().instance_id(id);
}
inline StartInstanceOptions replacing() {
  return StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal);
}
// A node that does not fetch items it has no code for, so that a test decides which instance continues.
inline RuntimeOptions only_registered() {
  RuntimeOptions options;
  options.fetch_only_registered = true;
  return options;
}

// "Running", "Completed 7", "Cancelled: by hand".
inline std::string outcome_of(const Client& client, const std::string& instance) {
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  std::string text(to_string(status.state));
  if (status.completed()) text += " " + status.output.value_or("nothing");
  if (status.error) text += ": " + status.error_text();
  return text;
}

// Why a client's call was refused; absent: it was not.
template <class Call>
std::optional<ClientErrorKind> refusal_kind(Call call) {
  try {
    call();
  } catch (const ClientError& error) {
    return error.kind();
  }
  return std::nullopt;
}

// Sends something to an instance that does not exist, which is refused.
template <class Call>
void send_to_nobody(Call call) {
  EXPECT_EQ(refusal_kind(call), ClientErrorKind::kNotFound);
}

// Nothing is left: no instance, no message, no activity.
inline void expect_nothing_left(const Client& client) {
  EXPECT_THAT(client.list_all_instances(), ::testing::IsEmpty());
  EXPECT_EQ(client.get_queue_depths(), QueueDepths());
}

// Victim(): completes with 7 after the message "go". Quick(n): completes with n at once.
inline Registry add_victims(Registry registry = {}) {
  registry.add_orchestration("Victim", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.dequeue_event<void>("go");
    co_return 7;
  });
  registry.add_orchestration("Quick", [](OrchestrationContext, int n) -> Orchestration<int> { co_return n; });
  return registry;
}

// Registries are values; these are joined by applying several functions to one.
template <class... Parts>
Registry registry_of(Parts... parts) {
  Registry registry;
  ((registry = parts(std::move(registry))), ...);
  return registry;
}

// Starts a node, lets everything come to rest, stops it. The clock moves by `time` in between.
inline void run_node(World& world, const Registry& registry, Milliseconds time = Milliseconds(0),
                     const RuntimeOptions& options = only_registered()) {
  auto& node = world.start_node(registry, options);
  world.settle();
  if (time.count() > 0) world.advance(time);
  world.stop_node(node);
}

}  // namespace perdure::test
