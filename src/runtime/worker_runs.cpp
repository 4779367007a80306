// What becomes of the activities that the worker dispatcher has taken on.
#include <algorithm>
#include <utility>

#include <perdure/detail/thrown.h>
#include <perdure/engine_metrics.h>
#include <perdure/limits.h>
#include "model/decode_error.h"
#include "model/error_text.h"
#include "model/message_codec.h"
#include "model/planted_fault.h"
#include "model/refused_by_store.h"
#include "model/reserved_names.h"
#include "providers/times.h"
#include "runtime/asked_nodes.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

namespace {

// What can never work here may work on another node, or after the next deployment.
constexpr Milliseconds kRestOfUnusableWork{1'000};

}  // namespace

// ---- fetched -------------------------------------------------------------------------------------------------------

void WorkerDispatcher::fetched(ProviderResult<WorkBatch> batch, Timestamp now) {
  if (!batch) {
    const Milliseconds rest = search_.fetch_failed(now);
    health_->failed(StoreCall::kFetchActivities, batch.error(), now);
    return report_backoff("fetching activities failed; retrying after backoff", batch.error(), rest);
  }
  const std::size_t suspects_before = suspect_runs_.size();
  const std::size_t items = batch->items.size();
  for (WorkItem& item : batch->items) take_on(std::move(item), now);
  withdrawn_meanwhile_.clear();
  if (places_) places_->queue_seen(items >= search_.being_fetched());
  search_.fetched(items, suspect_runs_.size() > suspects_before);
  health_->succeeded(StoreCall::kFetchActivities, now);
  // With nothing to repeat and nothing fetched, no acknowledgement will show that the store works again.
  if (items == 0 && !repeats_anything()) health_->succeeded(StoreCall::kStoreOutcomes, now);
  if (health_->is_available()) {
    search_.resume();
  } else {
    search_.hold_off(now);
  }
}

void WorkerDispatcher::awaited(const ProviderResult<bool>& found, Timestamp now) {
  if (found) return search_.awaited();
  const Milliseconds rest = search_.await_failed(now);
  report_backoff("waiting for work failed; retrying after backoff", found.error(), rest);
}

void WorkerDispatcher::take_on(WorkItem item, Timestamp now, std::optional<std::uint64_t> claimed_for) {
  const RunId id = ++last_run_;
  std::string body = std::move(item.record.body);
  Run& run = runs_
                 .emplace(id, Run{.lease = Lease(item.token, item.locked_until, lock_timeout_),
                                  .record = item.record,
                                  .attempt = item.attempt_count,
                                  .incarnation = claimed_for.value_or(0),
                                  .started_at = now,
                                  .deadline = {},
                                  .silent_at = {},
                                  .replace_thread_at = {},
                                  .ack = {},
                                  .progress = {}})
                 .first->second;
  run.claimed = claimed_for.has_value();
  check_at_ = std::min(check_at_, run.lease.renew_at());
  if (item.attempt_count > std::max(max_attempts_ / 2, 1U)) suspect_runs_.insert(id);
  if (run.record.session) {
    holds_sessions_ = true;
    use_session(run, now);
    sessions_at_ = std::min(sessions_at_, shifted(now, session_timeout_ / 2));
  }
  if (draining_) return give_back_later(id, Milliseconds(0), true);
  run.progress = std::move(item.heartbeat_details);
  if (item.attempt_count > max_attempts_) {
    run.counted_when_stored = &metric::kActivityPoison;
    warn(run, "max_attempts exceeded without an outcome; activity failed as poison", "max_attempts",
         std::to_string(max_attempts_));
    if (resolve_(run.record.name)) return poison(id, "ExecuteActivity");
    to_name_nodes_.push_back(id);
    return;
  }
  if (item.expired) {
    const auto& limit = run.record.timeouts.schedule_to_start;
    run.counted_when_stored = &metric::kActivityTimeouts;
    return fail(id, ApplicationError{ApplicationErrorKind::kTimedOut,
                                     "activity '" + run.record.name + "' was not started by any worker within " +
                                         std::to_string(limit ? limit->count() : 0) +
                                         " ms; check that it is registered and that a worker serves its tag",
                                     true});
  }
  try {
    item.record.body = std::move(body);
    MessageBody message = decode_message(item.record).body;
    if (auto* activity = std::get_if<messages::ExecuteActivity>(&message)) {
      return begin(id, item, std::move(*activity), now);
    }
    tell(LogLevel::kError, run, "unexpected message kind in the worker queue", {{"kind", kind_name(message)}});
  } catch (const DecodeError& error) {
    warn(run, "undecodable message; activity abandoned", "error", detail::text_of(error));
  }
  give_back_unstarted(id, item, delay_until_next_try(item, kRestOfUnusableWork, now));
}

// A schedule-to-start timeout also covers an activity that no node can start. Such a fetch is not counted: the store
// would treat a counted fetch as a start, and the activity would end as poison before its timeout.
bool WorkerDispatcher::awaits_start(const WorkItem& item) noexcept {
  return item.record.timeouts.schedule_to_start && item.attempt_count == 1 &&
         !planted(PlantedFault::kUnregisteredFetchCounts);
}

// Grows with the age of the activity where fetches are not counted, and never goes beyond the timeout.
Milliseconds WorkerDispatcher::delay_until_next_try(const WorkItem& item, Milliseconds delay, Timestamp now) const {
  if (!awaits_start(item)) return delay;
  const Timestamp expires_at = shifted(item.scheduled_at, *item.record.timeouts.schedule_to_start);
  const Milliseconds grown = std::max(delay, std::min(now - item.scheduled_at, backoff_.max));
  return std::clamp(expires_at - now, Milliseconds(0), grown);
}

void WorkerDispatcher::give_back_unstarted(RunId id, const WorkItem& item, Milliseconds delay) {
  give_back_later(id, delay, awaits_start(item));
}

void WorkerDispatcher::begin(RunId id, const WorkItem& item, messages::ExecuteActivity activity, Timestamp now) {
  Run& run = runs_.at(id);
  if (!run.claimed) run.incarnation = activity.incarnation.value_or(0);
  run.orchestration = activity.orchestration_name;
  run.version = activity.orchestration_version;
  auto handler = resolve_(activity.name);
  if (!handler) {
    const Milliseconds delay = delay_until_next_try(item, backoff_.after(item.attempt_count), now);
    report_unregistered(run, delay);
    return give_back_unstarted(id, item, delay);
  }
  report_start(run, item.scheduled_at, now);
  run.wanted = true;
  run.returned = false;
  ++threads_;
  by_identity_[identity_of(run)] = id;
  watch_.runs_since(now);
  if (!run.progress) run.progress = std::move(activity.progress);
  if (activity.timeouts.start_to_close) {
    run.deadline = shifted(now, *activity.timeouts.start_to_close);
    check_at_ = std::min(check_at_, *run.deadline);
  }
  if (activity.timeouts.heartbeat) {
    run.silent_at = shifted(now, *activity.timeouts.heartbeat);
    check_at_ = std::min(check_at_, *run.silent_at);
  }
  const auto& earlier = activity.earlier;
  to_start_.push_back({.run = id,
                       .about = {.instance_id = run.record.instance,
                                 .execution_id = run.record.execution.value_or(kFirstExecutionId),
                                 .orchestration_name = std::move(activity.orchestration_name),
                                 .orchestration_version = activity.orchestration_version,
                                 .activity_name = std::move(activity.name),
                                 .activity_id = activity.schedule_id,
                                 .first_attempt_id = earlier ? earlier->first : activity.schedule_id,
                                 .incarnation = activity.incarnation.value_or(0),
                                 .attempt = item.attempt_count + (earlier ? earlier->count : 0),
                                 .worker_id = owner_,
                                 .session_id = std::move(activity.session_id),
                                 .tag = std::move(activity.tag),
                                 .progress = run.progress,
                                 .max_payload_bytes = max_payload_bytes_},
                       .input = std::move(activity.input),
                       .handler = std::move(handler)});
  if (withdrawn_meanwhile_.contains(identity_of(run))) lose(id, run, now);
}

// ---- ended ---------------------------------------------------------------------------------------------------------

void WorkerDispatcher::ended(RunId id, ActivityOutcome outcome, Timestamp now) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  Run& run = found->second;
  if (!run.wanted) return;
  if (!outcome && outcome.error().retryable && is_engine_activity(run.record.name)) return try_later(id, run, now);
  offer_when_returned(run, now);
  const bool too_long = outcome && *outcome && (*outcome)->size() > max_payload_bytes_;
  report(run, outcome && !too_long ? "success" : "app_error", now, outcome && *outcome ? (*outcome)->size() : 0);
  if (!outcome) {
    ApplicationError error = outcome.error();
    error.message = storable_error_text(error.message, max_error_text_bytes_);
    return fail(id, std::move(error));
  }
  if (too_long) {
    return fail(id, ApplicationError{ApplicationErrorKind::kLimitExceeded,
                                     "the result of activity '" + run.record.name + "' has " +
                                         std::to_string((*outcome)->size()) + " bytes; the limit is " +
                                         std::to_string(max_payload_bytes_) + " (max_payload_bytes)",
                                     false});
  }
  complete_with(id, messages::ActivityCompleted{run.record.activity_id, std::move(*outcome)});
}

