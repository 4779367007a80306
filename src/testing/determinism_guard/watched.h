// How a function of the C library is watched: a function of the same name in the program, which the dynamic linker
// finds first, reports and forwards to the next one of that name.
#pragma once

#include <atomic>
#include <cstdlib>

#include <dlfcn.h>

#include "testing/determinism_guard/reporting.h"

namespace perdure::testing {

// Whether calls made by libraries come here, which depends on how the program was linked.
[[nodiscard]] bool calls_are_watched();

// The files that define the watched functions. Naming them keeps a static library's linker from leaving them out.
void link_time_functions() noexcept;
void link_random_functions() noexcept;
void link_thread_functions() noexcept;
void link_socket_functions() noexcept;
void link_file_functions() noexcept;
void link_file_system_functions() noexcept;

// The function that would be called without us. Looked up at its first call: that may come before main.
template <class Function>
class NextFunction {
 public:
  // A sanitizer's version of the function, or null. clang links it into the program, where ours hides it from a search
  // for the next one, but it has a second name.
  constexpr NextFunction(const char* name, Function* sanitized) noexcept : name_(name), sanitized_(sanitized) {}

  [[nodiscard]] Function* get() noexcept {
    if (sanitized_) return sanitized_;
    Function* function = found_.load(std::memory_order_relaxed);
    if (function) return function;
    function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    if (!function) std::abort();  // somebody called what this system does not have
    found_.store(function, std::memory_order_relaxed);
    return function;
  }

 private:
  const char* name_;
  Function* sanitized_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace perdure::testing

// Declared under a name of ours and given the real one for the linker: the C library's headers may declare the function
// with attributes, or as another name for a second one, and none of that concerns us.
#define PERDURE_WATCHED_NAME(result, name, parameters)                \
  extern "C" result perdure_watched_##name parameters __asm__(#name); \
  extern "C" __attribute__((weak)) result perdure_sanitized_##name parameters __asm__("__interceptor_" #name);

// PERDURE_WATCH(kClock, int, clock_gettime, (clockid_t clock, timespec* time), (clock, time))
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a list with its own parentheses
#define PERDURE_WATCH(call_class, result, name, parameters, arguments)                                         \
  PERDURE_WATCHED_NAME(result, name, parameters)                                                               \
  result perdure_watched_##name parameters {                                                                   \
    static constinit perdure::testing::NextFunction<result parameters> next(#name, &perdure_sanitized_##name); \
    const perdure::testing::WatchedCall call(#name, perdure::testing::CallClass::call_class,                   \
                                             __builtin_return_address(0));                                     \
    return next.get() arguments;                                                                               \
  }
// NOLINTEND(bugprone-macro-parentheses)
