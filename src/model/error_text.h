// Makes the text of an error storable: errors come from user code, and events are JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <perdure/error_details.h>

namespace perdure {

// Returns `text` as valid UTF-8 with at most `limit` bytes of it. Notes at the end say what was changed. The same limit
// leaves the returned text as it is.
[[nodiscard]] std::string storable_error_text(std::string_view text, std::size_t limit);

// Whether some limit makes `stored` out of `text`, which may have been cut at a greater one itself.
[[nodiscard]] bool is_stored_form(std::string_view stored, std::string_view text);

// The same as storable_error_text for the message of an error of any category.
[[nodiscard]] ErrorDetails with_storable_text(ErrorDetails error, std::size_t limit);

}  // namespace perdure