// An activity of the engine fails like this only if the store does, so the attempt does not count.
void WorkerDispatcher::try_later(RunId id, Run& run, Timestamp now) {
  report(run, "abandoned", now);
  unwant(run);
  give_back_later(id, backoff_.after(run.attempt), true);
}

void WorkerDispatcher::abandoned(RunId id, Timestamp now) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || !found->second.wanted) return;
  Run& run = found->second;
  warn(run, "activity ended its thread instead of returning; activity abandoned and will run again", "attempt",
       std::to_string(run.attempt));
  report(run, "abandoned", now);
  unwant(run);
  give_back_later(id, backoff_.after(run.attempt), false);
}

void WorkerDispatcher::fail(RunId id, ErrorDetails error) {
  Run& run = runs_.at(id);
  error = with_storable_text(std::move(error), kMaxErrorTextBytes);  // names and the store's errors are texts as well
  if (!std::holds_alternative<PoisonError>(error)) {
    warn(run, "activity failed", "error", describe(error));
  }
  const auto attempts = run.attempt > 1 ? std::optional(run.attempt) : std::nullopt;
  complete_with(id, messages::ActivityFailed{run.record.activity_id, std::move(error), run.progress, attempts});
}

void WorkerDispatcher::poison(RunId id, std::string message) {
  const Run& run = runs_.at(id);
  fail(id, PoisonError{PoisonSubject::kActivity, run.record.instance, run.record.execution.value_or(kFirstExecutionId),
                       run.record.name, run.record.activity_id, run.attempt, max_attempts_, std::move(message)});
}

