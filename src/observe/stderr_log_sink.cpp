// The default sink: lines on stderr, filtered by options and environment.
#include <array>
#include <cstdlib>

#include <perdure/log.h>

namespace perdure {

StderrLogOptions::StderrLogOptions()
    : environment_variable_("PERDURE_LOG"), clock_(&std::chrono::system_clock::now), stream_(stderr) {}

StderrLogOptions& StderrLogOptions::format(LogFormat value) {
  format_ = value;
  return *this;
}

StderrLogOptions& StderrLogOptions::filter(LogFilter value) {
  filter_ = std::move(value);
  return *this;
}

StderrLogOptions& StderrLogOptions::minimum_level(LogLevel value) {
  return filter(LogFilter(value));
}

StderrLogOptions& StderrLogOptions::environment_variable(std::string name) {
  environment_variable_ = std::move(name);
  return *this;
}

StderrLogOptions& StderrLogOptions::clock(LogClock value) {
  clock_ = value ? std::move(value) : LogClock(&std::chrono::system_clock::now);
  return *this;
}

StderrLogOptions& StderrLogOptions::stream(std::FILE* value) {
  stream_ = value != nullptr ? value : stderr;
  return *this;
}

StderrLogSink::StderrLogSink(StderrLogOptions options) : options_(std::move(options)) {
  if (!options_.environment_variable_.empty()) apply_environment();
}

void StderrLogSink::apply_environment() {
  // Only here and never later, so that a program which changes its environment while it runs does not race with us.
  const char* value = std::getenv(options_.environment_variable_.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr) return;
  std::string problems;
  for (const std::string& problem : options_.filter_.apply(value)) problems += (problems.empty() ? "" : "; ") + problem;
  if (problems.empty()) return;
  const std::array<LogField, 3> fields{{{"variable", options_.environment_variable_},
                                        {"problems", problems},
                                        {"example", "warn,perdure::runtime=debug"}}};
  write({LogLevel::kWarn, log_target::kLog, "ignoring invalid entries of the log filter", fields});
}

bool StderrLogSink::enabled(LogLevel level, std::string_view target) const noexcept {
  return options_.filter_.enabled(level, target);
}

void StderrLogSink::write(const LogRecord& record) {
  const std::string line = format_log_record(record, options_.format_, options_.clock_());
  // stdio locks the stream for the length of the call. A failed write has nowhere to be reported.
  (void)std::fwrite(line.data(), 1, line.size(), options_.stream_);
}

}  // namespace perdure
