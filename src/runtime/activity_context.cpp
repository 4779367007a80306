#include <perdure/activity_context.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <perdure/activity_handler.h>
#include <perdure/client.h>
#include "model/idempotency_key.h"
#include "model/planted_fault.h"
#include "providers/home_process.h"

namespace perdure {

namespace detail {

struct ActivityCall::State {
  HomeProcess home;  // a thread of the parent may hold a mutex that its child has a copy of
  std::mutex mutex;
  Reports reports;  // empty once the call has ended
};

ActivityCall::ActivityCall(About the_call, std::shared_ptr<Provider> the_store, Logger the_logger, Reports reports)
    : about(std::move(the_call)),
      store(std::move(the_store)),
      logger(std::move(the_logger)),
      state_(std::make_unique<State>()) {
  state_->reports = std::move(reports);
}

ActivityCall::~ActivityCall() {
  if (!state_->home.is_this()) static_cast<void>(state_.release());  // the reports refer to threads of the parent
}

bool ActivityCall::end(ActivityOutcome outcome) noexcept {
  if (!state_->home.is_this()) return false;
  Reports reports;
  {
    const std::lock_guard lock(state_->mutex);
    std::swap(reports, state_->reports);
  }
  if (!reports.ended) return false;
  reports.ended(std::move(outcome));
  return true;
}

void ActivityCall::abandon() noexcept {
  if (!state_->home.is_this()) return;
  Reports reports;
  {
    const std::lock_guard lock(state_->mutex);
    std::swap(reports, state_->reports);
  }
  if (reports.abandoned) reports.abandoned();
}

void ActivityCall::heartbeat(Payload details) {
  if (!state_->home.is_this()) {
    throw std::logic_error(
        state_->home.complaint("the activity '" + about.activity_name + "' was started",
                               "send its heartbeats from the process of the node, or exec a program in the child"));
  }
  if (details && details->size() > about.max_payload_bytes) {
    throw std::length_error("the heartbeat details of activity '" + about.activity_name + "' have " +
                            std::to_string(details->size()) + " bytes; the limit is " +
                            std::to_string(about.max_payload_bytes) + " (max_payload_bytes)");
  }
  std::function<void(Payload)> report;
  {
    const std::lock_guard lock(state_->mutex);
    report = state_->reports.heartbeat;
  }
  if (report) report(std::move(details));
}

bool ActivityCall::ended() const noexcept {
  if (!state_->home.is_this()) return true;
  const std::lock_guard lock(state_->mutex);
  return !state_->reports.ended;
}

ApplicationError activity_error_from_current_exception() noexcept {
  ApplicationError error{ApplicationErrorKind::kActivityFailed, {}, true};
  try {
    try {
      throw;
    } catch (const NonRetryableError& thrown) {
      error.retryable = false;
      error.message = text_of(thrown);
    } catch (const std::exception& thrown) {
      error.message = text_of(thrown);
    } catch (...) {
      error.message = "the activity threw something that is not a std::exception";
    }
  } catch (const std::bad_alloc&) {
    error.message = "out of memory";  // short enough to need none
  }
  return error;
}

ApplicationError undecodable_activity_input(const std::string& activity, const std::string& error) {
  return {ApplicationErrorKind::kActivityFailed, "the input of activity '" + activity + "' cannot be used: " + error,
          false};
}

}  // namespace detail

std::string ActivityContext::idempotency_key() const {
  const auto& about = call_->about;
  return perdure::idempotency_key(
      {.instance = about.instance_id,
       .incarnation = about.incarnation,
       .execution = about.execution_id,
       .first_attempt = planted(PlantedFault::kRetryChangesKey) ? about.activity_id : about.first_attempt_id});
}

Client ActivityContext::client() const {
  return Client(call_->store);
}

void ActivityContext::trace(LogLevel level, std::string_view message) const {
  if (!call_->logger.enabled(level)) return;
  const auto& about = call_->about;
  const std::string execution = std::to_string(about.execution_id);
  const std::string activity = std::to_string(about.activity_id);
  const std::string version = about.orchestration_version ? about.orchestration_version->to_string() : "";
  std::vector<LogField> fields{{"instance_id", about.instance_id},
                               {"execution_id", execution},
                               {"orchestration_name", about.orchestration_name},
                               {"orchestration_version", version},
                               {"activity_name", about.activity_name},
                               {"activity_id", activity},
                               {"worker_id", about.worker_id}};
  if (about.tag) fields.push_back({"activity_tag", *about.tag});
  call_->logger.log(level, message, fields);
}

}  // namespace perdure
