// Makes the text of an error storable: errors come from user code, and events are JSON.
#pragma once

#include <cstddef>
#include <string>

#include <perdure/error_details.h>

namespace perdure {

// Returns `text` as valid UTF-8 with at most `limit` bytes of it. A note at the end says what was changed.
[[nodiscard]] std::string storable_error_text(std::string text, std::size_t limit);

// The same for the message of an error of any category.
[[nodiscard]] ErrorDetails with_storable_text(ErrorDetails error, std::size_t limit);

}  // namespace perdure
