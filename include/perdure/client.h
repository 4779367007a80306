// Client: starts, signals, watches and administers orchestrations. It talks to the store alone, so it needs no runtime
// in its process; runtimes anywhere on the same store do the work.
//
//   perdure::Client client(store);
//   client.start_orchestration("order-42", "ProcessOrder", order);
//   auto receipt = client.wait_for_orchestration("order-42", 30s).result<Receipt>();
//
// Errors are thrown as ClientError. Thread-safe, and cheap to copy. A client that was moved from throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/client_error.h>
#include <perdure/codec.h>
#include <perdure/detail/thrown.h>
#include <perdure/event.h>
#include <perdure/limits.h>
#include <perdure/log.h>
#include <perdure/message.h>
#include <perdure/metrics.h>
#include <perdure/orchestration_status.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

struct ClientOptions {
  Limits limits;  // names and payloads are checked before they are sent
  Logger logger;
  Metrics metrics{};
};

// How a client's start behaves.
class StartInstanceOptions {
 public:
  StartInstanceOptions() = default;

  // Without it the version policy of the runtime that begins it decides. Throws std::invalid_argument if not "1.2.3".
  StartInstanceOptions& version(std::string_view version);
  // Without it StartPolicy::kIgnore, so that a start may be repeated.
  StartInstanceOptions& policy(StartPolicy policy) noexcept;

  [[nodiscard]] const std::optional<SemanticVersion>& version() const noexcept { return version_; }
  [[nodiscard]] StartPolicy policy() const noexcept { return policy_; }

 private:
  std::optional<SemanticVersion> version_;
  StartPolicy policy_ = StartPolicy::kIgnore;
};

// How a cancel, a termination, an event or a queue message is sent.
struct SendOptions {
  // If false, an id with neither an instance nor a queued start fails with kNotFound. If true, the store buffers the
  // message, and the next instance of that id receives it. The buffered messages of an id, queue messages aside, are
  // discarded together, at the end of the orphan_retention of the oldest one.
  bool even_if_missing = false;
};

// An instance blocked on work that no registered node can run.
struct StuckInstance {
  std::string instance;
  std::string reason;  // what it waits for, and what would help
  bool operator==(const StuckInstance&) const = default;
};

class Client {
 public:
  // Throws ClientError (kInvalidInput) without a store, or with limits that are greater than the stores accept.
  explicit Client(std::shared_ptr<Provider> store, ClientOptions options = {});

  // ---- Control. Each returns once the store has it; kInvalidInput if a name or value breaks a limit (limits.h) ----

  // Says whether it was started, ignored because the instance exists, or replaced an ended one.
  template <class T>
  StartOutcome start_orchestration(const std::string& instance, const std::string& name, const T& input,
                                   StartInstanceOptions options = {}) const {
    return start(instance, name, encode("input", input), options);
  }
  StartOutcome start_orchestration(const std::string& instance, const std::string& name) const {
    return start(instance, name, std::nullopt, {});
  }
  StartOutcome start_orchestration(const std::string& instance, const std::string& name,
                                   StartInstanceOptions options) const {
    return start(instance, name, std::nullopt, options);
  }

  // Delivers the event to an orchestration that waits for it now, or in the turn that processes it; otherwise the event
  // has no effect. kNotFound: see SendOptions.
  template <class T>
  void raise_event(const std::string& instance, const std::string& name, const T& data,
                   SendOptions options = {}) const {
    raise(instance, name, encode("data", data), options);
  }
  void raise_event(const std::string& instance, const std::string& name, SendOptions options = {}) const {
    raise(instance, name, std::nullopt, options);
  }

