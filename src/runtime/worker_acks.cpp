// How the worker dispatcher acknowledges and abandons activities, and how it handles a store that fails or refuses
// these calls.
#include <algorithm>
#include <utility>

#include <perdure/engine_metrics.h>
#include "model/message_codec.h"
#include "model/planted_fault.h"
#include "model/refused_by_store.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

namespace {

constexpr Milliseconds kRestAfterRefusedFailure{1'000};

}  // namespace

void WorkerDispatcher::acknowledged(const Outstanding& request, const std::vector<ProviderResult<void>>& answers,
                                    Timestamp now) {
  acking_ = false;
  const bool alone = request.runs.size() == 1;
  const auto taken = [](const ProviderResult<void>& each) { return static_cast<bool>(each); };
  const auto failed = [](const ProviderResult<void>& each) {
    return !each && each.error().kind() != ProviderErrorKind::kLockLost && !each.error().data_error();
  };
  if (std::any_of(answers.begin(), answers.end(), taken)) {
    gate_.succeeded();
  } else if (std::any_of(answers.begin(), answers.end(), failed)) {
    gate_.failed(now);
    if (repeating_stopped_) stop_repeating();
  }
  // Failures first: an accepted outcome of the same batch then shows that the store works.
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    if (!answers[i]) ack_failed(request.runs[i], answers[i].error(), alone, now);
  }
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    if (!answers[i]) continue;
    const Run& run = runs_.at(request.runs[i]);
    if (run.ack && run.ack->completion) health_->accepted(AcceptedCall::kOutcome);
    const bool was_available = health_->is_available();
    health_->succeeded(StoreCall::kStoreOutcomes, now);
    if (!was_available && health_->is_available()) search_.resume();
    use_session(run, now);
    report_stored(run);
    settle(request.runs[i]);
  }
}

void WorkerDispatcher::ack_failed(RunId id, const ProviderError& error, bool alone, Timestamp now) {
  Run& run = runs_.at(id);
  if (error.kind() == ProviderErrorKind::kLockLost) {
    // Cancelled, or taken over by another worker: this result is no longer needed.
    if (!run.lease.lost()) metrics_.add(metric::kLocksLost, {{"kind", "activity"}});
    tell(LogLevel::kDebug, run, "discarding a late result");
    use_session(run, now);  // the store may have accepted it in a call whose answer was lost
    return give_back_or_settle(id);
  }
  if (planted(PlantedFault::kAckForgottenAfterError)) return settle(id);
  if (!error.data_error()) {
    store_failed(run, StoreCall::kStoreOutcomes, error, now);
    if (alone && !error.retryable()) {
      run.repeats.failed_alone(health_->accepted_calls(AcceptedCall::kOutcome));
    } else {
      run.repeats.failed();
    }
  } else if (alone) {
    run.repeats.refused();
  }
  if (run.lease.lost()) {
    warn(run, "outcome not stored before the activity lock expired; activity will run again", "error",
         error.to_string());
    return give_back_or_settle(id);
  }
  if (repeating_stopped_) return abandon_unstored(id);
  if (!run.repeats.are_own(max_attempts_)) {
    metrics_.add(metric::kStoreRetries, {{"operation", "ack_work_item"}});
    to_ack_again_.emplace(now + (error.data_error() && !alone ? Milliseconds(0) : run.repeats.delay()), id);
    return;
  }
  end_as_poison(id, error);
}

// The activity caused the failure. Another run would repeat its effects and produce the same outcome.
void WorkerDispatcher::end_as_poison(RunId id, const ProviderError& error) {
  Run& run = runs_.at(id);
  metrics_.add(metric::kActivityInfrastructureErrors, {{"activity_name", name_label(run)}});
  if (std::exchange(run.ends_as_poison, true)) {
    warn(run, "failure of the activity rejected by the store; activity abandoned", "error", error.to_string());
    run.ack.reset();
    return give_back_later(id, kRestAfterRefusedFailure, false);
  }
  warn(run, "outcome of this activity alone rejected by the store; activity failed as poison", "error",
       error.to_string());
  run.counted_when_stored = &metric::kActivityPoison;
  run.repeats = {};
  // Without the details of its heartbeats: they may be what the store refuses.
  PoisonError poison{PoisonSubject::kActivity,
                     run.record.instance,
                     run.record.execution.value_or(kFirstExecutionId),
                     run.record.name,
                     run.record.activity_id,
                     std::max(run.attempt, max_attempts_),
                     max_attempts_,
                     refused_by_store(error.to_string())};
  run.ack->completion =
      encode_message({run.record.instance, run.record.execution, std::nullopt,
                      messages::ActivityFailed{run.record.activity_id, std::move(poison), std::nullopt}});
  to_ack_alone_.push_back(id);
}

