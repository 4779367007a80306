// The error of everything that reads stored bytes.
#pragma once

#include <stdexcept>

namespace perdure {

// Stored bytes cannot be what they claim to be. The message names the position, the kind and the field.
class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace perdure
