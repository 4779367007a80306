#include <perdure/provider_error.h>

namespace perdure {

std::string_view to_string(ProviderErrorKind kind) noexcept {
  switch (kind) {
    case ProviderErrorKind::kNotFound:
      return "not found";
    case ProviderErrorKind::kAlreadyExists:
      return "already exists";
    case ProviderErrorKind::kStillRunning:
      return "still running";
    case ProviderErrorKind::kSubOrchestration:
      return "sub-orchestration";
    case ProviderErrorKind::kChildrenLeftBehind:
      return "children left behind";
    case ProviderErrorKind::kLockLost:
      return "lock lost";
    case ProviderErrorKind::kDuplicateEvent:
      return "duplicate event";
    case ProviderErrorKind::kInvalidArgument:
      return "invalid argument";
    case ProviderErrorKind::kCorruptData:
      return "corrupt data";
    case ProviderErrorKind::kBusy:
      return "busy";
    case ProviderErrorKind::kDiskFull:
      return "disk full";
    case ProviderErrorKind::kUnavailable:
      return "unavailable";
    case ProviderErrorKind::kStoreFailed:
      return "store failed";
    case ProviderErrorKind::kIncompatibleStore:
      return "incompatible store";
    case ProviderErrorKind::kUnsupported:
      return "unsupported";
  }
  return "unknown";
}

bool is_retryable(ProviderErrorKind kind) noexcept {
  return kind == ProviderErrorKind::kBusy || kind == ProviderErrorKind::kDiskFull ||
         kind == ProviderErrorKind::kUnavailable;
}

bool is_data_error(ProviderErrorKind kind) noexcept {
  return kind == ProviderErrorKind::kInvalidArgument || kind == ProviderErrorKind::kAlreadyExists ||
         kind == ProviderErrorKind::kDuplicateEvent;
}

std::string ProviderError::to_string() const {
  return std::string(perdure::to_string(kind_)) + ": " + message_;
}

void ProviderError::raise() const {
  throw ProviderFailure(*this);
}

}  // namespace perdure