  // Adds a message to a queue of the orchestration, where it stays until it is dequeued. It may arrive before the
  // start: the store buffers it for its orphan_retention, and the instance receives it with its start. Pass
  // SendOptions() for a message that must not be buffered like that.
  template <class T>
  void enqueue_event(const std::string& instance, const std::string& queue, const T& data,
                     SendOptions options = {.even_if_missing = true}) const {
    enqueue(instance, queue, encode("data", data), options);
  }
  void enqueue_event(const std::string& instance, const std::string& queue,
                     SendOptions options = {.even_if_missing = true}) const {
    enqueue(instance, queue, std::nullopt, options);
  }

  // The orchestration ends as cancelled, with everything it has started; its code runs once more for what arrived
  // before. Without effect on ended instances. kNotFound: see SendOptions.
  void cancel_instance(const std::string& instance, const std::string& reason = "cancelled by a client",
                       SendOptions options = {}) const;
  // The same without running its code.
  void terminate_instance(const std::string& instance, const std::string& reason = "terminated by a client",
                          SendOptions options = {}) const;

  // ---- Watching. From the store's metadata: no history is read ----

  [[nodiscard]] OrchestrationStatus get_orchestration_status(const std::string& instance) const;
  // Until it has ended. An instance that does not exist yet is waited for. kTimeout; kStore if it can never end because
  // the store has lost the message that its next execution begins with.
  OrchestrationStatus wait_for_orchestration(const std::string& instance, Milliseconds timeout) const;
  // Until the custom status has a version greater than this, the instance has ended, or the id belongs to another
  // incarnation than when the call began. A wait lasts over a deletion and a start that no turn has taken. kTimeout;
  // kStore as for wait_for_orchestration.
  OrchestrationStatus wait_for_status_change(const std::string& instance, std::uint64_t last_seen_version,
                                             Milliseconds timeout) const;
  // The same for a status that was read before. It also ends if the id was given to another incarnation between that
  // read and this call, whose versions begin at 0 again.
  OrchestrationStatus wait_for_status_change(const std::string& instance, const OrchestrationStatus& last_seen,
                                             Milliseconds timeout) const;

  template <class T>
  [[nodiscard]] std::optional<T> get_kv_value(const std::string& instance, const std::string& key) const {
    return decode_value<T>(key, read_kv_value(instance, key));
  }
  // Encoded, by key.
  [[nodiscard]] std::map<std::string, std::string> get_kv_all_values(const std::string& instance) const;
  // Until the key has a value. kTimeout.
  template <class T>
  [[nodiscard]] T wait_for_kv_value(const std::string& instance, const std::string& key, Milliseconds timeout) const {
    return *decode_value<T>(key, await_kv_value(instance, key, timeout));
  }
  // Absent for an instance that does not exist.
  [[nodiscard]] std::optional<InstanceStats> get_orchestration_stats(const std::string& instance) const;

  // ---- Administration. kNotSupported if the provider has none ----

  [[nodiscard]] bool has_management_capability() const noexcept;
  // A page of instances, newest first.
  [[nodiscard]] InstancePage list_instances(const InstanceQuery& query = {}) const;
  [[nodiscard]] std::vector<std::string> list_all_instances() const;
  [[nodiscard]] std::vector<std::string> list_instances_by_status(ExecutionStatus status) const;
  [[nodiscard]] InstanceInfo get_instance_info(const std::string& instance) const;
  [[nodiscard]] ExecutionInfo get_execution_info(const std::string& instance, ExecutionId execution) const;
  [[nodiscard]] std::vector<ExecutionId> list_executions(const std::string& instance) const;
  // Of one execution, or of the latest; empty if unknown.
  [[nodiscard]] std::vector<Event> read_execution_history(const std::string& instance,
                                                          std::optional<ExecutionId> execution = std::nullopt) const;
  [[nodiscard]] InstanceTree get_instance_tree(const std::string& instance) const;
  [[nodiscard]] SystemMetrics get_system_metrics() const;
  [[nodiscard]] QueueDepths get_queue_depths() const;
  [[nodiscard]] std::vector<NodeInfo> list_nodes() const;
  // What is in the worker queue, with the progress that running activities have told of.
  [[nodiscard]] ActivityPage list_activities(const ActivityQuery& query = {}) const;
  // Running instances, queued starts and queued activities that no registered node has the code, the engine version or
  // the tag for, and instances whose continuation is lost; at most `limit` of each kind. Judges by what nodes have
  // registered, not by whether they are alive.
  [[nodiscard]] std::vector<StuckInstance> find_stuck_instances(std::size_t limit = kDefaultBulkLimit) const;

