// Runs a call into a user's sink so that nothing it throws gets out.
#pragma once

#include <exception>

namespace perdure::observe {

enum class SinkKind { kLog, kMetrics };

// Prints one line on stderr for the first failure of each kind in the process and nothing afterwards: a broken sink
// should be noticed, but must not fill the disk. stderr, because the place where this would be logged is what broke.
void report_sink_failure(SinkKind kind, const char* reason) noexcept;

template <typename Call>
void contain_sink_failure(SinkKind kind, const Call& call) noexcept {
  try {
    call();
  } catch (const std::exception& error) {
    const char* reason = error.what();
    report_sink_failure(kind, reason != nullptr ? reason : "an exception whose what() returns null");
  } catch (...) {
    report_sink_failure(kind, "an exception that is not a std::exception");
  }
}

}  // namespace perdure::observe
