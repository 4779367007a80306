#include <perdure/client.h>

#include <algorithm>
#include <chrono>

#include <perdure/engine_metrics.h>
#include "client/request_checks.h"
#include "client/store_result.h"
#include "model/error_codec.h"
#include "model/limit_bounds.h"
#include "model/message_codec.h"
#include "providers/times.h"

namespace perdure {

namespace {

OrchestrationState state_of(ExecutionStatus status) noexcept {
  switch (status) {
    case ExecutionStatus::kCompleted:
      return OrchestrationState::kCompleted;
    case ExecutionStatus::kFailed:
      return OrchestrationState::kFailed;
    case ExecutionStatus::kCancelled:
      return OrchestrationState::kCancelled;
    case ExecutionStatus::kTerminated:
      return OrchestrationState::kTerminated;
    case ExecutionStatus::kRunning:
    case ExecutionStatus::kContinuedAsNew:
      break;
  }
  return OrchestrationState::kRunning;
}

// The stored output of a failure is its error. One that cannot be read is still a failure.
ErrorDetails stored_error(const Payload& output) {
  try {
    if (output) return decode_error(*output);
    return InfrastructureError{"read_status", "the store has no error for the failed instance", false};
  } catch (const DecodeError& error) {
    return InfrastructureError{"read_status", "the stored error cannot be read: " + std::string(error.what()), false};
  }
}

OrchestrationStatus to_status(InstanceStatus stored) {
  OrchestrationStatus status;
  status.state = stored.pending ? OrchestrationState::kPending : state_of(stored.status);
  status.name = std::move(stored.name);
  status.version = stored.version;
  status.execution_id = stored.execution_id;
  status.custom_status = std::move(stored.custom_status);
  status.custom_status_version = stored.custom_status_version;
  status.incarnation = stored.incarnation;
  if (status.completed()) {
    status.output = std::move(stored.output);
  } else if (status.ended()) {
    status.error = stored_error(stored.output);
  }
  return status;
}

std::string_view label_of(StartOutcome outcome) noexcept {
  switch (outcome) {
    case StartOutcome::kEnqueued:
      return "started";
    case StartOutcome::kIgnored:
      return "ignored";
    case StartOutcome::kReplaced:
      break;
  }
  return "replaced";
}

std::string_view label_of(OrchestrationState state) noexcept {
  switch (state) {
    case OrchestrationState::kCompleted:
      return "completed";
    case OrchestrationState::kCancelled:
      return "cancelled";
    case OrchestrationState::kTerminated:
      return "terminated";
    default:
      return "failed";
  }
}

// Measures a wait from its construction to its end, however it ends.
class MeasuredWait {
 public:
  explicit MeasuredWait(const Metrics& metrics) : metrics_(metrics) {}
  MeasuredWait(const MeasuredWait&) = delete;
  MeasuredWait& operator=(const MeasuredWait&) = delete;
  ~MeasuredWait() {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
    metrics_.observe(metric::kClientWaitDuration, {{"outcome", outcome_}}, seconds.count());
  }
  void outcome(std::string_view label) noexcept { outcome_ = label; }

 private:
  const Metrics& metrics_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string_view outcome_ = "error";
};

// Returns what `read` returns, a time of the store. A store that was inherited by fork() throws.
template <class Read>
auto time_of_store(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const ProviderFailure& failure) {
    throw ClientError(failure.error());
  }
}

[[noreturn]] void time_out(const std::string& instance, const std::string& what, Milliseconds timeout) {
  throw ClientError(ClientErrorKind::kTimeout, "instance '" + instance + "' " + what + " within " +
                                                   std::to_string(timeout.count()) + " ms; wait again to keep waiting");
}

}  // namespace

Client::Client(std::shared_ptr<Provider> store, ClientOptions options)
    : store_(std::move(store)), options_(std::move(options)) {
  if (!store_) throw ClientError(ClientErrorKind::kInvalidInput, "a client needs a provider, not a null pointer");
  if (const auto problem = problem_with_limits(options_.limits)) {
    throw ClientError(ClientErrorKind::kInvalidInput, "the client's options are not valid: " + *problem);
  }
}

