#include "testing/simulation/random_workload_clients.h"

#include <utility>

#include <perdure/client.h>

namespace perdure::testing::simulation {

namespace {

// What is sent to an instance before its start is kept for a limited time, so its start comes first.
bool has_started(const Client& client, const std::string& instance) {
  return client.get_orchestration_status(instance).state != OrchestrationState::kNotFound;
}

void start(const Program& root, const Client& client) {
  StartInstanceOptions options;
  if (root.version) options.version(*root.version);
  client.start_orchestration(instance_id_of(root), std::string(kInterpret), Raw(encode_assignment({root, {}})),
                             options);
}

bool raise_waited(const ClientIntent& intent, const std::string& instance, const Client& client,
                  RandomWorkload::Clients& clients) {
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  if (status.ended()) return true;
  const bool waits = client.get_kv_value<std::string>(instance, waiting_key(intent.name)).has_value();
  if (!waits) return clients.raised.contains(intent.name);  // then it has got it
  clients.raised.insert(intent.name);
  client.raise_event(instance, intent.name, "signal " + intent.name);
  return true;
}

bool send(const ClientIntent& intent, const std::string& instance, const Client& client,
          RandomWorkload::Clients& clients) {
  switch (intent.call) {
    case ClientCall::kRaise:
      client.raise_event(instance, intent.name, "signal " + intent.name);
      return true;
    case ClientCall::kEnqueue:
      client.enqueue_event(instance, std::string(kInbox), intent.name);
      return true;
    case ClientCall::kCancel:
      client.cancel_instance(instance, std::string(kCancelReason));
      return true;
    case ClientCall::kTerminate:
      client.terminate_instance(instance, std::string(kTerminateReason));
      return true;
    default:
      return raise_waited(intent, instance, client, clients);
  }
}

// Tried early, too: what runs, or has a child that runs, refuses.
bool delete_ended(const std::string& instance, const Client& client, RandomWorkload::Clients& clients) {
  if (!clients.deletion_begun.contains(instance)) {
    if (!has_started(client, instance)) return false;
    clients.deletion_begun.insert(instance);
  }
  try {
    client.delete_instance(instance);
  } catch (const ClientError& error) {
    if (error.kind() == ClientErrorKind::kStillRunning) return false;
    if (error.kind() != ClientErrorKind::kNotFound) throw;
  }
  clients.deleted.insert(instance);
  return true;
}

// An end is final.
void read_status(const std::string& instance, const Client& client, RandomWorkload::Clients& clients) {
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  const auto seen = clients.endings.find(instance);
  if (seen != clients.endings.end() && seen->second != status) {
    clients.problems[instance].push_back("instance " + instance + ": expected that it stays " +
                                         std::string(to_string(seen->second.state)) + ", actually it became " +
                                         std::string(to_string(status.state)));
  }
  if (status.ended()) clients.endings.emplace(instance, status);
}

}  // namespace

std::string_view to_string(ClientCall call) noexcept {
  switch (call) {
    case ClientCall::kStart:
      return "start";
    case ClientCall::kStartAgain:
      return "start again";
    case ClientCall::kRaise:
      return "raise an event for";
    case ClientCall::kRaiseWaited:
      return "raise an awaited event for";
    case ClientCall::kEnqueue:
      return "enqueue a message for";
    case ClientCall::kCancel:
      return "cancel";
    case ClientCall::kTerminate:
      return "terminate";
    case ClientCall::kDelete:
      return "delete";
    case ClientCall::kReadStatus:
      return "read the status of";
  }
  return "call";
}

bool carry_out(const ClientIntent& intent, const Program& root, const Client& client,
               RandomWorkload::Clients& clients) {
  const std::string instance = instance_id_of(root);
  if (intent.call == ClientCall::kDelete) return delete_ended(instance, client, clients);
  const bool started = has_started(client, instance);
  // A call that is repeated must not bring back what is gone.
  if (!started && clients.deletion_begun.contains(instance)) return true;
  if (intent.call == ClientCall::kStart || intent.call == ClientCall::kStartAgain) {
    start(root, client);
    return true;
  }
  if (intent.call == ClientCall::kReadStatus) {
    read_status(instance, client, clients);
    return true;
  }
  if (!started) return false;
  try {
    return send(intent, instance, client, clients);
  } catch (const ClientError& error) {
    // It was deleted after the check.
    if (error.kind() == ClientErrorKind::kNotFound && clients.deletion_begun.contains(instance)) return true;
    throw;
  }
}

}  // namespace perdure::testing::simulation
