#include "model/planted_fault.h"

#ifdef PERDURE_PLANTED_FAULTS

#include <array>
#include <atomic>
#include <cstddef>

namespace perdure {

namespace {

using enum PlantedFault;

constexpr auto kFaults = std::to_array<PlantedFaultInfo>({
    {kCommitFenceIgnoresToken, "commit-fence-ignores-token",
     "a commit with any token is accepted while the instance is locked"},
    {kCommitFenceIgnoresTime, "commit-fence-ignores-time", "a commit is accepted after its lock has ended"},
    {kAckFenceIgnoresTime, "ack-fence-ignores-time", "an activity's outcome is accepted after its lock has ended"},
    {kLockHoldsAtItsEnd, "lock-holds-at-its-end", "a lock holds a millisecond longer than reported"},
    {kRenewalNotIndexed, "renewal-not-indexed",
     "the renewal of an instance's lock leaves the index of due times behind"},
    {kWorkRenewalNotWritten, "work-renewal-not-written", "the renewal of an activity's lock is answered, not written"},
    {kLockStaysAfterCommit, "lock-stays-after-commit", "a commit keeps the lock if more messages have come"},
    {kOvertakenLockNotCounted, "overtaken-lock-not-counted",
     "an attempt is not counted if it takes over an ended lock"},
    {kAttemptsSurviveContinueAsNew, "attempts-survive-continue-as-new",
     "the commit that ends an execution does not set the attempts back"},
    {kUncountedGiveBackCounts, "uncounted-give-back-counts", "an uncounted abandon of an instance counts"},
    {kBackoffIgnored, "backoff-ignored", "an instance is fetched before the delay of its abandon has passed"},
    {kWorkBackoffIgnored, "work-backoff-ignored", "an activity is fetched before the delay of its abandon has passed"},
    {kCancelWaitsForBackoff, "cancel-waits-for-backoff",
     "a cancel of an instance that a node abandons waits for the end of the delay"},
    {kEmptyTurnConsumesNothing, "empty-turn-consumes-nothing", "a commit without events leaves its messages queued"},
    {kRefusedCommitSends, "refused-commit-sends", "the messages of a commit that lost its lock are sent"},
    {kRepeatedCommitSends, "repeated-commit-sends", "a commit that is repeated sends its messages again"},
    {kCommitIdForgotten, "commit-id-forgotten", "a commit that is repeated is not recognised"},
    {kContinueAsNewSendsNothing, "continue-as-new-sends-nothing",
     "the commit of a continue-as-new loses its messages to others"},
    {kMessagesATickEarly, "messages-a-tick-early", "a fetch also brings messages that become visible within 10 ms"},
    {kMessagesOutOfOrder, "messages-out-of-order", "messages come in the order of their ids, not of their times"},
    {kQueuedStartNotSeen, "queued-start-not-seen", "a start does not see the one that is queued for the same instance"},
    {kMissingReceiverNotSeen, "missing-receiver-not-seen",
     "a cancel or an event for an id without an instance waits for the next instance of that id"},
    {kEarlyQueueMessageLost, "early-queue-message-lost", "a queue message that comes before its instance is dropped"},
    {kEarlySignalLost, "early-signal-lost",
     "a cancel or an event that is sent even if there is no instance is dropped"},
    {kFailedActivityStays, "failed-activity-stays", "an activity that fails after its first attempt is not removed"},
    {kCompletionLostWhileLocked, "completion-lost-while-locked",
     "an activity's outcome is lost if its instance is locked"},
    {kRunningActivityNotWithdrawn, "running-activity-not-withdrawn",
     "an activity that a worker has locked cannot be cancelled"},
    {kHeartbeatDetailsLost, "heartbeat-details-lost", "a heartbeat renews the lock, but its details are not written"},
    {kExpiryForgotten, "expiry-forgotten", "a fetch of an expired activity counts as its start"},
    {kTagIgnored, "tag-ignored", "an abandoned activity goes to workers that do not serve its tag"},
    {kSessionTakenOver, "session-taken-over", "a session that a node holds is served by another"},
    {kSessionsBeyondCapacity, "sessions-beyond-capacity", "a node claims more sessions than it may hold"},
    {kOneSessionRenewed, "one-session-renewed", "of a node's sessions only one is renewed"},
    {kKeyValuesNotMerged, "key-values-not-merged",
     "continue-as-new begins with the key values of the execution before"},
    {kClearAllKeepsOlderKeys, "clear-all-keeps-older-keys", "clearing all keys forgets those of earlier executions"},
    {kStatusResetLost, "status-reset-lost", "the reset of a custom status is not written"},
    {kDeletionLeavesChildren, "deletion-leaves-children", "a deletion removes the root and leaves its children"},
    {kDeletionLeavesActivities, "deletion-leaves-activities", "a deletion leaves the activities in their queue"},
    {kDeletionDropsChildStarts, "deletion-drops-child-starts",
     "a deletion takes along the queued start of a child whose parent lives on"},
    {kDeletionLeavesQueuedChildren, "deletion-leaves-queued-children",
     "a deletion leaves the starts of children that no turn has taken yet"},
    {kBulkIgnoresChanges, "bulk-ignores-changes",
     "a bulk deletion removes ended instances that its filter names and does not match"},
    {kRenewalAtTheEnd, "renewal-at-the-end", "locks are renewed when they end instead of half-way"},
    {kStaleExecutionUsed, "stale-execution-used",
     "a cached execution is used without what others have committed since"},
    {kFailedCommitKept, "failed-commit-kept", "the execution stays in the cache although its turn was not committed"},
    {kStopNeverSent, "stop-never-sent", "a running activity receives no cancellation"},
    {kHeldActivitiesNotWatched, "held-activities-not-watched",
     "a node learns only from its next renewal that an activity it runs was cancelled"},
    {kDrainCountsAttempts, "drain-counts-attempts", "an abandon at shutdown counts as an attempt"},
    {kAckForgottenAfterError, "ack-forgotten-after-error", "an outcome that the store could not take is forgotten"},
    {kFirstStatusOfTurnWins, "first-status-of-turn-wins", "of several custom statuses of a turn the first is stored"},
    {kStoreFailureCounts, "store-failure-counts", "a commit that the store failed to take counts as an attempt"},
    {kAbandonForgotten, "abandon-forgotten", "an abandon that the store could not take is not repeated"},
    {kNoProbe, "no-probe", "a node fetches as many items from a store that fails as from one that works"},
    {kUnregisteredFetchCounts, "unregistered-fetch-counts",
     "an activity counts as started once a node without its code has fetched it"},
    {kIdleSessionsNotRenewed, "idle-sessions-not-renewed",
     "a session is renewed only while one of its activities runs"},
    {kIdleSessionsKept, "idle-sessions-kept", "a node renews its sessions however long they have been idle"},
    {kRetryChangesKey, "retry-changes-key", "each attempt of a retry policy has an idempotency key of its own"},
    {kCompletionOfAnotherExecution, "completion-of-another-execution",
     "a completion for an earlier execution is taken by the current one"},
    {kOutcomeOfAnotherIncarnation, "outcome-of-another-incarnation",
     "an instance takes the outcome of a child that an earlier instance of its id had scheduled"},
    {kCancelIgnoresLink, "cancel-ignores-link", "a parent's cancel reaches any instance that has the id of its child"},
    {kOneMessageCarried, "one-message-carried", "continue-as-new carries one unread message and loses the others"},
    {kNewestMessageFirst, "newest-message-first", "a queue gives its newest message first"},
    {kDroppedMessageLost, "dropped-message-lost", "a queue future that is dropped unread takes its message along"},
    {kDroppedActivityRunsOn, "dropped-activity-runs-on", "an activity whose future was dropped is not withdrawn"},
    {kDroppedChildLivesOn, "dropped-child-lives-on", "a child whose future was dropped is not cancelled"},
    {kTerminateForgetsChildren, "terminate-forgets-children",
     "an instance that is terminated leaves its children alone"},
    {kLastDetachedStartLost, "last-detached-start-lost", "a detached start in the last turn is not sent"},
    {kLastDetachedChildLost, "last-detached-child-lost", "a child that was detached in the last turn is not started"},
    {kParentLostAtContinueAsNew, "parent-lost-at-continue-as-new", "continue-as-new forgets whose child it is"},
    {kStatusLostAtContinueAsNew, "status-lost-at-continue-as-new", "continue-as-new forgets the custom status"},
    {kEndWithoutBreadcrumbs, "end-without-breadcrumbs", "activities that are open at the end leave no breadcrumb"},
    {kGivenUpErrorEnds, "given-up-error-ends",
     "an operation that the code gave up ends the instance when it ends as poison"},
    {kFirstScheduledWins, "first-scheduled-wins", "select takes what was scheduled first, not what was done first"},
    {kValuesDrawnAgain, "values-drawn-again", "a replay draws random values and times again"},
    {kProgressLost, "progress-lost", "an attempt does not hear how far the one before it came"},
    {kFinalErrorRetried, "final-error-retried", "a non-retryable error is retried"},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (static_cast<std::size_t>(kFaults[i].fault) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table has the order of the enumeration");

constexpr int kNothing = -1;
std::atomic<int> g_planted = kNothing;

}  // namespace

std::span<const PlantedFaultInfo> planted_faults() noexcept {
  return kFaults;
}

void plant(std::optional<PlantedFault> fault) noexcept {
  g_planted.store(fault ? static_cast<int>(*fault) : kNothing, std::memory_order_relaxed);
}

bool planted(PlantedFault fault) noexcept {
  return g_planted.load(std::memory_order_relaxed) == static_cast<int>(fault);
}

}  // namespace perdure

#endif
