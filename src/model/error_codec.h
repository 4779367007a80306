// An error by itself as bytes: the stored output of an execution that failed.
#pragma once

#include <string>
#include <string_view>

#include <perdure/error_details.h>
#include "model/decode_error.h"

namespace perdure {

[[nodiscard]] std::string encode_error(const ErrorDetails& error);
// Throws DecodeError.
[[nodiscard]] ErrorDetails decode_error(std::string_view bytes);

}  // namespace perdure
