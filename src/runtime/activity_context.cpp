#include <perdure/activity_context.h>

#include <mutex>

#include <perdure/activity_handler.h>
#include <perdure/client.h>

namespace perdure {

namespace detail {

struct ActivityCall::State {
  std::mutex mutex;
  OnEnd on_end;  // empty once the call has ended
};

ActivityCall::ActivityCall(About the_call, std::shared_ptr<Provider> the_store, Logger the_logger, OnEnd on_end)
    : about(std::move(the_call)),
      store(std::move(the_store)),
      logger(std::move(the_logger)),
      state_(std::make_unique<State>()) {
  state_->on_end = std::move(on_end);
}

ActivityCall::~ActivityCall() = default;

bool ActivityCall::end(ActivityOutcome outcome) noexcept {
  OnEnd on_end;
  {
    const std::lock_guard lock(state_->mutex);
    on_end.swap(state_->on_end);
  }
  if (!on_end) return false;
  on_end(std::move(outcome));
  return true;
}

bool ActivityCall::ended() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return !state_->on_end;
}

ApplicationError activity_error_from_current_exception() noexcept {
  try {
    throw;
  } catch (const NonRetryableError& error) {
    return {ApplicationErrorKind::kActivityFailed, error.what(), false};
  } catch (const std::exception& error) {
    return {ApplicationErrorKind::kActivityFailed, error.what(), true};
  } catch (...) {
    return {ApplicationErrorKind::kActivityFailed, "the activity threw something that is not a std::exception", true};
  }
}

ApplicationError undecodable_activity_input(const std::string& activity, const std::exception& error) {
  return {ApplicationErrorKind::kActivityFailed,
          "the input of activity '" + activity + "' cannot be used: " + error.what(), false};
}

}  // namespace detail

Client ActivityContext::client() const {
  return Client(call_->store);
}

void ActivityContext::trace(LogLevel level, std::string_view message) const {
  if (!call_->logger.enabled(level)) return;
  const auto& about = call_->about;
  const std::string execution = std::to_string(about.execution_id);
  const std::string activity = std::to_string(about.activity_id);
  const std::string version = about.orchestration_version ? about.orchestration_version->to_string() : "";
  call_->logger.log(level, message,
                    {{"instance_id", about.instance_id},
                     {"execution_id", execution},
                     {"orchestration_name", about.orchestration_name},
                     {"orchestration_version", version},
                     {"activity_name", about.activity_name},
                     {"activity_id", activity},
                     {"worker_id", about.worker_id}});
}

}  // namespace perdure
