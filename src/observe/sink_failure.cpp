// The one line that tells of a broken sink.
#include "sink_failure.h"

#include <atomic>
#include <cstdio>

namespace perdure::observe {

void report_sink_failure(SinkKind kind, const char* reason) noexcept {
  static std::atomic_flag log_reported;
  static std::atomic_flag metrics_reported;
  const bool is_log = kind == SinkKind::kLog;
  if ((is_log ? log_reported : metrics_reported).test_and_set()) return;
  (void)std::fprintf(
      stderr,
      "perdure: the %s sink threw: %.500s. What it was given is dropped; the engine goes on, and further "
      "failures of the sink are not reported.\n",
      is_log ? "log" : "metrics", reason);
}

}  // namespace perdure::observe
