// What the engine counts and measures. docs/metrics.md says of each metric when.
//
// Labels never carry instance or execution ids: every value of a label is a series that lives as long as the process.
// Names of orchestrations and activities, versions and tags come from outside as well; a node shows those that are
// registered there and the first kMaxStrangeValues others, and calls the rest kOtherValue.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <perdure/metrics.h>

namespace perdure::metric {

inline constexpr std::size_t kMaxStrangeValues = 200;
inline constexpr std::string_view kOtherValue = "other";

inline constexpr std::array kOrchestrationSeconds{0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0};
inline constexpr std::array kTurnCounts{1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0};
inline constexpr std::array kEventCounts{10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0};
inline constexpr std::array kActivitySeconds{0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0};
inline constexpr std::array kProviderSeconds{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0};
inline constexpr std::array kBatchSizes{1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0};

constexpr MetricId make_counter(std::string_view name, std::string_view labels, std::string_view help) {
  return {name, MetricType::kCounter, help, {}, labels};
}
constexpr MetricId make_gauge(std::string_view name, std::string_view labels, std::string_view help) {
  return {name, MetricType::kGauge, help, {}, labels};
}
constexpr MetricId make_histogram(std::string_view name, std::string_view labels, std::span<const double> buckets,
                                  std::string_view help) {
  return {name, MetricType::kHistogram, help, buckets, labels};
}

// ---- Orchestrations: at the commit of a turn ----

inline constexpr MetricId kOrchestrationStarts =
    make_counter("perdure_orchestration_starts_total", "orchestration_name version initiated_by",
                 "Executions started, counted at their first turn.");
inline constexpr MetricId kOrchestrationCompletions =
    make_counter("perdure_orchestration_completions_total", "orchestration_name version status final_turn_count",
                 "Executions ended: completed, failed or continued as new.");
inline constexpr MetricId kOrchestrationFailures =
    make_counter("perdure_orchestration_failures_total", "orchestration_name version error_type error_category",
                 "Executions ended by a failure.");
inline constexpr MetricId kOrchestrationDuration =
    make_histogram("perdure_orchestration_duration_seconds", "orchestration_name version status", kOrchestrationSeconds,
                   "Time from the start of an execution to its end.");
inline constexpr MetricId kOrchestrationTurns = make_histogram("perdure_orchestration_turns", "orchestration_name",
                                                               kTurnCounts, "Turns that an execution took to its end.");
inline constexpr MetricId kOrchestrationHistorySize =
    make_histogram("perdure_orchestration_history_size", "orchestration_name", kEventCounts,
                   "Events in the history of an execution at its end.");
inline constexpr MetricId kOrchestrationInfrastructureErrors =
    make_counter("perdure_orchestration_infrastructure_errors_total", "orchestration_name error_category",
                 "Executions failed by the infrastructure.");
inline constexpr MetricId kOrchestrationConfigurationErrors =
    make_counter("perdure_orchestration_configuration_errors_total", "orchestration_name error_category",
                 "Executions failed by the configuration.");
inline constexpr MetricId kOrchestrationContinueAsNew = make_counter(
    "perdure_orchestration_continue_as_new_total", "orchestration_name", "Executions that continued as new.");
inline constexpr MetricId kOrchestrationPoison =
    make_counter("perdure_orchestration_poison_total", "", "Orchestration items given up after too many attempts.");
inline constexpr MetricId kSubOrchestrationCalls =
    make_counter("perdure_suborchestration_calls_total", "parent_orchestration child_orchestration",
                 "Sub-orchestrations scheduled.");
inline constexpr MetricId kSubOrchestrationDuration =
    make_histogram("perdure_suborchestration_duration_seconds", "child_orchestration outcome", kOrchestrationSeconds,
                   "Time from the start of a sub-orchestration's last execution to its end.");
inline constexpr MetricId kTimersScheduled =
    make_counter("perdure_timers_scheduled_total", "orchestration_name", "Timers scheduled.");
inline constexpr MetricId kTimersFired = make_counter("perdure_timers_fired_total", "orchestration_name",
                                                      "Timers whose firing reached their orchestration.");
inline constexpr MetricId kTimerLag = make_histogram("perdure_timer_lag_seconds", "", kActivitySeconds,
                                                     "Time from when a timer was due to the turn that saw it fire.");
inline constexpr MetricId kEventsReceived =
    make_counter("perdure_external_events_received_total", "kind", "Events and queue messages that reached a history.");
inline constexpr MetricId kMessagesIgnored =
    make_counter("perdure_messages_ignored_total", "reason", "Messages that had no effect on their orchestration.");

// ---- Turns: what carrying them out takes ----

inline constexpr MetricId kTurnDuration =
    make_histogram("perdure_turn_duration_seconds", "", kProviderSeconds, "Time that a turn ran, replay included.");
inline constexpr MetricId kCommitLatency =
    make_histogram("perdure_commit_latency_seconds", "", kProviderSeconds,
                   "Time from the end of a turn until the store has it, waiting and retries included.");
inline constexpr MetricId kCommitFailures = make_counter("perdure_commit_failures_total", "error_type",
                                                         "Turns thrown away because they could not be committed.");
inline constexpr MetricId kCacheHits =
    make_counter("perdure_cache_hits_total", "", "Turns whose execution was kept in memory.");
inline constexpr MetricId kCacheMisses =
    make_counter("perdure_cache_misses_total", "", "Turns whose execution was rebuilt from history.");
inline constexpr MetricId kCacheEvictions =
    make_counter("perdure_cache_evictions_total", "", "Executions dropped from memory to make room.");
inline constexpr MetricId kCachedExecutions =
    make_gauge("perdure_cached_executions", "", "Executions kept in memory between their turns.");
inline constexpr MetricId kCachedBytes =
    make_gauge("perdure_cached_bytes", "", "Memory of the executions kept, as far as the engine can tell.");

// ---- Items put back, and stores that answer errors ----

inline constexpr MetricId kOrchestrationIncompatibleVersionAbandoned =
    make_counter("perdure_orchestration_incompatible_version_abandoned_total", "",
                 "Orchestration items put back because this node does not support the version they are pinned to.");
inline constexpr MetricId kUnregisteredBackoff =
    make_counter("perdure_unregistered_backoff_total", "kind",
                 "Items put back with a delay because no handler is registered for them.");
inline constexpr MetricId kOrphanMessagesDropped = make_counter(
    "perdure_orphan_messages_dropped_total", "", "Queue messages dropped because their instance does not exist.");
inline constexpr MetricId kStoreBackoff =
    make_counter("perdure_store_backoff_total", "kind", "Pauses in looking for work after an error of the store.");
inline constexpr MetricId kStoreRetries =
    make_counter("perdure_store_retries_total", "operation", "Turns and outcomes sent to the store once more.");
inline constexpr MetricId kLocksLost =
    make_counter("perdure_locks_lost_total", "kind", "Locks that were gone before the work under them was stored.");

// ---- Activities ----

inline constexpr MetricId kActivitiesScheduled =
    make_counter("perdure_activities_scheduled_total", "activity_name", "Activities scheduled by orchestrations.");
inline constexpr MetricId kActivityRetries =
    make_counter("perdure_activity_retries_total", "activity_name", "Activities scheduled once more by a RetryPolicy.");
inline constexpr MetricId kActivityQueueTime =
    make_histogram("perdure_activity_schedule_to_start_seconds", "activity_name", kActivitySeconds,
                   "Time from the scheduling of an activity to its first start.");
inline constexpr MetricId kActivityExecutions =
    make_counter("perdure_activity_executions_total", "activity_name outcome retry_attempt tag",
                 "Attempts at activities, by outcome.");
inline constexpr MetricId kActivityDuration =
    make_histogram("perdure_activity_duration_seconds", "activity_name outcome tag", kActivitySeconds,
                   "Time that an attempt at an activity ran.");
inline constexpr MetricId kActivityTimeouts = make_counter("perdure_activity_timeouts_total", "activity_name timeout",
                                                           "Activities failed by one of their timeouts.");
inline constexpr MetricId kActivityHeartbeats =
    make_counter("perdure_activity_heartbeats_total", "", "Details of heartbeats stored.");
inline constexpr MetricId kActivityInfrastructureErrors =
    make_counter("perdure_activity_infrastructure_errors_total", "activity_name",
                 "Attempts at activities failed by the infrastructure.");
inline constexpr MetricId kActivityConfigurationErrors =
    make_counter("perdure_activity_configuration_errors_total", "activity_name",
                 "Attempts at activities failed by the configuration.");
inline constexpr MetricId kActivityPoison =
    make_counter("perdure_activity_poison_total", "", "Activity items given up after too many attempts.");
inline constexpr MetricId kFastPathClaims = make_counter(
    "perdure_fast_path_claims_total", "", "Activities that the commit which scheduled them took for this node.");
inline constexpr MetricId kFastPathCompletions = make_counter(
    "perdure_fast_path_completions_total", "", "Outcomes of activities that the commit of the next turn stored.");

// ---- The store ----

inline constexpr MetricId kProviderOperationDuration =
    make_histogram("perdure_provider_operation_duration_seconds", "operation status", kProviderSeconds,
                   "Time that a call to the provider took.");
inline constexpr MetricId kProviderErrors =
    make_counter("perdure_provider_errors_total", "operation error_type",
                 "Errors that the provider answered; in a batch each element has an answer.");
inline constexpr MetricId kProviderBatchSize =
    make_histogram("perdure_provider_batch_size", "operation", kBatchSizes,
                   "Elements of a call to the provider; items of a fetch that found some.");
inline constexpr MetricId kActiveOrchestrations =
    make_gauge("perdure_active_orchestrations", "", "Instances that have not ended.");
inline constexpr MetricId kOrchestratorQueueDepth =
    make_gauge("perdure_orchestrator_queue_depth", "", "Messages waiting for orchestrations.");
inline constexpr MetricId kWorkerQueueDepth =
    make_gauge("perdure_worker_queue_depth", "", "Activities waiting for a worker.");

// ---- Clients (ClientOptions::metrics) ----

inline constexpr MetricId kClientStarts = make_counter("perdure_client_orchestration_starts_total", "outcome",
                                                       "Starts that the store has, by what they did.");
inline constexpr MetricId kClientEvents =
    make_counter("perdure_client_external_events_raised_total", "kind", "Events and queue messages sent by clients.");
inline constexpr MetricId kClientCancellations =
    make_counter("perdure_client_cancellations_total", "kind", "Cancels and terminations sent by clients.");
inline constexpr MetricId kClientWaitDuration =
    make_histogram("perdure_client_wait_duration_seconds", "outcome", kOrchestrationSeconds,
                   "Time that clients waited for the end of an orchestration.");

// The table of all of the above, for documentation and for exporters that declare metrics ahead.
[[nodiscard]] std::span<const MetricId> all() noexcept;

}  // namespace perdure::metric
