// A process beside the test, with a store of its own on the same file; see sqlite_child.cpp for what it can be told.
#pragma once

#include <string>

#include <perdure/testing/provider_validation.h>
#include "support/child_process.h"

namespace perdure::testing {

class ChildProcess : public test::ChildProcess {
 public:
  // Returns when its store is open. Throws ValidationFailure.
  explicit ChildProcess(const std::string& store) : test::ChildProcess({PERDURE_SQLITE_CHILD, store}) {
    if (const std::string first = answer(); first != "ready") throw ValidationFailure("the child said: " + first);
  }
};

}  // namespace perdure::testing