Provider& Client::store() const {
  if (!store_) throw ClientError(ClientErrorKind::kInvalidInput, "a client that was moved from was used");
  return *store_;
}

StartInstanceOptions& StartInstanceOptions::version(std::string_view version) {
  version_ = SemanticVersion::of(version);
  return *this;
}

StartInstanceOptions& StartInstanceOptions::policy(StartPolicy policy) noexcept {
  policy_ = policy;
  return *this;
}

// ---- control -------------------------------------------------------------------------------------------------------

void Client::check_name(const char* what, const std::string& name) const {
  perdure::check_name(what, name, options_.limits);
}

void Client::check_payload(const char* what, const Payload& payload) const {
  if (!payload || payload->size() <= options_.limits.max_payload_bytes) return;
  throw ClientError(ClientErrorKind::kInvalidInput,
                    std::string(what) + " has " + std::to_string(payload->size()) + " bytes, more than the limit of " +
                        std::to_string(options_.limits.max_payload_bytes) +
                        " (max_payload_bytes); store it elsewhere and send a reference");
}

void Client::send(const Message& message, SendOptions options) const {
  check_name("an instance id", message.instance);
  MessageRecord record = encode_message(message);
  record.must_exist = !options.even_if_missing;
  value_of(store().enqueue_message(record));
}

StartOutcome Client::start(const std::string& instance, const std::string& name, Payload input,
                           const StartInstanceOptions& options) const {
  check_name("an instance id", instance);
  check_name("an orchestration's name", name);
  check_payload("the input of an orchestration", input);
  const Message start{instance, std::nullopt, std::nullopt,
                      messages::StartOrchestration{name, options.version(), std::move(input), std::nullopt}};
  const StartOutcome outcome = value_of(store().enqueue_start(encode_message(start), options.policy()));
  options_.metrics.add(metric::kClientStarts, {{"outcome", label_of(outcome)}});
  return outcome;
}

void Client::raise(const std::string& instance, const std::string& name, Payload data, SendOptions options) const {
  check_name("an event's name", name);
  check_payload("an event's data", data);
  send({instance, std::nullopt, std::nullopt, messages::ExternalRaised{name, std::move(data)}}, options);
  options_.metrics.add(metric::kClientEvents, {{"kind", "event"}});
}

void Client::enqueue(const std::string& instance, const std::string& queue, Payload data, SendOptions options) const {
  check_name("a queue's name", queue);
  check_payload("a queue message", data);
  send({instance, std::nullopt, std::nullopt, messages::QueueMessage{queue, std::move(data)}}, options);
  options_.metrics.add(metric::kClientEvents, {{"kind", "queue"}});
}

void Client::cancel_instance(const std::string& instance, const std::string& reason, SendOptions options) const {
  check_payload("the reason of a cancel", reason);
  send({instance, std::nullopt, std::nullopt, messages::CancelInstance{reason}}, options);
  options_.metrics.add(metric::kClientCancellations, {{"kind", "cancel"}});
}

void Client::terminate_instance(const std::string& instance, const std::string& reason, SendOptions options) const {
  check_payload("the reason of a termination", reason);
  send({instance, std::nullopt, std::nullopt, messages::TerminateInstance{reason}}, options);
  options_.metrics.add(metric::kClientCancellations, {{"kind", "terminate"}});
}

// ---- watching ------------------------------------------------------------------------------------------------------

Milliseconds Client::end_of_wait(Milliseconds timeout) const {
  const Milliseconds here = time_of_store([this] { return store().steady(); });
  return timeout > Milliseconds::max() - here ? Milliseconds::max() : here + timeout;
}

bool Client::await(const std::string& instance, const InstanceChange& change, Milliseconds end) const {
  // The shutdown of a runtime ends all waits of its provider; then this one continues.
  for (;;) {
    const Timestamp deadline = time_of_store([this, end] {
      const Milliseconds left = std::max(end - store().steady(), Milliseconds(0));
      return shifted(store().now(), left);
    });
    if (value_of(store().wait_for_change(instance, change, deadline))) return true;
    if (time_of_store([this] { return store().steady(); }) >= end) return false;
  }
}