std::optional<worker::Request> WorkerDispatcher::list_nodes() {
  if (to_name_nodes_.empty()) return std::nullopt;
  return request(worker::ListNodes{}, std::exchange(to_name_nodes_, {}));
}

void WorkerDispatcher::nodes_listed(const std::vector<RunId>& runs, const std::vector<NodeInfo>& nodes) {
  for (const RunId id : runs) {
    const auto run = runs_.find(id);
    if (run == runs_.end() || run->second.settled) continue;
    const std::string& name = run->second.record.name;
    poison(id, not_registered("activity '" + name + "'", owner_, asked_for_activity(nodes, name)));
  }
}

void WorkerDispatcher::complete_with(RunId id, MessageBody completion) {
  Run& run = runs_.at(id);
  unwant(run);
  run.ack = WorkAck{run.lease.token(),
                    encode_message({run.record.instance, run.record.execution, std::nullopt, std::move(completion)})};
  if (!run.claimed) {
    to_ack_.push_back(id);
  } else if (!run.offer_at) {
    offer(id, run);
  }
}

void WorkerDispatcher::returned(RunId id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  Run& run = found->second;
  run.returned = true;
  run.replace_thread_at.reset();
  if (replaced_runs_.erase(id) == 0) --threads_;
  if (run.wanted) ++async_;
  if (run.offer_at) offer(id, run);
  forget_if_over(id);
}

// ---- renewed -------------------------------------------------------------------------------------------------------

void WorkerDispatcher::renewed(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers,
                               Timestamp now) {
  renewing_ = false;
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    const auto found = runs_.find(request.runs[i]);
    if (found == runs_.end() || found->second.settled) continue;
    extended(found->first, found->second, answers[i], now);
  }
  check_deadlines(now);
}

void WorkerDispatcher::extended(RunId id, Run& run, const ProviderResult<Timestamp>& until, Timestamp now) {
  if (until) {
    run.lease.renewed(*until);
    if (run.repeats.failures() == 0) run.store_failed = false;
    use_session(run, now);
    lock_written(now);
    tell(LogLevel::kTrace, run, "lock renewed");
  } else if (until.error().kind() != ProviderErrorKind::kLockLost) {
    if (until.error().data_error()) {
      warn(run, "heartbeat details rejected by the store; details discarded", "error", until.error().to_string());
      if (!run.progressed) run.progress.reset();  // or else its failure would carry them
    } else {
      store_failed(run, StoreCall::kLockActivities, until.error(), now);
    }
    run.lease.renew_failed(now);  // the lock holds until it ends, and the work goes on
  } else {
    if (!run.lease.lost()) metrics_.add(metric::kLocksLost, {{"kind", "activity"}});
    use_session(run, now);  // the store may have accepted the outcome in a call whose answer was lost
    lose(id, run, now);
  }
}

// ---- not wanted any more -------------------------------------------------------------------------------------------

