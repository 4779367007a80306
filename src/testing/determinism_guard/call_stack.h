// CallStack: where a watched call was made.
#pragma once

#include <string>
#include <vector>

namespace perdure::testing {

struct CallStack {
  // Innermost first, from the user's code up to the engine; with all that there is when neither can be told.
  std::vector<std::string> lines;
  // The call was made by a memory allocator or a sanitizer, for its own purposes. Any allocation may lead there.
  bool made_by_allocator = false;
};

// Of the calling thread; `return_address` is that of the watched function, and what lies inside of it is left out.
[[nodiscard]] CallStack stack_of_call(const void* return_address);

}  // namespace perdure::testing
