// What the orchestration dispatcher counts and logs. Turns are counted when they are committed, so that one which is
// replayed, or whose commit is repeated, counts once.
#include <string>
#include <vector>

#include <perdure/engine_metrics.h>
#include "runtime/orchestration_dispatcher.h"

namespace perdure::runtime {

namespace {

double in_seconds(Milliseconds time) {
  return static_cast<double>(time.count()) / 1'000.0;
}

std::string_view label_of(IgnoreReason reason) noexcept {
  switch (reason) {
    case IgnoreReason::kOtherExecution:
      return "other_execution";
    case IgnoreReason::kDuplicate:
      return "duplicate";
    case IgnoreReason::kAlreadyStarted:
      return "already_started";
    case IgnoreReason::kAlreadyCancelled:
      return "already_cancelled";
    case IgnoreReason::kForeignLink:
      return "foreign_link";
    case IgnoreReason::kExecutionEnded:
      return "execution_ended";
    case IgnoreReason::kNotStarted:
      return "not_started";
    case IgnoreReason::kNotForOrchestrations:
      return "not_for_orchestrations";
    case IgnoreReason::kNobodyWaits:
      break;
  }
  return "nobody_waits";
}

// A divergence is described by events with their payloads, which are not for logs: its first line is. All of it is in
// the status of the instance.
std::string loggable(const ErrorDetails& error) {
  const std::string text = describe(error);
  const bool with_events = std::holds_alternative<ConfigurationError>(error) && text.find('\n') != std::string::npos;
  return with_events ? text.substr(0, text.find('\n')) + " (the instance status has the whole report)" : text;
}

}  // namespace

// ---- turns ---------------------------------------------------------------------------------------------------------

// An execution that begins cannot be in the cache, and one that has ended is not looked for there.
void OrchestrationDispatcher::report_lookup(const Job& job) const {
  const bool goes_on =
      job.basis.last_event_id > 0 && job.basis.metadata && job.basis.metadata->status == ExecutionStatus::kRunning;
  if (!cache_.enabled() || !goes_on) return;
  metrics_.add(job.task.kept ? metric::kCacheHits : metric::kCacheMisses);
}

void OrchestrationDispatcher::report_committed(const Job& job) {
  if (metrics_.enabled()) {
    const std::chrono::duration<double> latency = std::chrono::steady_clock::now() - job.decided_at;
    metrics_.observe(metric::kCommitLatency, {}, latency.count());
  }
  const TurnReport* turn = job.decision.report ? &*job.decision.report : nullptr;
  if (turn && turn->began) report_start(*turn);
  if (metrics_.enabled()) report_counts(turn, job.decision.counts);
  if (turn && turn->status != ExecutionStatus::kRunning) report_end(*turn);
}

void OrchestrationDispatcher::report_counts(const TurnReport* turn, const TurnCounts& counts) {
  for (const IgnoreReason reason : counts.ignored) {
    metrics_.add(metric::kMessagesIgnored, {{"reason", label_of(reason)}});
  }
  if (!turn) return;
  const std::string_view name = names_.of(turn->name, turn->registered);
  for (const std::string& activity : counts.activities) {
    metrics_.add(metric::kActivitiesScheduled, {{"activity_name", activities_.of(activity)}});
  }
  for (const std::string& activity : counts.retried) {
    metrics_.add(metric::kActivityRetries, {{"activity_name", activities_.of(activity)}});
  }
  for (const std::string& child : counts.children) {
    metrics_.add(metric::kSubOrchestrationCalls,
                 {{"parent_orchestration", name}, {"child_orchestration", names_.of(child)}});
  }
  if (counts.timers > 0) metrics_.add(metric::kTimersScheduled, {{"orchestration_name", name}}, counts.timers);
  if (!counts.fired.empty()) {
    metrics_.add(metric::kTimersFired, {{"orchestration_name", name}}, counts.fired.size());
  }
  for (const Milliseconds late : counts.fired) metrics_.observe(metric::kTimerLag, {}, in_seconds(late));
  if (counts.events > 0) metrics_.add(metric::kEventsReceived, {{"kind", "event"}}, counts.events);
  if (counts.queue_messages > 0) metrics_.add(metric::kEventsReceived, {{"kind", "queue"}}, counts.queue_messages);
}

// ---- executions ----------------------------------------------------------------------------------------------------

void OrchestrationDispatcher::report_start(const TurnReport& turn) {
  const char* initiated_by =
      turn.execution > kFirstExecutionId ? "continueAsNew" : (turn.has_parent ? "suborchestration" : "client");
  metrics_.add(metric::kOrchestrationStarts, {{"orchestration_name", names_.of(turn.name, turn.registered)},
                                              {"version", versions_.of(turn.version, turn.registered)},
                                              {"initiated_by", initiated_by}});
  if (!logger_.enabled(LogLevel::kDebug)) return;
  logger_.debug("orchestration started", {{"instance_id", turn.instance},
                                          {"execution_id", std::to_string(turn.execution)},
                                          {"orchestration_name", turn.name},
                                          {"orchestration_version", turn.version},
                                          {"worker_id", owner_},
                                          {"initiated_by", initiated_by}});
}

void OrchestrationDispatcher::report_end(const TurnReport& turn) {
  const bool continued = turn.status == ExecutionStatus::kContinuedAsNew;
  const char* status = turn.error ? "failed" : (continued ? "continuedAsNew" : "success");
  const char* turns = turn.turns <= 5 ? "1-5" : turn.turns <= 10 ? "6-10" : turn.turns <= 50 ? "11-50" : "50+";
  const std::string_view name = names_.of(turn.name, turn.registered);
  const std::string_view version = versions_.of(turn.version, turn.registered);
  const double seconds = in_seconds(turn.now - turn.started_at);
  metrics_.add(metric::kOrchestrationCompletions,
               {{"orchestration_name", name}, {"version", version}, {"status", status}, {"final_turn_count", turns}});
  metrics_.observe(metric::kOrchestrationDuration,
                   {{"orchestration_name", name}, {"version", version}, {"status", status}}, seconds);
  metrics_.observe(metric::kOrchestrationTurns, {{"orchestration_name", name}}, static_cast<double>(turn.turns));
  metrics_.observe(metric::kOrchestrationHistorySize, {{"orchestration_name", name}}, static_cast<double>(turn.events));
  if (turn.poisoned) metrics_.add(metric::kOrchestrationPoison);
  if (continued) metrics_.add(metric::kOrchestrationContinueAsNew, {{"orchestration_name", name}});
  if (turn.has_parent && !continued) {
    metrics_.observe(metric::kSubOrchestrationDuration, {{"child_orchestration", name}, {"outcome", status}}, seconds);
  }
  if (turn.error) return report_failure(turn, name, version);
  if (!logger_.enabled(LogLevel::kDebug)) return;
  logger_.debug(continued ? "orchestration continued as new" : "orchestration completed",
                {{"instance_id", turn.instance},
                 {"execution_id", std::to_string(turn.execution)},
                 {"orchestration_name", turn.name},
                 {"orchestration_version", turn.version},
                 {"worker_id", owner_},
                 {"turns", std::to_string(turn.turns)},
                 {"events", std::to_string(turn.events)},
                 {"duration_ms", std::to_string((turn.now - turn.started_at).count())}});
}

void OrchestrationDispatcher::report_failure(const TurnReport& turn, std::string_view name,
                                             std::string_view version) const {
  const std::string_view category = perdure::category(*turn.error);
  const bool application = std::holds_alternative<ApplicationError>(*turn.error);
  metrics_.add(metric::kOrchestrationFailures,
               {{"orchestration_name", name},
                {"version", version},
                {"error_type", application ? "app_error" : std::string(category) + "_error"},
                {"error_category", category}});
  if (std::holds_alternative<InfrastructureError>(*turn.error)) {
    metrics_.add(metric::kOrchestrationInfrastructureErrors,
                 {{"orchestration_name", name}, {"error_category", category}});
  }
  if (std::holds_alternative<ConfigurationError>(*turn.error)) {
    metrics_.add(metric::kOrchestrationConfigurationErrors,
                 {{"orchestration_name", name}, {"error_category", category}});
  }
  logger_.log(application ? LogLevel::kWarn : LogLevel::kError, "orchestration failed",
              {{"instance_id", turn.instance},
               {"execution_id", std::to_string(turn.execution)},
               {"orchestration_name", turn.name},
               {"orchestration_version", turn.version},
               {"worker_id", owner_},
               {"error_category", category},
               {"error", loggable(*turn.error)}});
}

// ---- what went wrong, and what is kept -----------------------------------------------------------------------------

// Under a kept lock nobody was sure of it: the instance was deleted, or the lock ran out. The completions go through
// their queue.
void OrchestrationDispatcher::report_lost(const Job& job, const ProviderError& error, bool kept_lock) const {
  const bool lost = error.kind() == ProviderErrorKind::kLockLost;
  metrics_.add(metric::kCommitFailures, {{"error_type", to_string(error.kind())}});
  if (lost) metrics_.add(metric::kLocksLost, {{"kind", "orchestration"}});
  if (lost && kept_lock) {
    tell(LogLevel::kDebug, job, "retained lock lost before the turn was committed");
  } else {
    tell(LogLevel::kWarn, job, "committing the turn failed", {"error", error.to_string()});
  }
}

void OrchestrationDispatcher::report_cache() const {
  if (!cache_.enabled()) return;
  metrics_.set(metric::kCachedExecutions, {}, static_cast<double>(cache_.size()));
  metrics_.set(metric::kCachedBytes, {}, static_cast<double>(cache_.bytes()));
}

void OrchestrationDispatcher::tell(LogLevel level, const Job& job, std::string_view message,
                                   const LogField& more) const {
  if (!logger_.enabled(level)) return;
  const std::string execution = std::to_string(job.basis.execution_id);
  const std::string version =
      job.basis.metadata && job.basis.metadata->version ? job.basis.metadata->version->to_string() : "";
  std::vector<LogField> fields{{"instance_id", job.instance}, {"execution_id", execution}};
  if (job.basis.metadata) fields.push_back({"orchestration_name", job.basis.metadata->name});
  if (!version.empty()) fields.push_back({"orchestration_version", version});
  fields.push_back({"worker_id", owner_});
  if (!more.key.empty()) fields.push_back(more);
  logger_.log(level, message, fields);
}

}  // namespace perdure::runtime
