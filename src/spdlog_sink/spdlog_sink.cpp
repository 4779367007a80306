// Hands records to spdlog as plain text: nothing in them is taken for a format.
#include <perdure/spdlog_sink.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <spdlog/logger.h>

namespace perdure {
namespace {

spdlog::level::level_enum level_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

SpdlogSink::SpdlogSink(std::shared_ptr<spdlog::logger> logger, LogFilter filter)
    : logger_(std::move(logger)), filter_(std::move(filter)) {
  if (!logger_) throw std::invalid_argument("a SpdlogSink needs a logger, not a null pointer");
}

SpdlogSink::~SpdlogSink() = default;

bool SpdlogSink::enabled(LogLevel level, std::string_view target) const {
  return level != LogLevel::kOff && logger_->should_log(level_of(level)) && filter_.enabled(level, target);
}

void SpdlogSink::write(const LogRecord& record) {
  const std::string text = std::string(record.target) + ": " + format_log_text(record);
  logger_->log(level_of(record.level), spdlog::string_view_t(text));
}

}  // namespace perdure
