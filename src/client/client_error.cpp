#include <perdure/client_error.h>

namespace perdure {

namespace {

ClientErrorKind kind_of(ProviderErrorKind kind) noexcept {
  switch (kind) {
    case ProviderErrorKind::kNotFound:
      return ClientErrorKind::kNotFound;
    case ProviderErrorKind::kAlreadyExists:
      return ClientErrorKind::kAlreadyExists;
    case ProviderErrorKind::kStillRunning:
      return ClientErrorKind::kStillRunning;
    case ProviderErrorKind::kSubOrchestration:
      return ClientErrorKind::kSubOrchestration;
    case ProviderErrorKind::kInvalidArgument:
      return ClientErrorKind::kInvalidInput;
    case ProviderErrorKind::kUnsupported:
      return ClientErrorKind::kNotSupported;
    default:
      return ClientErrorKind::kStore;
  }
}

}  // namespace

std::string_view to_string(ClientErrorKind kind) noexcept {
  switch (kind) {
    case ClientErrorKind::kInvalidInput:
      return "invalid input";
    case ClientErrorKind::kInvalidOutput:
      return "invalid output";
    case ClientErrorKind::kNotFound:
      return "not found";
    case ClientErrorKind::kAlreadyExists:
      return "already exists";
    case ClientErrorKind::kStillRunning:
      return "still running";
    case ClientErrorKind::kSubOrchestration:
      return "sub-orchestration";
    case ClientErrorKind::kTimeout:
      return "timeout";
    case ClientErrorKind::kNotSupported:
      return "not supported";
    case ClientErrorKind::kStore:
      return "store";
  }
  return "unknown";
}

ClientError::ClientError(const ProviderError& error)
    : std::runtime_error(error.to_string()), kind_(kind_of(error.kind())), store_error_(error) {}

}  // namespace perdure
