// What the worker dispatcher counts and logs.
#include <algorithm>
#include <string>
#include <vector>

#include <perdure/engine_metrics.h>
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

namespace {

double seconds_between(Timestamp begin, Timestamp end) {
  return static_cast<double>(std::max(end - begin, Milliseconds(0)).count()) / 1'000.0;
}

// Attempts have a limit, but it may be high.
std::string retries_label(std::uint32_t attempt) {
  constexpr std::uint32_t kShown = 10;
  return attempt > kShown ? std::to_string(kShown) + "+" : std::to_string(attempt - 1);
}

}  // namespace

// ---- counting ------------------------------------------------------------------------------------------------------

std::string_view WorkerDispatcher::name_label(const Run& run) {
  return names_.of(run.record.name, resolve_(run.record.name) != nullptr);
}

void WorkerDispatcher::report_start(const Run& run, Timestamp scheduled_at, Timestamp now) {
  if (metrics_.enabled() && run.attempt == 1) {
    metrics_.observe(metric::kActivityQueueTime, {{"activity_name", name_label(run)}},
                     seconds_between(scheduled_at, now));
  }
  tell(LogLevel::kDebug, run, "activity started");
}

void WorkerDispatcher::report(const Run& run, std::string_view outcome, Timestamp now, std::size_t result_bytes) {
  if (metrics_.enabled()) {
    const std::string_view name = name_label(run);
    const std::string_view tag = run.record.tag ? tags_.of(*run.record.tag) : "default";
    metrics_.add(
        metric::kActivityExecutions,
        {{"activity_name", name}, {"outcome", outcome}, {"retry_attempt", retries_label(run.attempt)}, {"tag", tag}});
    metrics_.observe(metric::kActivityDuration, {{"activity_name", name}, {"outcome", outcome}, {"tag", tag}},
                     seconds_between(run.started_at, now));
  }
  if (!logger_.enabled(LogLevel::kDebug)) return;
  tell(LogLevel::kDebug, run, "activity ended",
       {{"outcome", outcome},
        {"duration_ms", std::to_string((now - run.started_at).count())},
        {"result_size", std::to_string(result_bytes)}});
}

// What ended without having run is counted once the store knows: until then it may be fetched again.
void WorkerDispatcher::report_stored(const Run& run) {
  if (run.counted_when_stored == &metric::kActivityTimeouts) {
    report_timeout(run, "schedule_to_start");
  } else if (run.counted_when_stored) {
    metrics_.add(*run.counted_when_stored);
  }
}

void WorkerDispatcher::report_timeout(const Run& run, std::string_view timeout) {
  if (!metrics_.enabled()) return;
  metrics_.add(metric::kActivityTimeouts, {{"activity_name", name_label(run)}, {"timeout", timeout}});
}

void WorkerDispatcher::report_unregistered(const Run& run, Milliseconds delay) {
  metrics_.add(metric::kUnregisteredBackoff, {{"kind", "activity"}});
  metrics_.add(metric::kActivityConfigurationErrors, {{"activity_name", name_label(run)}});
  tell(LogLevel::kWarn, run, "activity not registered on this node; activity abandoned",
       {{"max_attempts", std::to_string(max_attempts_)},
        {"remaining_attempts", std::to_string(max_attempts_ - run.attempt)},
        {"backoff_ms", std::to_string(delay.count())}});
}

void WorkerDispatcher::report_backoff(std::string_view message, const ProviderError& error, Milliseconds rest) const {
  metrics_.add(metric::kStoreBackoff, {{"kind", "activity"}});
  logger_.warn(message,
               {{"worker_id", owner_}, {"error", error.to_string()}, {"retry_after_ms", std::to_string(rest.count())}});
}

void WorkerDispatcher::gauges_read(const worker::Gauges& gauges) const {
  if (gauges.system) metrics_.set(metric::kActiveOrchestrations, {}, static_cast<double>(gauges.system->running));
  if (gauges.queues) {
    metrics_.set(metric::kOrchestratorQueueDepth, {}, static_cast<double>(gauges.queues->messages));
    metrics_.set(metric::kWorkerQueueDepth, {}, static_cast<double>(gauges.queues->activities));
  }
}

// ---- logging -------------------------------------------------------------------------------------------------------

void WorkerDispatcher::tell(LogLevel level, const Run& run, std::string_view message,
                            std::initializer_list<LogField> more) const {
  if (!logger_.enabled(level)) return;
  const std::string execution = std::to_string(run.record.execution.value_or(kFirstExecutionId));
  const std::string activity = std::to_string(run.record.activity_id);
  const std::string attempt = std::to_string(run.attempt);
  const std::string version = run.version ? run.version->to_string() : "";
  std::vector<LogField> fields{{"instance_id", run.record.instance}, {"execution_id", execution}};
  if (!run.orchestration.empty()) fields.push_back({"orchestration_name", run.orchestration});
  if (!version.empty()) fields.push_back({"orchestration_version", version});
  fields.insert(fields.end(), {{"activity_name", run.record.name},
                               {"activity_id", activity},
                               {"worker_id", owner_},
                               {"attempt_count", attempt}});
  if (run.record.tag) fields.push_back({"activity_tag", *run.record.tag});
  fields.insert(fields.end(), more);
  logger_.log(level, message, fields);
}

void WorkerDispatcher::warn(const Run& run, std::string_view message, std::string_view key,
                            const std::string& value) const {
  tell(LogLevel::kWarn, run, message, {{key, value}});
}

}  // namespace perdure::runtime
