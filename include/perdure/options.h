// Options of the scheduling calls. Builders, not aggregates: g++ 12 destroys aggregate temporaries twice inside an
// expression with co_await (GCC PR 95599 and relatives).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <perdure/event.h>
#include <perdure/retry.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

class ActivityOptions {
 public:
  ActivityOptions() = default;

  // All activities of a session run on the worker that owns it.
  ActivityOptions& session(std::string session_id);
  // Only workers that serve the tag run it.
  ActivityOptions& tag(std::string tag);
  // Failed attempts are repeated; without it there is one attempt.
  ActivityOptions& retry(RetryPolicy policy);
  // From the start of an attempt to its end; an expiry counts as a failed attempt.
  ActivityOptions& timeout(Milliseconds start_to_close);
  // How long an attempt may wait for a worker. A fetch by a node that dies counts as a start, even if the node has no
  // code for the activity: the timeout then no longer applies, and later fetches count towards max_attempts.
  ActivityOptions& schedule_to_start_timeout(Milliseconds timeout);
  // The longest silence between two heartbeats of a running attempt.
  ActivityOptions& heartbeat_timeout(Milliseconds timeout);

  [[nodiscard]] const std::optional<std::string>& session() const noexcept { return session_; }
  [[nodiscard]] const std::optional<std::string>& tag() const noexcept { return tag_; }
  [[nodiscard]] const std::optional<RetryPolicy>& retry() const noexcept { return retry_; }
  [[nodiscard]] const ActivityTimeouts& timeouts() const noexcept { return timeouts_; }

 private:
  std::optional<std::string> session_;
  std::optional<std::string> tag_;
  std::optional<RetryPolicy> retry_;
  ActivityTimeouts timeouts_;
};

class SubOrchestrationOptions {
 public:
  SubOrchestrationOptions() = default;

  // The child's instance id, used as it is. Without it the engine makes one from the parent's.
  SubOrchestrationOptions& instance_id(std::string id);
  // Without it the registry's policy decides at the child's first turn. Throws std::invalid_argument if not "1.2.3".
  SubOrchestrationOptions& version(std::string_view version);

  [[nodiscard]] const std::optional<std::string>& instance_id() const noexcept { return instance_id_; }
  [[nodiscard]] const std::optional<SemanticVersion>& version() const noexcept { return version_; }

 private:
  std::optional<std::string> instance_id_;
  std::optional<SemanticVersion> version_;
};

// For detached starts and continue-as-new.
class StartOptions {
 public:
  StartOptions() = default;

  // Without it the registry's policy decides when the start is processed. Throws std::invalid_argument if not "1.2.3".
  StartOptions& version(std::string_view version);
  [[nodiscard]] const std::optional<SemanticVersion>& version() const noexcept { return version_; }

 private:
  std::optional<SemanticVersion> version_;
};

}  // namespace perdure
