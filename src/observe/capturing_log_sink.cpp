// The sink that tests read back.
#include <algorithm>
#include <deque>

#include <perdure/log.h>
#include "guarded.h"

namespace perdure {
namespace {

struct Kept {
  std::deque<CapturedLogRecord> records;  // oldest first
  std::uint64_t dropped = 0;
};

bool contains(const CapturedLogRecord& record, std::string_view text) {
  if (record.message.find(text) != std::string::npos) return true;
  return std::ranges::any_of(record.fields,
                             [&](const auto& field) { return field.second.find(text) != std::string::npos; });
}

}  // namespace

struct CapturingLogSink::State {
  observe::Guarded<Kept> kept;
};

std::optional<std::string> CapturedLogRecord::field(std::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return value;
  }
  return std::nullopt;
}

CapturingLogSink::CapturingLogSink(LogLevel minimum, std::size_t capacity, LogClock clock)
    : minimum_(minimum),
      capacity_(capacity),
      clock_(clock ? std::move(clock) : LogClock(&std::chrono::system_clock::now)),
      state_(std::make_unique<State>()) {}

CapturingLogSink::~CapturingLogSink() = default;

bool CapturingLogSink::enabled(LogLevel level, std::string_view /*target*/) const noexcept {
  return level != LogLevel::kOff && level >= minimum_;
}

void CapturingLogSink::write(const LogRecord& record) {
  CapturedLogRecord copy{clock_(), record.level, std::string(record.target), std::string(record.message), {}};
  copy.fields.reserve(record.fields.size());
  for (const LogField& field : record.fields) copy.fields.emplace_back(field.key, field.value);

  const auto kept = state_->kept.lock();
  kept->records.push_back(std::move(copy));
  if (kept->records.size() > capacity_) {
    kept->records.pop_front();
    ++kept->dropped;
  }
}

std::vector<CapturedLogRecord> CapturingLogSink::records() const {
  const auto kept = state_->kept.lock();
  return {kept->records.begin(), kept->records.end()};
}

std::vector<CapturedLogRecord> CapturingLogSink::find(std::string_view text) const {
  std::vector<CapturedLogRecord> found = records();
  std::erase_if(found, [&](const CapturedLogRecord& record) { return !contains(record, text); });
  return found;
}

std::size_t CapturingLogSink::count(LogLevel level) const {
  const auto kept = state_->kept.lock();
  return static_cast<std::size_t>(std::ranges::count(kept->records, level, &CapturedLogRecord::level));
}

std::uint64_t CapturingLogSink::dropped() const {
  return state_->kept.lock()->dropped;
}

void CapturingLogSink::clear() {
  *state_->kept.lock() = Kept{};
}

}  // namespace perdure
