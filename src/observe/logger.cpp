// The handle that the engine logs through, and the parts of LogSink that are not a sink of their own.
#include <perdure/log.h>
#include "sink_failure.h"

namespace perdure {
namespace {

// A sink may log through another Logger (a tee, a fallback), but one that comes back to itself would use up the stack.
constexpr int kMaxNestedWrites = 4;

thread_local int nested_writes = 0;

class NestedWrite {
 public:
  NestedWrite() noexcept { ++nested_writes; }
  NestedWrite(const NestedWrite&) = delete;
  NestedWrite& operator=(const NestedWrite&) = delete;
  ~NestedWrite() { --nested_writes; }
};

}  // namespace

bool LogSink::enabled(LogLevel level, std::string_view /*target*/) const {
  return level != LogLevel::kOff;
}

bool NullLogSink::enabled(LogLevel /*level*/, std::string_view /*target*/) const noexcept {
  return false;
}

void NullLogSink::write(const LogRecord& /*record*/) noexcept {}

bool Logger::enabled(LogLevel level) const noexcept {
  if (sink_ == nullptr || level == LogLevel::kOff) return false;
  bool enabled = false;
  observe::contain_sink_failure(observe::SinkKind::kLog, [&] { enabled = sink_->enabled(level, target_); });
  return enabled;
}

void Logger::log(LogLevel level, std::string_view message, std::span<const LogField> fields) const noexcept {
  if (nested_writes >= kMaxNestedWrites) return;
  const NestedWrite nested;
  if (!enabled(level)) return;
  observe::contain_sink_failure(observe::SinkKind::kLog, [&] { sink_->write({level, target_, message, fields}); });
}

void Logger::log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const noexcept {
  log(level, message, std::span<const LogField>(fields.begin(), fields.size()));
}

void Logger::trace(std::string_view message, std::initializer_list<LogField> fields) const noexcept {
  log(LogLevel::kTrace, message, fields);
}

void Logger::debug(std::string_view message, std::initializer_list<LogField> fields) const noexcept {
  log(LogLevel::kDebug, message, fields);
}

void Logger::info(std::string_view message, std::initializer_list<LogField> fields) const noexcept {
  log(LogLevel::kInfo, message, fields);
}

void Logger::warn(std::string_view message, std::initializer_list<LogField> fields) const noexcept {
  log(LogLevel::kWarn, message, fields);
}

void Logger::error(std::string_view message, std::initializer_list<LogField> fields) const noexcept {
  log(LogLevel::kError, message, fields);
}

}  // namespace perdure
