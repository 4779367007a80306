// wait
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_views.h"
#include "cli/number_argument.h"
#include "cli/outcome.h"
#include "cli/text.h"
#include "cli/time_argument.h"

namespace perdure::cli {

namespace {

constexpr std::chrono::milliseconds kPauseAfterNothing{50};

struct WaitArguments {
  std::string instance;
  std::string timeout = "30s";
  std::optional<std::uint64_t> status_after;
  std::optional<std::string> key;
};

void tell_outcome(const Context& context, const std::string& instance, const OrchestrationStatus& status) {
  if (context.json) {
    print_json(context, status_json(instance, status));
  } else {
    print_outcome(context, instance, status);
  }
}

int wait_for_status(const Context& context, const Client& client, const WaitArguments& wait, Milliseconds timeout) {
  const OrchestrationStatus status = client.wait_for_status_change(wait.instance, *wait.status_after, timeout);
  tell_outcome(context, wait.instance, status);
  // One that goes on with a smaller version is another incarnation, which is a change as well.
  const bool changed = !status.ended() || status.custom_status_version > *wait.status_after;
  return changed ? kSuccess : exit_code_of(status);
}

// Not the client's wait for a value: that goes on when the instance has ended, and nobody can set it any more.
int wait_for_value(const Context& context, const std::shared_ptr<Provider>& store, const WaitArguments& wait,
                   Milliseconds timeout) {
  const Client client(store);
  const Milliseconds end = store->steady() + timeout;
  const InstanceChange change{.ended = true, .custom_status_after = {}, .key_value = wait.key};
  for (;;) {
    const Timestamp deadline = store->now() + std::max(end - store->steady(), Milliseconds(0));
    const bool changed = store->wait_for_change(wait.instance, change, deadline).value();
    const bool ended = client.get_orchestration_status(wait.instance).ended();
    if (const auto value = store->read_key_value(wait.instance, *wait.key).value()) {
      if (context.json) {
        const nlohmann::json document{{"instance", wait.instance}, {"key", *wait.key}, {"value", payload_json(value)}};
        print_json(context, document);
      } else {
        context.out << payload_text(value, std::string::npos) << '\n';  // as `perdure kv` does
      }
      return kSuccess;
    }
    if (changed && ended) {
      throw CommandError(kNegative,
                         "instance '" + wait.instance + "' has ended without a value for '" + *wait.key + "'");
    }
    if (store->steady() >= end) {
      throw CommandError(kTimedOut, "instance '" + wait.instance + "' had no value for '" + *wait.key + "' within " +
                                        duration_text(timeout) + "; wait again to keep waiting");
    }
    // Told of a change, and there is none: the value is gone again, or the instance can never go on. Not too often.
    if (changed) std::this_thread::sleep_for(kPauseAfterNothing);
  }
}

int run_wait(const Context& context, const WaitArguments& wait) {
  const Milliseconds timeout = parse_duration("--timeout", wait.timeout);
  const std::shared_ptr<Provider> store = context.open();
  const Client client(store);
  if (wait.key) return wait_for_value(context, store, wait, timeout);
  if (wait.status_after) return wait_for_status(context, client, wait, timeout);
  const OrchestrationStatus status = wait_until_ended(client, wait.instance, timeout);
  tell_outcome(context, wait.instance, status);
  return exit_code_of(status);
}

}  // namespace

void add_wait_commands(CLI::App& program, Context& context) {
  const auto wait = std::make_shared<WaitArguments>();
  CLI::App& command = add_store_command(program, context, "wait",
                                        "Wait until an instance has ended or has changed its custom status or a value",
                                        [&context, wait] { return run_wait(context, *wait); });
  command.add_option("instance", wait->instance, "Id of the instance, which need not exist yet")->required();
  command.add_option("--timeout", wait->timeout, "Timeout: 250ms, 30s, 5m, 2h")->capture_default_str();
  CLI::Option* const status =
      command
          .add_option("--status-change", wait->status_after,
                      "Wait for a custom status with a version greater than VERSION, or for the end")
          ->check(at_least(0));
  command.add_option("--kv", wait->key, "Wait until KEY has a value and print the value")->excludes(status);
}

}  // namespace perdure::cli
