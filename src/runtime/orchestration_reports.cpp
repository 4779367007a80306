// What the orchestration dispatcher counts and logs of turns that were committed.
#include <string>

#include "runtime/orchestration_dispatcher.h"

namespace perdure::runtime {

void OrchestrationDispatcher::report(const TurnReport& turn) const {
  if (turn.began) {
    const char* initiated_by =
        turn.execution > kFirstExecutionId ? "continueAsNew" : (turn.has_parent ? "suborchestration" : "client");
    metrics_.add(metric::kOrchestrationStarts,
                 {{"orchestration_name", turn.name}, {"version", turn.version}, {"initiated_by", initiated_by}});
  }
  if (turn.status != ExecutionStatus::kRunning) report_end(turn);
}

void OrchestrationDispatcher::report_end(const TurnReport& turn) const {
  const bool continued = turn.status == ExecutionStatus::kContinuedAsNew;
  const char* status = turn.error ? "failed" : (continued ? "continuedAsNew" : "success");
  const char* turns = turn.turns <= 5 ? "1-5" : turn.turns <= 10 ? "6-10" : turn.turns <= 50 ? "11-50" : "50+";
  metrics_.add(
      metric::kOrchestrationCompletions,
      {{"orchestration_name", turn.name}, {"version", turn.version}, {"status", status}, {"final_turn_count", turns}});
  metrics_.observe(metric::kOrchestrationDuration,
                   {{"orchestration_name", turn.name}, {"version", turn.version}, {"status", status}},
                   static_cast<double>((turn.now - turn.started_at).count()) / 1'000.0);
  metrics_.observe(metric::kOrchestrationTurns, {{"orchestration_name", turn.name}}, static_cast<double>(turn.turns));
  metrics_.observe(metric::kOrchestrationHistorySize, {{"orchestration_name", turn.name}},
                   static_cast<double>(turn.events));
  if (turn.poisoned) metrics_.add(metric::kOrchestrationPoison);
  if (continued) metrics_.add(metric::kOrchestrationContinueAsNew, {{"orchestration_name", turn.name}});
  if (!turn.error) return;
  const std::string_view category = perdure::category(*turn.error);
  const bool application = std::holds_alternative<ApplicationError>(*turn.error);
  metrics_.add(metric::kOrchestrationFailures,
               {{"orchestration_name", turn.name},
                {"version", turn.version},
                {"error_type", application ? "app_error" : std::string(category) + "_error"},
                {"error_category", category}});
  if (std::holds_alternative<InfrastructureError>(*turn.error)) {
    metrics_.add(metric::kOrchestrationInfrastructureErrors,
                 {{"orchestration_name", turn.name}, {"error_category", category}});
  }
  if (std::holds_alternative<ConfigurationError>(*turn.error)) {
    metrics_.add(metric::kOrchestrationConfigurationErrors,
                 {{"orchestration_name", turn.name}, {"error_category", category}});
  }
  logger_.log(application ? LogLevel::kWarn : LogLevel::kError, "an orchestration failed",
              {{"instance_id", turn.instance},
               {"orchestration_name", turn.name},
               {"orchestration_version", turn.version},
               {"error_category", category},
               {"error", describe(*turn.error)}});
}

}  // namespace perdure::runtime
