// Calls that workflow code must not make, each in a function of its own, whose name must then appear as the place.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <perdure/testing/determinism_guard.h>

namespace perdure::test {

using perdure::testing::CallClass;

struct ForbiddenCall {
  const char* place;     // the function below that makes the call
  const char* function;  // what it calls in the end
  CallClass call_class;
  void (*make)();
};

// Everything that is watched and can be called without harm.
[[nodiscard]] std::span<const ForbiddenCall> forbidden_calls();

// Two of them that tests use by name.
void reads_system_clock();
void draws_from_random_device();

}  // namespace perdure::test