void WorkerDispatcher::store_failed(Run& run, StoreCall call, const ProviderError& error, Timestamp now) {
  run.store_failed = true;
  health_->failed(call, error, now);
  if (!health_->is_available()) search_.hold_off(now);
}

// If no acknowledgement is left to be repeated, none will show that the store works again. A written lock shows it too:
// while the store accepts locks, an acknowledgement that fails keeps its lock and is repeated.
void WorkerDispatcher::lock_written(Timestamp now) {
  const bool proves_all = !health_->is_available() && !repeats_anything();
  health_->succeeded(proves_all ? StoreCall::kStoreOutcomes : StoreCall::kLockActivities, now);
  if (proves_all && health_->is_available()) search_.resume();
}

bool WorkerDispatcher::repeats_anything() const noexcept {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](const auto& entry) { return !entry.second.settled && entry.second.repeats.failures() > 0; });
}

bool WorkerDispatcher::may_fetch(Timestamp now) const noexcept {
  return std::none_of(runs_.begin(), runs_.end(), [now](const auto& entry) {
    const Run& run = entry.second;
    return !run.settled && run.repeats.failures() > 0 && keeps_from_fetching(run.lease.until(), now);
  });
}

// ---- abandoned -----------------------------------------------------------------------------------------------------

void WorkerDispatcher::give_back_or_settle(RunId id) {
  Run& run = runs_.at(id);
  if (!run.store_failed) return settle(id);
  run.ack.reset();
  give_back_later(id, Milliseconds(0), true);
}

// Abandons the activities whose outcomes the store refuses: an ended node repeats no call. If the store refuses an
// outcome in progress, ack_failed() abandons its activity.
void WorkerDispatcher::stop_repeating() {
  repeating_stopped_ = true;
  std::vector<RunId> refused(to_ack_alone_.begin(), to_ack_alone_.end());
  to_ack_alone_.clear();
  for (const auto& [at, id] : to_ack_again_) refused.push_back(id);
  to_ack_again_.clear();
  if (gate_.probes()) {
    refused.insert(refused.end(), to_ack_.begin(), to_ack_.end());
    to_ack_.clear();
  }
  for (const RunId id : refused) {
    if (runs_.at(id).ack) abandon_unstored(id);
  }
}

// Otherwise the lock would expire, and the fetch would count as an attempt of the activity.
void WorkerDispatcher::abandon_unstored(RunId id) {
  Run& run = runs_.at(id);
  warn(run, "outcome not stored before shutdown; activity will run again", "retries",
       std::to_string(run.repeats.failures()));
  run.ack.reset();
  give_back_later(id, Milliseconds(0), true);
}

void WorkerDispatcher::give_back_later(RunId id, Milliseconds delay, bool ignore_attempt) {
  Run& run = runs_.at(id);
  offers_nothing(run);
  run.repeats = {};
  run.abandon = {run.lease.token(), delay, ignore_attempt, run.has_begun};
  to_give_back_.push_back(id);
  if (!wants_to_beat(run)) return;
  run.beat_at = Timestamp::min();  // it waits for that
  check_at_ = Timestamp::min();
}

// A refused abandon is repeated until the store takes it or the token is superseded: until then the attempt counts.
void WorkerDispatcher::given_back(const Outstanding& request, const std::vector<ProviderResult<void>>& answers,
                                  Timestamp now) {
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    const RunId id = request.runs[i];
    Run& run = runs_.at(id);
    if (answers[i] || answers[i].error().kind() == ProviderErrorKind::kLockLost) {
      settle(id);
      if (answers[i]) lock_written(now);
      continue;
    }
    const ProviderError& error = answers[i].error();
    // An abandon carries no data of the activity, so the same call fails again. Its lock expires, another fetch takes
    // it over, and the attempt counts, as after every data error that is the activity's own.
    if (error.data_error()) {
      warn(run, "activity not abandoned; its lock will expire", "error", error.to_string());
      settle(id);
      continue;
    }
    if (run.repeats.failures() == 0) {
      warn(run, "activity not abandoned; retrying after backoff", "error", error.to_string());
    }
    store_failed(run, StoreCall::kLockActivities, error, now);
    run.repeats.failed();
    if (planted(PlantedFault::kAbandonForgotten)) {
      settle(id);
      continue;
    }
    to_give_back_again_.emplace(now + run.repeats.delay(), id);
  }
}

}  // namespace perdure::runtime
