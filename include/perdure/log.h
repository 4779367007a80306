// Structured logging: the record, the sinks that receive it, and the handle that the engine logs through.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/log_level.h>

namespace perdure {

// Where a record comes from. The first two carry what user code logs; the others are the engine's own.
namespace log_target {
inline constexpr std::string_view kOrchestration = "perdure::orchestration";
inline constexpr std::string_view kActivity = "perdure::activity";
inline constexpr std::string_view kRuntime = "perdure::runtime";
inline constexpr std::string_view kWorkerDispatcher = "perdure::runtime::worker";
inline constexpr std::string_view kOrchestrationDispatcher = "perdure::runtime::dispatchers::orchestration";
inline constexpr std::string_view kRegistry = "perdure::runtime::registry";
inline constexpr std::string_view kExecution = "perdure::runtime::execution";
inline constexpr std::string_view kSqlite = "perdure::providers::sqlite";
inline constexpr std::string_view kPostgres = "perdure::providers::postgres";
inline constexpr std::string_view kLog = "perdure::log";
}  // namespace log_target

struct LogField {
  std::string_view key;
  std::string_view value;
};

// Everything here is borrowed and valid only during the call that hands it over; a sink that keeps a record copies it.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string_view target;
  std::string_view message;
  std::span<const LogField> fields;
};

// Asked by a sink at the moment of writing; tests pass a fixed one. Called from any thread.
using LogClock = std::function<std::chrono::system_clock::time_point()>;

// Receives records from any thread at once. The two functions are not noexcept, so that an implementation that throws
// loses its record to the Logger's handler instead of ending the process.
class LogSink {
 public:
  LogSink() = default;
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  virtual ~LogSink() = default;

  // Whether a record is worth building. By default everything but kOff.
  [[nodiscard]] virtual bool enabled(LogLevel level, std::string_view target) const;

  // Called for records that enabled() let through; does not filter again.
  virtual void write(const LogRecord& record) = 0;
};

class NullLogSink final : public LogSink {
 public:
  [[nodiscard]] bool enabled(LogLevel level, std::string_view target) const noexcept override;
  void write(const LogRecord& record) noexcept override;
};

// Thresholds: one for everything, and others for targets. A target's threshold holds for the target itself and for what
// lies below it ("perdure::runtime" covers "perdure::runtime::worker", not "perdure::runtime2"); the longest match
// wins.
class LogFilter {
 public:
  // Warnings and errors of everything, and from kInfo on what user code logs (kOrchestration and kActivity).
  LogFilter();
  // One threshold for everything.
  explicit LogFilter(LogLevel minimum);

  // Sets the threshold of one target; an earlier one for the same target is replaced.
  LogFilter& set(std::string target, LogLevel minimum);

  // Applies a comma list such as "warn,perdure::runtime=debug" on top of what is set. A bare level becomes the
  // threshold of everything and clears every target's threshold that was set before this call, wherever it stands in
  // the list; of two entries for the same thing the later wins; blanks around entries and empty entries are accepted. A
  // bad entry changes nothing. Returns one sentence per bad entry, which names the entry and what to write instead.
  [[nodiscard]] std::vector<std::string> apply(std::string_view directives);

  [[nodiscard]] bool enabled(LogLevel level, std::string_view target) const noexcept;

 private:
  LogLevel minimum_;
  std::vector<std::pair<std::string, LogLevel>> targets_;
};

// kPretty: for people, one field a line. kCompact: one line, key=value. kJson: one JSON object a line.
enum class LogFormat { kPretty, kCompact, kJson };

// The text of a record, ending in a newline. Whatever bytes the record holds, the result is valid UTF-8 without raw
// control characters, so that text from outside can neither forge a record nor drive a terminal; an invalid byte
// sequence becomes U+FFFD. kCompact and kJson are always a single line; in kPretty only the first line of a record is
// not indented.
[[nodiscard]] std::string format_log_record(const LogRecord& record, LogFormat format,
                                            std::chrono::system_clock::time_point time);

// The message and the fields as kCompact has them, without a newline and what stands before the message: for a sink
// that writes time, level and target in its own way.
[[nodiscard]] std::string format_log_text(const LogRecord& record);

// What a StderrLogSink is made from.
class StderrLogOptions {
 public:
  StderrLogOptions();

