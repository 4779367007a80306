// The one line that tells of a broken sink.
#include "sink_failure.h"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>

#include "model/utf8.h"

namespace perdure::observe {

namespace {

constexpr std::size_t kShownOfReason = 500;

// The reason is a text of the user's code, so it may hold anything.
std::string printable_reason(const char* reason) noexcept {
  try {
    return detail::printable(reason != nullptr ? reason : "an exception without a text", kShownOfReason);
  } catch (const std::exception&) {
    return {};  // out of memory
  }
}

}  // namespace

void report_sink_failure(SinkKind kind, const char* reason) noexcept {
  static std::atomic_flag log_reported;
  static std::atomic_flag metrics_reported;
  const bool is_log = kind == SinkKind::kLog;
  if ((is_log ? log_reported : metrics_reported).test_and_set()) return;
  (void)std::fprintf(
      stderr,
      "perdure: the %s sink threw: %s; the data passed to it is lost, and its further failures are not reported\n",
      is_log ? "log" : "metrics", printable_reason(reason).c_str());
}

}  // namespace perdure::observe
