// Names of functions as people read them.
#pragma once

#include <string>
#include <string_view>

namespace perdure::testing {

// The name as in the source, for a mangled one; what is not mangled stays as it is. The body of a coroutine gets the
// name of the coroutine, whatever the compiler made of it.
[[nodiscard]] std::string readable_name(const std::string& mangled);

// Whether it is a function of the standard library, also one that was made from a template in the user's program.
[[nodiscard]] bool is_standard_library(std::string_view mangled) noexcept;
// Whether it belongs to the runtime of a sanitizer that was linked into the program.
[[nodiscard]] bool is_sanitizer(std::string_view mangled) noexcept;
// Whether it is the part of the engine that calls into the user's code.
[[nodiscard]] bool is_engine_entry(std::string_view mangled) noexcept;

}  // namespace perdure::testing
