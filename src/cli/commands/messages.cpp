// raise, enqueue, cancel, terminate
#include <functional>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_views.h"
#include "cli/payload_argument.h"

namespace perdure::cli {

namespace {

// A message for an instance that is not there would be kept for a while and then dropped, and one that has ended drops
// it: the user has to know.
void check_receiver(const Client& client, const std::string& instance, bool even_if_missing) {
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  if (status.state == OrchestrationState::kNotFound && !even_if_missing) {
    throw CommandError(kNotFound, "there is no instance '" + instance +
                                      "'; check the id, or add --even-if-missing to have it kept until the instance "
                                      "is started");
  }
  if (status.ended()) {
    throw CommandError(kConflict, "instance '" + instance + "' has ended already (" +
                                      std::string(to_string(status.state)) + "), so nobody would get it");
  }
}

void tell_sent(const Context& context, const nlohmann::json& document, const std::string& line) {
  if (context.json) {
    print_json(context, document);
  } else {
    context.out << name_text(line) << '\n';
  }
}

struct SendArguments {
  std::string instance;
  std::string name;
  PayloadArgument data;
  bool even_if_missing = false;
};

int run_raise(const Context& context, const SendArguments& event) {
  const Payload data = payload_of(event.data, context);
  const Client client(context.open());
  check_receiver(client, event.instance, event.even_if_missing);
  client.raise_event(event.instance, event.name, Raw(data), {.even_if_missing = event.even_if_missing});
  tell_sent(context, {{"instance", event.instance}, {"event", event.name}},
            "raised '" + event.name + "' for " + event.instance);
  return kSuccess;
}

int run_enqueue(const Context& context, const SendArguments& message) {
  const Payload data = payload_of(message.data, context);
  const Client client(context.open());
  check_receiver(client, message.instance, message.even_if_missing);
  client.enqueue_event(message.instance, message.name, Raw(data));
  tell_sent(context, {{"instance", message.instance}, {"queue", message.name}},
            "put a message into queue '" + message.name + "' of " + message.instance);
  return kSuccess;
}

struct EndArguments {
  std::string instance;
  std::string reason;
  bool even_if_missing = false;
};

using EndInstance = void (Client::*)(const std::string& instance, const std::string& reason, SendOptions options) const;

int run_end(const Context& context, const EndArguments& end, const std::string& verb, EndInstance ask) {
  const Client client(context.open());
  check_receiver(client, end.instance, end.even_if_missing);
  (client.*ask)(end.instance, end.reason, {.even_if_missing = end.even_if_missing});
  tell_sent(context, {{"instance", end.instance}, {"requested", verb}, {"reason", end.reason}},
            "asked to " + verb + ' ' + end.instance + "; 'perdure wait " + end.instance + "' tells when it has ended");
  return kSuccess;
}

void add_end_command(CLI::App& program, Context& context, const std::string& verb, const std::string& description,
                     const std::string& default_reason, EndInstance ask) {
  const auto end = std::make_shared<EndArguments>();
  end->reason = default_reason;
  CLI::App& command = add_store_command(program, context, verb, description,
                                        [&context, end, verb, ask] { return run_end(context, *end, verb, ask); });
  command.add_option("instance", end->instance, "Its id")->required();
  command.add_option("--reason", end->reason, "Why; it is kept with the instance")->capture_default_str();
  command.add_flag("--even-if-missing", end->even_if_missing, "Also if there is no such instance yet");
}

}  // namespace

void add_message_commands(CLI::App& program, Context& context) {
  const auto event = std::make_shared<SendArguments>();
  CLI::App& raise = add_store_command(program, context, "raise", "Raise an event for an instance that waits for it",
                                      [&context, event] { return run_raise(context, *event); });
  raise.add_option("instance", event->instance, "Its id")->required();
  raise.add_option("event", event->name, "The name of the event")->required();
  add_payload_options(raise, event->data, "--data", "What comes with it");
  raise.add_flag("--even-if-missing", event->even_if_missing, "Also if there is no such instance yet");

  const auto message = std::make_shared<SendArguments>();
  CLI::App& enqueue = add_store_command(program, context, "enqueue", "Put a message into a queue of an instance",
                                        [&context, message] { return run_enqueue(context, *message); });
  enqueue.add_option("instance", message->instance, "Its id")->required();
  enqueue.add_option("queue", message->name, "The name of the queue")->required();
  add_payload_options(enqueue, message->data, "--data", "The message");
  enqueue.add_flag("--even-if-missing", message->even_if_missing, "Also if there is no such instance yet");

  add_end_command(program, context, "cancel", "Cancel an instance; its code runs once more for what arrived before",
                  "cancelled from the command line", &Client::cancel_instance);
  add_end_command(program, context, "terminate", "End an instance without running its code",
                  "terminated from the command line", &Client::terminate_instance);
}

}  // namespace perdure::cli
