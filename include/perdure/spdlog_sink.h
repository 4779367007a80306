// Logs of the engine into a logger of spdlog. Needs the component perdure::spdlog.
//
//   options.logger = perdure::Logger(std::make_shared<perdure::SpdlogSink>(spdlog::default_logger()));
#pragma once

#include <memory>
#include <string_view>

#include <perdure/log.h>

namespace spdlog {
class logger;
}  // namespace spdlog

namespace perdure {

// Time, level and layout are spdlog's. The text of a record is its target, its message and its fields:
//
//   perdure::runtime::worker: an activity failed instance_id=order-42 activity_name=Charge error="card refused"
//
// What a sink of spdlog throws goes to the error handler of the logger, as with all that is logged there.
class SpdlogSink final : public LogSink {
 public:
  // Records pass if both the logger's level and the filter let them. Without a filter the logger's level decides alone.
  // Throws std::invalid_argument for a null logger.
  explicit SpdlogSink(std::shared_ptr<spdlog::logger> logger, LogFilter filter = LogFilter(LogLevel::kTrace));
  ~SpdlogSink() override;

  [[nodiscard]] bool enabled(LogLevel level, std::string_view target) const override;
  void write(const LogRecord& record) override;

 private:
  std::shared_ptr<spdlog::logger> logger_;
  LogFilter filter_;
};

}  // namespace perdure
