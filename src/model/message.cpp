// Names of messages.
#include <perdure/message.h>

#include "model/names.h"

namespace perdure {

std::string_view kind_name(const MessageBody& body) noexcept {
  return detail::kMessageKinds[body.index()];
}

}  // namespace perdure