  StderrLogOptions& format(LogFormat value);
  // Replaces the default filter; the environment still has the last word.
  StderrLogOptions& filter(LogFilter value);
  // The same as filter(LogFilter(value)).
  StderrLogOptions& minimum_level(LogLevel value);
  // The variable whose value is applied to the filter when the sink is made; "" for none. Default "PERDURE_LOG".
  StderrLogOptions& environment_variable(std::string name);
  // Default, and for an empty function: the system clock.
  StderrLogOptions& clock(LogClock value);
  // Default, and for null: stderr. Borrowed: must stay open as long as the sink lives.
  StderrLogOptions& stream(std::FILE* value);

 private:
  friend class StderrLogSink;

  LogFormat format_ = LogFormat::kCompact;
  LogFilter filter_;
  std::string environment_variable_;
  LogClock clock_;
  std::FILE* stream_;
};

// Writes each record with one call, so that records of several threads do not mix. Bad entries in the environment
// variable are reported by one warning when the sink is made, whatever the filter says, and otherwise ignored.
class StderrLogSink final : public LogSink {
 public:
  explicit StderrLogSink(StderrLogOptions options = {});

  [[nodiscard]] bool enabled(LogLevel level, std::string_view target) const noexcept override;
  void write(const LogRecord& record) override;

 private:
  void apply_environment();

  StderrLogOptions options_;  // not changed after construction, so it is read without a lock
};

// A record that owns its text.
struct CapturedLogRecord {
  std::chrono::system_clock::time_point time;
  LogLevel level = LogLevel::kInfo;
  std::string target;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;

  // The value of the first field of that name.
  [[nodiscard]] std::optional<std::string> field(std::string_view key) const;

  bool operator==(const CapturedLogRecord&) const = default;
};

// Keeps records for a test to look at. Thread-safe; what is returned is a copy.
class CapturingLogSink final : public LogSink {
 public:
  static constexpr std::size_t kDefaultCapacity = 100'000;

  // Keeps records from `minimum` on. When `capacity` records are held, each new one pushes out the oldest.
  explicit CapturingLogSink(LogLevel minimum = LogLevel::kTrace, std::size_t capacity = kDefaultCapacity,
                            LogClock clock = {});
  ~CapturingLogSink() override;

  [[nodiscard]] bool enabled(LogLevel level, std::string_view target) const noexcept override;
  void write(const LogRecord& record) override;

  [[nodiscard]] std::vector<CapturedLogRecord> records() const;
  // Records whose message or one of whose field values contains `text`.
  [[nodiscard]] std::vector<CapturedLogRecord> find(std::string_view text) const;
  [[nodiscard]] std::size_t count(LogLevel level) const;
  // How many records were pushed out since the start or the last clear().
  [[nodiscard]] std::uint64_t dropped() const;
  void clear();

 private:
  struct State;

  LogLevel minimum_;
  std::size_t capacity_;
  LogClock clock_;
  std::unique_ptr<State> state_;
};

// What the engine logs through: a sink and a target, cheap to copy, usable from any thread. Nothing here throws: a
// record whose sink throws is dropped, and the first such failure in the process is reported on stderr. A sink that
// logs to itself is cut off after a few levels.
class Logger {
 public:
  // Logs nothing.
  Logger() = default;
  // `target` is not copied: pass a literal or a constant of log_target. A null sink logs nothing.
  explicit Logger(std::shared_ptr<LogSink> sink, std::string_view target = log_target::kRuntime) noexcept
      : sink_(std::move(sink)), target_(target) {}

  // The same sink under another target, which is not copied either.
  [[nodiscard]] Logger with_target(std::string_view target) const noexcept { return Logger(sink_, target); }

  // Ask before building expensive fields; the functions below ask for themselves.
  [[nodiscard]] bool enabled(LogLevel level) const noexcept;

  void log(LogLevel level, std::string_view message, std::span<const LogField> fields) const noexcept;
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) const noexcept;

  void trace(std::string_view message, std::initializer_list<LogField> fields = {}) const noexcept;
  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const noexcept;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const noexcept;
  void warn(std::string_view message, std::initializer_list<LogField> fields = {}) const noexcept;
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const noexcept;

 private:
  std::shared_ptr<LogSink> sink_;
  std::string_view target_ = log_target::kRuntime;
};

}  // namespace perdure
