// PlantedFault: mistakes that are built into the engine and its memory store on purpose, one at a time, to prove that
// the simulator finds them (`perdure mutation`, docs/mutations.md). In every build but that one they are `false` at
// compile time, and nothing of them is left.
#pragma once

#include <cstdint>

#ifdef PERDURE_PLANTED_FAULTS
#include <optional>
#include <span>
#include <string_view>
#endif

namespace perdure {

// In the order of the table in planted_fault.cpp, which says what each of them does.
enum class PlantedFault : std::uint8_t {
  // the memory store: locks
  kCommitFenceIgnoresToken,
  kCommitFenceIgnoresTime,
  kAckFenceIgnoresTime,
  kLockHoldsAtItsEnd,
  kRenewalNotIndexed,
  kWorkRenewalNotWritten,
  kLockStaysAfterCommit,
  kOvertakenLockNotCounted,
  kAttemptsSurviveContinueAsNew,
  kUncountedGiveBackCounts,
  kBackoffIgnored,
  kWorkBackoffIgnored,
  kCancelWaitsForBackoff,
  // the memory store: messages
  kEmptyTurnConsumesNothing,
  kRefusedCommitSends,
  kRepeatedCommitSends,
  kCommitIdForgotten,
  kContinueAsNewSendsNothing,
  kMessagesATickEarly,
  kMessagesOutOfOrder,
  kQueuedStartNotSeen,
  kMissingReceiverNotSeen,
  kEarlyQueueMessageLost,
  kEarlySignalLost,
  // the memory store: activities and sessions
  kFailedActivityStays,
  kCompletionLostWhileLocked,
  kRunningActivityNotWithdrawn,
  kHeartbeatDetailsLost,
  kExpiryForgotten,
  kTagIgnored,
  kSessionTakenOver,
  kSessionsBeyondCapacity,
  kOneSessionRenewed,
  // the memory store: values and deletion
  kKeyValuesNotMerged,
  kClearAllKeepsOlderKeys,
  kStatusResetLost,
  kDeletionLeavesChildren,
  kDeletionLeavesActivities,
  kDeletionDropsChildStarts,
  kDeletionLeavesQueuedChildren,
  kBulkIgnoresChanges,
  // the runtime
  kRenewalAtTheEnd,
  kStaleExecutionUsed,
  kFailedCommitKept,
  kStopNeverSent,
  kHeldActivitiesNotWatched,
  kDrainCountsAttempts,
  kAckForgottenAfterError,
  kFirstStatusOfTurnWins,
  kStoreFailureCounts,
  kAbandonForgotten,
  kNoProbe,
  kUnregisteredFetchCounts,
  kIdleSessionsNotRenewed,
  kIdleSessionsKept,
  kRetryChangesKey,
  // replay
  kCompletionOfAnotherExecution,
  kOutcomeOfAnotherIncarnation,
  kCancelIgnoresLink,
  kOneMessageCarried,
  kNewestMessageFirst,
  kDroppedMessageLost,
  kDroppedActivityRunsOn,
  kDroppedChildLivesOn,
  kTerminateForgetsChildren,
  kLastDetachedStartLost,
  kLastDetachedChildLost,
  kParentLostAtContinueAsNew,
  kStatusLostAtContinueAsNew,
  kEndWithoutBreadcrumbs,
  kGivenUpErrorEnds,
  kFirstScheduledWins,
  kValuesDrawnAgain,
  kProgressLost,
  kFinalErrorRetried,
};

#ifdef PERDURE_PLANTED_FAULTS

struct PlantedFaultInfo {
  PlantedFault fault;
  std::string_view name;
  std::string_view what;  // it does, for people
};
// All of them, in the order of the enumeration.
[[nodiscard]] std::span<const PlantedFaultInfo> planted_faults() noexcept;

// This one, or none, is made from now on, on all threads.
void plant(std::optional<PlantedFault> fault) noexcept;
[[nodiscard]] bool planted(PlantedFault fault) noexcept;

#else

[[nodiscard]] constexpr bool planted(PlantedFault) noexcept {
  return false;
}

#endif

}  // namespace perdure
