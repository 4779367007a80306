#include <perdure/error.h>

#include <variant>

namespace perdure {

std::string Error::to_string() const {
  std::string text = message();
  switch (source_) {
    case Source::kActivity:
      return "activity '" + name_ + "' failed: " + text;
    case Source::kSubOrchestration:
      return "sub-orchestration '" + name_ + "' failed: " + text;
    case Source::kCodec:
      return "the value of '" + name_ + "' cannot be decoded: " + text;
    case Source::kUserCode:
      break;
  }
  return text;
}

bool Error::is(ApplicationErrorKind kind) const noexcept {
  const auto* application = std::get_if<ApplicationError>(&details_);
  return application && application->kind == kind;
}

void Error::raise() const {
  switch (source_) {
    case Source::kActivity:
      throw ActivityError(*this);
    case Source::kSubOrchestration:
      throw SubOrchestrationError(*this);
    case Source::kCodec:
      throw CodecError(*this);
    case Source::kUserCode:
      break;
  }
  throw OrchestrationError(message());
}

}  // namespace perdure
