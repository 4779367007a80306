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
    throw CommandError(
        kNotFound, "there is no instance '" + instance +
                       "'; check the id, or pass --even-if-missing to buffer the message until the instance starts");
  }
  if (status.ended()) {
    throw CommandError(kConflict, "instance '" + instance + "' has already ended (" +
                                      std::string(to_string(status.state)) + "); the message would not be delivered");
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
  client.enqueue_event(message.instance, message.name, Raw(data), {.even_if_missing = message.even_if_missing});
  tell_sent(context, {{"instance", message.instance}, {"queue", message.name}},
            "enqueued a message in queue '" + message.name + "' of " + message.instance);
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
            "sent the request to " + verb + ' ' + end.instance + "; run 'perdure wait " + end.instance +
                "' to wait for its end");
  return kSuccess;
}

void add_end_command(CLI::App& program, Context& context, const std::string& verb, const std::string& description,
                     const std::string& default_reason, EndInstance ask) {
  const auto end = std::make_shared<EndArguments>();
  end->reason = default_reason;
  CLI::App& command = add_store_command(program, context, verb, description,
                                        [&context, end, verb, ask] { return run_end(context, *end, verb, ask); });
  command.add_option("instance", end->instance, "Id of the instance")->required();
  command.add_option("--reason", end->reason, "Reason, stored with the instance")->capture_default_str();
  command.add_flag("--even-if-missing", end->even_if_missing, "Send even if the instance does not exist yet");
}

}  // namespace

void add_message_commands(CLI::App& program, Context& context) {
  const auto event = std::make_shared<SendArguments>();
  CLI::App& raise = add_store_command(program, context, "raise", "Raise an event for an instance",
                                      [&context, event] { return run_raise(context, *event); });
  raise.add_option("instance", event->instance, "Id of the instance")->required();
  raise.add_option("event", event->name, "Name of the event")->required();
  add_payload_options(raise, event->data, "--data", "Data of the event");
  raise.add_flag("--even-if-missing", event->even_if_missing, "Send even if the instance does not exist yet");

  const auto message = std::make_shared<SendArguments>();
  CLI::App& enqueue = add_store_command(program, context, "enqueue", "Enqueue a message for an instance",
                                        [&context, message] { return run_enqueue(context, *message); });
  enqueue.add_option("instance", message->instance, "Id of the instance")->required();
  enqueue.add_option("queue", message->name, "Name of the queue")->required();
  add_payload_options(enqueue, message->data, "--data", "Message");
  enqueue.add_flag("--even-if-missing", message->even_if_missing, "Send even if the instance does not exist yet");

  add_end_command(program, context, "cancel",
                  "Request the cancellation of an instance, which runs its code once more for earlier messages",
                  "cancelled from the command line", &Client::cancel_instance);
  add_end_command(program, context, "terminate", "Terminate an instance without running its code",
                  "terminated from the command line", &Client::terminate_instance);
}

}  // namespace perdure::cli
