// ActivityContext: what an activity knows about its call, and how it learns that nobody waits for it any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <perdure/codec.h>
#include <perdure/detail/thrown.h>
#include <perdure/error_details.h>
#include <perdure/log.h>
#include <perdure/result.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

class Client;
class Provider;

// Thrown by an activity: trying again would not help, so a RetryPolicy does not. Every other exception may be retried.
class NonRetryableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How one attempt at an activity ended.
using ActivityOutcome = Result<Payload, ApplicationError>;

namespace detail {

// State of one activity attempt, co-owned by the worker, the user's code and any pending completion callback. In a
// child of fork() the threads behind it are missing: an end has no effect there, and the destructor touches nothing.
class ActivityCall {
 public:
  struct About {
    std::string instance_id;
    ExecutionId execution_id = kFirstExecutionId;
    std::string orchestration_name;
    std::optional<SemanticVersion> orchestration_version;
    std::string activity_name;
    EventId activity_id = 0;
    EventId first_attempt_id = 0;   // activity_id of the first attempt of its RetryPolicy
    std::uint64_t incarnation = 0;  // of the instance
    std::uint32_t attempt = 1;
    std::string worker_id;
    std::optional<std::string> session_id;
    std::optional<std::string> tag;
    Payload progress;  // what the attempt before left
    std::size_t max_payload_bytes = (std::numeric_limits<std::size_t>::max)();
  };
  // Whom the call reports to, from any thread.
  struct Reports {
    std::function<void(ActivityOutcome)> ended;  // once
    std::function<void(Payload)> heartbeat;      // not any more once it has ended
    std::function<void()> abandoned{};           // instead of `ended`
  };

  ActivityCall(About the_call, std::shared_ptr<Provider> the_store, Logger the_logger, Reports reports);
  ActivityCall(const ActivityCall&) = delete;
  ActivityCall& operator=(const ActivityCall&) = delete;
  ~ActivityCall();

  // The first outcome counts; false: there was one already.
  bool end(ActivityOutcome outcome) noexcept;
  // The thread ends before the function returns (pthread_exit, cancellation): the activity is to run again. Without
  // effect if there was an outcome.
  void abandon() noexcept;
  [[nodiscard]] bool ended() const noexcept;
  // Without effect once the call has ended. Throws std::length_error if the details break the limit of payloads, and
  // std::logic_error in a child of fork().
  void heartbeat(Payload details);
  void request_stop() noexcept { stop_.request_stop(); }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  const About about;
  const std::shared_ptr<Provider> store;
  const Logger logger;

 private:
  struct State;
  std::stop_source stop_;
  std::unique_ptr<State> state_;
};

}  // namespace detail

// A handle: copies mean the same call, and may outlive it.
class ActivityContext {
 public:
  explicit ActivityContext(std::shared_ptr<detail::ActivityCall> call) noexcept : call_(std::move(call)) {}

  [[nodiscard]] const std::string& instance_id() const noexcept { return call_->about.instance_id; }
  [[nodiscard]] ExecutionId execution_id() const noexcept { return call_->about.execution_id; }
  [[nodiscard]] const std::string& orchestration_name() const noexcept { return call_->about.orchestration_name; }
  [[nodiscard]] const std::optional<SemanticVersion>& orchestration_version() const noexcept {
    return call_->about.orchestration_version;
  }
  [[nodiscard]] const std::string& activity_name() const noexcept { return call_->about.activity_name; }
  // Unique within the execution. Each attempt of a RetryPolicy is an activity with an id of its own.
  [[nodiscard]] EventId activity_id() const noexcept { return call_->about.activity_id; }
  // The key to pass to a service that must not do the same thing twice: 32 hexadecimal digits. It is the same in every
  // attempt, after a crash and by a RetryPolicy. It differs for any other activity, execution or instance, also for an
  // instance that was started under the id of a deleted one.
  [[nodiscard]] std::string idempotency_key() const;
  // Starts at 1. Counts attempts after a crash and attempts of a RetryPolicy, but not an attempt whose lock expired
  // because the store failed. Do not use it to detect a repeated effect; use idempotency_key().
  [[nodiscard]] std::uint32_t attempt() const noexcept { return call_->about.attempt; }
  [[nodiscard]] const std::string& worker_id() const noexcept { return call_->about.worker_id; }
  [[nodiscard]] const std::optional<std::string>& session_id() const noexcept { return call_->about.session_id; }
  [[nodiscard]] const std::optional<std::string>& tag() const noexcept { return call_->about.tag; }