OrchestrationStatus Client::get_orchestration_status(const std::string& instance) const {
  check_name("an instance id", instance);
  auto stored = value_of(store().read_status(instance));
  return stored ? to_status(std::move(*stored)) : OrchestrationStatus();
}

OrchestrationStatus Client::wait_for_orchestration(const std::string& instance, Milliseconds timeout) const {
  check_name("an instance id", instance);
  MeasuredWait wait(options_.metrics);
  const Milliseconds end = end_of_wait(timeout);
  while (await(instance, {.ended = true, .custom_status_after = {}, .key_value = {}}, end)) {
    OrchestrationStatus status = get_orchestration_status(instance);
    if (status.ended()) {
      wait.outcome(label_of(status.state));
      return status;
    }
    throw_if_lost(instance);
    // It has ended, and somebody has started it anew since.
  }
  wait.outcome("timeout");
  time_out(instance, "did not end", timeout);
}

void Client::throw_if_lost(const std::string& instance) const {
  if (!has_lost_its_continuation(instance)) return;
  throw ClientError(ProviderError(ProviderErrorKind::kCorruptData, "instance '" + instance + "' " + kLost));
}

bool Client::has_lost_its_continuation(const std::string& instance) const {
  const auto before = value_of(store().read_status(instance));
  if (!before || before->status != ExecutionStatus::kContinuedAsNew) return false;
  const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
  const Timestamp now = time_of_store([this] { return store().now(); });
  if (!value_of(store().wait_for_change(instance, ended, now))) return false;
  // The next execution may have begun and ended between the two calls.
  const auto after = value_of(store().read_status(instance));
  return after && after->status == ExecutionStatus::kContinuedAsNew && after->incarnation == before->incarnation &&
         after->execution_id == before->execution_id;
}

OrchestrationStatus Client::wait_for_status_change(const std::string& instance, std::uint64_t last_seen_version,
                                                   Milliseconds timeout) const {
  OrchestrationStatus now = get_orchestration_status(instance);
  now.custom_status_version = last_seen_version;
  return wait_for_status_change(instance, now, timeout);
}

OrchestrationStatus Client::wait_for_status_change(const std::string& instance, const OrchestrationStatus& last_seen,
                                                   Milliseconds timeout) const {
  check_name("an instance id", instance);
  InstanceChange change{.ended = true, .custom_status_after = last_seen.custom_status_version, .key_value = {}};
  if (last_seen.incarnation != 0) change.incarnation_other_than = last_seen.incarnation;
  const Milliseconds end = end_of_wait(timeout);
  while (await(instance, change, end)) {
    OrchestrationStatus status = get_orchestration_status(instance);
    const bool is_other =
        status.incarnation != 0 && change.incarnation_other_than.value_or(status.incarnation) != status.incarnation;
    if (status.ended() || is_other || status.custom_status_version > last_seen.custom_status_version) return status;
    throw_if_lost(instance);
    // What ended the wait is gone: the instance was deleted since, or waits for its first turn after a replacement.
  }
  time_out(instance, "neither changed its custom status nor ended", timeout);
}

std::optional<std::string> Client::read_kv_value(const std::string& instance, const std::string& key) const {
  check_name("an instance id", instance);
  return value_of(store().read_key_value(instance, key));
}

std::map<std::string, std::string> Client::get_kv_all_values(const std::string& instance) const {
  check_name("an instance id", instance);
  std::map<std::string, std::string> values;
  for (KeyValue& entry : value_of(store().read_key_values(instance))) {
    values.emplace(std::move(entry.key), std::move(entry.value));
  }
  return values;
}

std::string Client::await_kv_value(const std::string& instance, const std::string& key, Milliseconds timeout) const {
  check_name("an instance id", instance);
  const Milliseconds end = end_of_wait(timeout);
  while (await(instance, {.ended = false, .custom_status_after = {}, .key_value = key}, end)) {
    if (auto value = read_kv_value(instance, key)) return *value;  // else it was cleared in between
  }
  time_out(instance, "set no value for key '" + key + "'", timeout);
}

std::optional<InstanceStats> Client::get_orchestration_stats(const std::string& instance) const {
  check_name("an instance id", instance);
  return value_of(store().read_stats(instance));
}

}  // namespace perdure