void WorkerDispatcher::withdrawn(const WithdrawnActivity& activity, Timestamp now) {
  const auto found = by_identity_.find(activity);
  if (found == by_identity_.end()) {
    if (search_.fetching()) withdrawn_meanwhile_.insert(activity);
    return;
  }
  const RunId id = found->second;
  lose(id, runs_.at(id), now);
}

void WorkerDispatcher::lose(RunId id, Run& run, Timestamp now) {
  run.lease.lose();
  if (!run.wanted) {
    // Its outcome is on its way. A retry makes no sense any more; the answer to a try that is under way settles it.
    if (!run.ack || std::erase_if(to_ack_again_, [id](const auto& entry) { return entry.second == id; }) +
                            std::erase(to_ack_alone_, id) ==
                        0) {
      return;
    }
    warn(run, "outcome not stored before the activity lock expired; activity will run again", "retries",
         std::to_string(run.repeats.failures()));
    give_back_or_settle(id);
    return;
  }
  tell(LogLevel::kInfo, run, "cancelling activity: its orchestration no longer needs the result");
  report(run, "cancelled", now);
  stop(id, run, now);
  give_back_or_settle(id);
}

// One that has not begun does not begin any more. One that is about to is told as soon as it can be.
void WorkerDispatcher::stop(RunId id, Run& run, Timestamp now) {
  unwant(run);
  if (std::erase_if(to_start_, [id](const worker::Start& start) { return start.run == id; }) > 0) {
    run.returned = true;
    --threads_;
    return;
  }
  if (run.starting) {
    run.stop_wanted = true;
    return;
  }
  if (!planted(PlantedFault::kStopNeverSent)) to_stop_.push_back(id);
  give_grace(run, now);
}

void WorkerDispatcher::give_grace(Run& run, Timestamp now) {
  if (run.returned) return;
  run.replace_thread_at = shifted(now, grace_);
  check_at_ = std::min(check_at_, *run.replace_thread_at);
}

void WorkerDispatcher::unwant(Run& run) {
  if (!run.wanted) return;
  if (run.returned) --async_;
  run.wanted = false;
  run.deadline.reset();
  run.silent_at.reset();
  // The node may have fetched the same activity again before it noticed that it had lost it: then that run is the
  // wanted one.
  const auto wanted = by_identity_.find(identity_of(run));
  if (wanted != by_identity_.end() && &runs_.at(wanted->second) == &run) by_identity_.erase(wanted);
}

void WorkerDispatcher::started(RunId id, Timestamp now) {
  const auto run = runs_.find(id);
  if (run == runs_.end()) return;
  run->second.starting = false;
  if (run->second.stop_wanted) {
    to_stop_.push_back(id);
    give_grace(run->second, now);
  }
  forget_if_over(id);
}

WorkerDispatcher::Identity WorkerDispatcher::identity_of(const Run& run) {
  const MessageRecord& record = run.record;
  return {record.instance, run.incarnation, record.execution.value_or(kFirstExecutionId), record.activity_id};
}

void WorkerDispatcher::stop_all(Timestamp now) {
  drain();
  stop_repeating();
  for (auto& [id, run] : runs_) {
    if (!run.wanted) continue;
    report(run, "abandoned", now);
    stop(id, run, now);
    give_back_later(id, Milliseconds(0), !planted(PlantedFault::kDrainCountsAttempts));
  }
}

// ---- over ----------------------------------------------------------------------------------------------------------

// May be called while runs_ is walked over, so nothing is erased here.
void WorkerDispatcher::settle(RunId id) {
  Run& run = runs_.at(id);
  run.settled = true;
  run.ack.reset();
  offers_nothing(run);
  suspect_runs_.erase(id);
  over_.push_back(id);
}

void WorkerDispatcher::sweep() {
  for (const RunId id : std::exchange(over_, {})) forget_if_over(id);
}

// A run is kept until its thread is back, too, and until it is known to have begun.
void WorkerDispatcher::forget_if_over(RunId id) {
  const auto run = runs_.find(id);
  if (run == runs_.end() || !run->second.settled || !run->second.returned || run->second.starting) return;
  runs_.erase(run);
}

bool WorkerDispatcher::all_told() const noexcept {
  const bool settled = std::all_of(runs_.begin(), runs_.end(), [](const auto& entry) { return entry.second.settled; });
  return settled && to_stop_.empty() && to_give_back_.empty() && !gives_up_sessions() && only_waits();
}

std::vector<std::string> WorkerDispatcher::running_names() const {
  std::vector<std::string> names;
  for (const auto& [id, run] : runs_) {
    if (!run.returned) names.push_back(run.record.name);
  }
  return names;
}

}  // namespace perdure::runtime