  // Stop is requested when the result is no longer wanted: the orchestration dropped or cancelled the activity, another
  // worker has it, or this one shuts down. From then on the outcome is ignored.
  [[nodiscard]] std::stop_token stop_token() const noexcept { return call_->stop_token(); }
  [[nodiscard]] bool is_cancelled() const noexcept { return call_->stop_token().stop_requested(); }

  // Records a heartbeat: resets the heartbeat timeout and stores `details` for the next attempt and for clients. May be
  // called often: details are written every RuntimeOptions::heartbeat_interval.
  template <class T>
  void heartbeat(const T& details) const {
    call_->heartbeat(detail::encode_payload<detail::encoded_as<T>>(details));
  }
  void heartbeat() const { call_->heartbeat(std::nullopt); }
  // What the attempt before this one left, on whatever node it ran and whether or not a RetryPolicy made this one;
  // nothing if it left nothing. Throws what the codec throws if it is not a T.
  template <class T>
  [[nodiscard]] std::optional<T> last_heartbeat() const {
    if (!call_->about.progress) return std::nullopt;
    return detail::decode_payload<T>(call_->about.progress);
  }

  // For starting and signalling orchestrations from here.
  [[nodiscard]] Client client() const;

  void trace_debug(std::string_view message) const { trace(LogLevel::kDebug, message); }
  void trace_info(std::string_view message) const { trace(LogLevel::kInfo, message); }
  void trace_warn(std::string_view message) const { trace(LogLevel::kWarn, message); }
  void trace_error(std::string_view message) const { trace(LogLevel::kError, message); }

 private:
  void trace(LogLevel level, std::string_view message) const;

  std::shared_ptr<detail::ActivityCall> call_;
};

// How an asynchronous activity ends, from any thread. Copies mean the same call, and the first outcome counts. When the
// last copy goes without one, the activity fails.
template <class T>
class ActivityCompletion {
 public:
  explicit ActivityCompletion(std::shared_ptr<detail::ActivityCall> call)
      : ticket_(std::make_shared<Ticket>(std::move(call))) {}

  // False: the activity has ended already, or this is a child of fork().
  template <class U = T>
    requires(!std::is_void_v<T>)
  bool complete(const U& value) const {
    return detail::contain(
        [&] { return call().end(detail::encode_payload<T>(value)); },
        [&](const std::string& error) { return fail("the result cannot be encoded: " + error, false); });
  }
  bool complete() const
    requires(std::is_void_v<T>)
  {
    return call().end(Payload());
  }
  bool fail(std::string message, bool retryable = true) const {
    return call().end(ApplicationError{ApplicationErrorKind::kActivityFailed, std::move(message), retryable});
  }

 private:
  struct Ticket {
    explicit Ticket(std::shared_ptr<detail::ActivityCall> of) : call(std::move(of)) {}
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() {
      call->end(ApplicationError{ApplicationErrorKind::kActivityFailed,
                                 "the activity's completion was dropped without a result", true});
    }
    std::shared_ptr<detail::ActivityCall> call;
  };

  [[nodiscard]] detail::ActivityCall& call() const {
    if (!ticket_) throw MisuseError("a completion that has been moved from was used");
    return *ticket_->call;
  }

  std::shared_ptr<Ticket> ticket_;
};

}  // namespace perdure
