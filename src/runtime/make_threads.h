// Making several threads, or none: the error says which of them the system has no resources for.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include <perdure/types.h>

namespace perdure::runtime {

// How long idle threads may take to end when not all of them could be made.
inline constexpr Milliseconds kEndOfIdleThreads{10'000};

// Calls `make` that often. Throws std::system_error with the purpose and the option that sets the number.
template <class Make>
void make_threads(const char* purpose, const char* option, std::size_t count, const Make& make) {
  for (std::size_t made = 0; made < count; ++made) {
    try {
      make();
    } catch (const std::system_error& error) {
      throw std::system_error(
          error.code(), "cannot create a thread for " + std::string(purpose) + " (" + std::to_string(made) + " of " +
                            std::to_string(count) +
                            " created); raise the limit of threads (ulimit -u, pids.max) or of memory, or lower " +
                            option);
    }
  }
}

}  // namespace perdure::runtime
