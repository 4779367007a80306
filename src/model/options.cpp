#include <perdure/options.h>

#include <stdexcept>

namespace perdure {

namespace {

Milliseconds positive(Milliseconds timeout, const char* what) {
  if (timeout <= Milliseconds::zero()) throw std::invalid_argument(std::string(what) + " must be positive");
  return timeout;
}

}  // namespace

ActivityOptions& ActivityOptions::session(std::string session_id) {
  session_ = std::move(session_id);
  return *this;
}
ActivityOptions& ActivityOptions::tag(std::string tag) {
  tag_ = std::move(tag);
  return *this;
}
ActivityOptions& ActivityOptions::retry(RetryPolicy policy) {
  retry_ = policy;
  return *this;
}
ActivityOptions& ActivityOptions::timeout(Milliseconds start_to_close) {
  timeouts_.start_to_close = positive(start_to_close, "an activity's timeout");
  return *this;
}
ActivityOptions& ActivityOptions::schedule_to_start_timeout(Milliseconds timeout) {
  timeouts_.schedule_to_start = positive(timeout, "an activity's schedule-to-start timeout");
  return *this;
}
ActivityOptions& ActivityOptions::heartbeat_timeout(Milliseconds timeout) {
  timeouts_.heartbeat = positive(timeout, "an activity's heartbeat timeout");
  return *this;
}

SubOrchestrationOptions& SubOrchestrationOptions::instance_id(std::string id) {
  instance_id_ = std::move(id);
  return *this;
}
SubOrchestrationOptions& SubOrchestrationOptions::version(std::string_view version) {
  version_ = SemanticVersion::of(version);
  return *this;
}

StartOptions& StartOptions::version(std::string_view version) {
  version_ = SemanticVersion::of(version);
  return *this;
}

}  // namespace perdure
