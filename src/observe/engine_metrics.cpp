// The list of the engine's metrics.
#include <perdure/metrics.h>

namespace perdure::metric {
namespace {

constexpr std::array kAll{
    kOrchestrationStarts,
    kOrchestrationCompletions,
    kOrchestrationFailures,
    kOrchestrationDuration,
    kOrchestrationTurns,
    kOrchestrationHistorySize,
    kOrchestrationInfrastructureErrors,
    kOrchestrationConfigurationErrors,
    kOrchestrationContinueAsNew,
    kOrchestrationPoison,
    kOrchestrationIncompatibleVersionAbandoned,
    kOrphanMessagesDropped,
    kUnregisteredBackoff,
    kActiveOrchestrations,
    kOrchestratorQueueDepth,
    kWorkerQueueDepth,
    kActivityExecutions,
    kActivityDuration,
    kActivityInfrastructureErrors,
    kActivityConfigurationErrors,
    kActivityPoison,
    kProviderOperationDuration,
    kProviderErrors,
};

}  // namespace

std::span<const MetricId> all() noexcept {
  return kAll;
}

}  // namespace perdure::metric
