// Texts of errors: the one place where an error becomes something a person reads.
#include <perdure/error_details.h>

#include "model/names.h"
#include "model/refused_by_store.h"

namespace perdure {

namespace {

std::string_view prefix(ConfigurationErrorKind kind) noexcept {
  switch (kind) {
    case ConfigurationErrorKind::kNondeterminism:
      return "nondeterministic";
    case ConfigurationErrorKind::kCorruptHistory:
      return "corrupt history";
    case ConfigurationErrorKind::kIncompatibleVersion:
      return "incompatible version";
  }
  return "configuration";
}

std::string describe_subject(const PoisonError& error) {
  if (error.subject == PoisonSubject::kActivity) {
    return "activity " + error.activity_name + '#' + std::to_string(error.activity_id);
  }
  return "orchestration " + error.instance;
}

struct Describe {
  std::string operator()(const InfrastructureError& error) const {
    return "infrastructure:" + error.operation + ": " + error.message;
  }

  std::string operator()(const ConfigurationError& error) const {
    std::string text(prefix(error.kind));
    return error.message.empty() ? text + " in " + error.resource : text + ": " + error.message;
  }

  std::string operator()(const ApplicationError& error) const {
    switch (error.kind) {
      case ApplicationErrorKind::kCancelled:
        return "cancelled: " + error.message;
      case ApplicationErrorKind::kTerminated:
        return "terminated: " + error.message;
      case ApplicationErrorKind::kPanicked:
        return "orchestration panicked: " + error.message;
      case ApplicationErrorKind::kActivityFailed:
      case ApplicationErrorKind::kOrchestrationFailed:
      case ApplicationErrorKind::kTimedOut:
      case ApplicationErrorKind::kLimitExceeded:
      case ApplicationErrorKind::kMisuse:
        break;
    }
    return error.message;
  }

  std::string operator()(const PoisonError& error) const {
    const std::string attempts =
        std::to_string(error.attempts) + " attempts (max " + std::to_string(error.max_attempts) + ")";
    const std::string subject = "poison: " + describe_subject(error);
    if (error.subject == PoisonSubject::kUndecodableHistory) {
      return subject + " history deserialization failed after " + attempts + ": " + error.message;
    }
    const std::string text = subject + " exceeded " + attempts;
    const bool names_cause = error.message.starts_with(kRefusedByStore) || error.message.starts_with(kNotRegistered);
    return names_cause ? text + ": " + error.message : text;
  }
};

}  // namespace

std::string_view category(const ErrorDetails& details) noexcept {
  return detail::kErrorCategories[details.index()];
}

bool is_retryable(const ErrorDetails& details) noexcept {
  if (const auto* infrastructure = std::get_if<InfrastructureError>(&details)) return infrastructure->retryable;
  if (const auto* application = std::get_if<ApplicationError>(&details)) return application->retryable;
  return false;
}

std::string describe(const ErrorDetails& details) {
  return std::visit(Describe{}, details);
}

std::string_view to_string(ConfigurationErrorKind kind) noexcept {
  return detail::enum_text(kind);
}
std::string_view to_string(ApplicationErrorKind kind) noexcept {
  return detail::enum_text(kind);
}
std::string_view to_string(PoisonSubject subject) noexcept {
  return detail::enum_text(subject);
}

}  // namespace perdure
