// The list of the engine's metrics.
#include <perdure/engine_metrics.h>

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
    kSubOrchestrationCalls,
    kSubOrchestrationDuration,
    kTimersScheduled,
    kTimersFired,
    kTimerLag,
    kEventsReceived,
    kMessagesIgnored,
    kTurnDuration,
    kCommitLatency,
    kCommitFailures,
    kCacheHits,
    kCacheMisses,
    kCacheEvictions,
    kCachedExecutions,
    kCachedBytes,
    kOrchestrationIncompatibleVersionAbandoned,
    kUnregisteredBackoff,
    kOrphanMessagesDropped,
    kStoreBackoff,
    kStoreRetries,
    kLocksLost,
    kActivitiesScheduled,
    kActivityRetries,
    kActivityQueueTime,
    kActivityExecutions,
    kActivityDuration,
    kActivityTimeouts,
    kActivityHeartbeats,
    kActivityInfrastructureErrors,
    kActivityConfigurationErrors,
    kActivityPoison,
    kFastPathClaims,
    kFastPathCompletions,
    kProviderOperationDuration,
    kProviderErrors,
    kProviderBatchSize,
    kStoreAvailable,
    kActiveOrchestrations,
    kOrchestratorQueueDepth,
    kWorkerQueueDepth,
    kClientStarts,
    kClientEvents,
    kClientCancellations,
    kClientWaitDuration,
};

}  // namespace

std::span<const MetricId> all() noexcept {
  return kAll;
}

}  // namespace perdure::metric