  // Deletes the instance and its children. A running instance requires `force`; its activities are cancelled and all
  // its data is deleted. Without an instance: kNotFound, and messages that are buffered for the id are discarded.
  DeleteResult delete_instance(const std::string& instance, bool force = false) const;
  // Deletes ended instances that match, with their children: at most `limit` of them, oldest first. Call it until it
  // deletes nothing.
  DeleteResult delete_instance_bulk(const InstanceFilter& filter, std::size_t limit = kDefaultBulkLimit) const;
  PruneResult prune_executions(const std::string& instance, const PruneOptions& options = {}) const;
  // Prunes instances that match, until `limit` of them have lost executions. Call it until it removes none.
  PruneResult prune_executions_bulk(const InstanceFilter& filter, const PruneOptions& options = {},
                                    std::size_t limit = kDefaultBulkLimit) const;

 private:
  template <class T>
  static Payload encode(const char* what, const T& value) {
    return detail::contain([&]() -> Payload { return detail::encode_payload<detail::encoded_as<T>>(value); },
                           [&](const std::string& error) -> Payload {
                             throw ClientError(ClientErrorKind::kInvalidInput,
                                               std::string("the ") + what + " cannot be encoded: " + error);
                           });
  }
  template <class T>
  static std::optional<T> decode_value(const std::string& key, const std::optional<std::string>& value) {
    if (!value) return std::nullopt;
    return detail::contain([&]() -> std::optional<T> { return detail::decode_payload<T>(value); },
                           [&](const std::string& error) -> std::optional<T> {
                             throw ClientError(
                                 ClientErrorKind::kInvalidOutput,
                                 "the value of key '" + key + "' cannot be decoded as the requested type: " + error);
                           });
  }

  StartOutcome start(const std::string& instance, const std::string& name, Payload input,
                     const StartInstanceOptions& options) const;
  void raise(const std::string& instance, const std::string& name, Payload data, SendOptions options) const;
  void enqueue(const std::string& instance, const std::string& queue, Payload data, SendOptions options) const;
  [[nodiscard]] std::optional<std::string> read_kv_value(const std::string& instance, const std::string& key) const;
  [[nodiscard]] std::string await_kv_value(const std::string& instance, const std::string& key,
                                           Milliseconds timeout) const;

  // Throws kInvalidInput for a client that was moved from.
  [[nodiscard]] Provider& store() const;
  [[nodiscard]] ProviderAdmin& admin() const;
  void send(const Message& message, SendOptions options) const;
  void check_name(const char* what, const std::string& name) const;
  void check_filter(const InstanceFilter& filter) const;
  void check_payload(const char* what, const Payload& payload) const;
  // True: the change is there. False: the time is over.
  // `end` is a time of Provider::steady().
  [[nodiscard]] bool await(const std::string& instance, const InstanceChange& change, Milliseconds end) const;
  [[nodiscard]] Milliseconds end_of_wait(Milliseconds timeout) const;
  // Throws kStore if the instance can never end.
  void throw_if_lost(const std::string& instance) const;
  // It has continued as new, and the message that the next execution begins with is nowhere.
  [[nodiscard]] bool has_lost_its_continuation(const std::string& instance) const;
  static constexpr const char* kLost =
      "has continued as new, but the start message of its next execution is missing; terminate it to fail it and "
      "inform its parent";

  std::shared_ptr<Provider> store_;
  ClientOptions options_;
};

}  // namespace perdure
