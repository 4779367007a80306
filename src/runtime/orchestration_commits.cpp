// How the orchestration dispatcher commits turns, and how it handles a store that fails or refuses a commit.
//
// A failure of the store does not count as an attempt: the same commit is repeated under its id, alone, while the lock
// can be renewed, and an expired lock is abandoned uncounted. A failure is the instance's own if its commit, sent
// alone, has a data error, or fails `max_attempts` times with a permanent error while the store takes turns of others.
#include <algorithm>
#include <chrono>
#include <utility>

#include <perdure/engine_metrics.h>
#include "model/planted_fault.h"
#include "runtime/orchestration_dispatcher.h"

namespace perdure::runtime {

namespace {

constexpr Milliseconds kRestAfterRefusedPoison{1'000};

}  // namespace

// One call at a time: turns that become ready during a call form the next batch, so commits gather under load. A commit
// that failed is sent alone, and so is every commit until the store accepts one. Until then commits that have not
// failed yet go first. Otherwise instances whose commits always fail would be the only probes and block all others.
std::optional<orchestration::Request> OrchestrationDispatcher::commit(Timestamp now) {
  if (committing_ || !gate_.is_open(now)) return std::nullopt;
  std::vector<JobId> jobs;
  if (gate_.probes() && !to_commit_.empty()) {
    jobs.push_back(to_commit_.front());
    to_commit_.erase(to_commit_.begin());
  } else if (!to_commit_alone_.empty()) {
    jobs.push_back(to_commit_alone_.front());
    to_commit_alone_.pop_front();
  } else {
    jobs.swap(to_commit_);
  }
  if (jobs.empty()) return std::nullopt;
  auto commits = std::make_shared<std::vector<TurnCommit>>();
  commits->reserve(jobs.size());
  for (const JobId id : jobs) {
    Job& job = jobs_.at(id);
    commits->push_back(std::move(std::get<TurnCommit>(job.decision.action)));
    if (job.overtaken_by && moves_to_new_lock(job, commits->back())) {
      tell(LogLevel::kDebug, job, "instance was refetched during the turn; committing under the new lock");
    }
    if (places_ && job.repeats.failures() == 0) ask_for_fast_path(job, commits->back(), now);
  }
  committing_ = true;
  auto wanted = request(orchestration::Commit{commits}, std::move(jobs));
  outstanding_.at(wanted.id).commits = std::move(commits);
  return wanted;
}

void OrchestrationDispatcher::turn_decided(JobId id, TurnDecision decision, Timestamp now) {
  --turns_;
  Job& job = jobs_.at(id);
  job.decision = std::move(decision);
  if (auto* abandon = std::get_if<Abandon>(&job.decision.action)) {
    decline(job.completions);
    return give_back_later(id, abandon->delay, abandon->ignore_attempt);
  }
  if (job.overtaken_by && !moves_to_new_lock(job, std::get<TurnCommit>(job.decision.action))) {
    return start_over(id, now);
  }
  if (repeating_stopped_ && gate_.probes()) return abandon_unstored(id);
  if (metrics_.enabled()) job.decided_at = std::chrono::steady_clock::now();
  to_commit_.push_back(id);
}

void OrchestrationDispatcher::committed(Outstanding& request, std::vector<ProviderResult<CommitAnswer>> answers,
                                        Timestamp now) {
  committing_ = false;
  const bool alone = request.jobs.size() == 1;
  const auto taken = [](const ProviderResult<CommitAnswer>& each) { return static_cast<bool>(each); };
  const auto failed = [](const ProviderResult<CommitAnswer>& each) {
    return !each && each.error().kind() != ProviderErrorKind::kLockLost && !each.error().data_error();
  };
  if (std::any_of(answers.begin(), answers.end(), taken)) {
    gate_.succeeded();
  } else if (std::any_of(answers.begin(), answers.end(), failed)) {
    gate_.failed(now);
    if (repeating_stopped_) stop_repeating();
  }
  // Failures first: an accepted commit of the same batch then shows that the store works.
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    if (!answers[i]) commit_failed(request.jobs[i], (*request.commits)[i], answers[i].error(), alone, now);
  }
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    if (answers[i]) commit_succeeded(request.jobs[i], (*request.commits)[i], *answers[i], now);
  }
  report_cache();
}

void OrchestrationDispatcher::commit_succeeded(JobId id, const TurnCommit& commit, const CommitAnswer& answer,
                                               Timestamp now) {
  Job& job = jobs_.at(id);
  if (!commit.events.empty()) health_->accepted(AcceptedCall::kTurn);
  const bool was_available = health_->is_available();
  health_->succeeded(StoreCall::kStoreTurns, now);
  if (!was_available && health_->is_available()) search_.resume();
  report_committed(job);
  for (const EventId activity : commit.cancelled_activities) {
    effects_.withdrawn.push_back({job.instance, incarnation_after(job.basis, commit), commit.execution_id, activity});
  }
  if (answer.more_messages) search_.expect_work();
  keep(job.instance, std::exchange(job.decision.kept, std::nullopt));
  if (places_) take_fast_answer(id, commit, answer, now);
  finish(id, now);
}

// The commit id makes it safe to repeat a commit whose fate is unknown. Whatever else is wrong, the execution in memory
// is not the one in the store any more.
void OrchestrationDispatcher::commit_failed(JobId id, TurnCommit commit, const ProviderError& error, bool alone,
                                            Timestamp now) {
  Job& job = jobs_.at(id);
  if (error.kind() == ProviderErrorKind::kLockLost) {
    // The commit may have arrived after a fetch.
    if (moves_to_new_lock(job, commit)) {
      job.decision.action = std::move(commit);
      to_commit_.push_back(id);
      return;
    }
    drop_turn(job, commit, error);
    // It may be the lock of a completed activity that is lost: then the instance's need not expire. One that expired
    // while the store failed has cost an attempt, which is taken back unless another fetch has superseded the token.
    const bool may_be_ours = job.store_failed || !commit.completed_work.empty();
    if (!may_be_ours || job.overtaken_by) return finish(id, now);
    return give_back_later(id, Milliseconds(0), true);
  }
  if (!error.data_error()) {
    store_failed(job, StoreCall::kStoreTurns, error, now);
    if (alone && !error.retryable()) {
      job.repeats.failed_alone(health_->accepted_calls(AcceptedCall::kTurn));
    } else {
      job.repeats.failed();
    }
    if (planted(PlantedFault::kStoreFailureCounts)) {
      drop_turn(job, commit, error);
      return give_back_later(id, Milliseconds(50), false);
    }
    if (!job.repeats.are_own(max_attempts_)) {
      return repeat_commit(id, std::move(commit), now + job.repeats.delay());
    }
  } else if (!alone) {
    return repeat_commit(id, std::move(commit), now);
  }
  drop_turn(job, commit, error);
  commit_refused(id, commit, error);
}

void OrchestrationDispatcher::repeat_commit(JobId id, TurnCommit commit, Timestamp at) {
  if (repeating_stopped_) return abandon_unstored(id);
  metrics_.add(metric::kStoreRetries, {{"operation", "ack_orchestration_item"}});
  jobs_.at(id).decision.action = std::move(commit);
  to_commit_again_.emplace(at, id);
}

// While the store refuses commits, a commit that has not been sent waits as well. A commit in progress decides itself:
// if the store refuses it, repeat_commit() abandons the instance.
void OrchestrationDispatcher::stop_repeating() {
  repeating_stopped_ = true;
  std::vector<JobId> refused(to_commit_alone_.begin(), to_commit_alone_.end());
  to_commit_alone_.clear();
  for (const auto& [at, id] : to_commit_again_) refused.push_back(id);
  to_commit_again_.clear();
  if (gate_.probes()) {
    refused.insert(refused.end(), to_commit_.begin(), to_commit_.end());
    to_commit_.clear();
  }
  for (const JobId id : refused) abandon_unstored(id);
}

// Otherwise the lock would expire, and the fetch would count as an attempt of the instance.
void OrchestrationDispatcher::abandon_unstored(JobId id) {
  Job& job = jobs_.at(id);
  tell(LogLevel::kWarn, job, "turn not stored before shutdown; instance abandoned");
  discard_turn(job);
  give_back_later(id, Milliseconds(0), true);
}

void OrchestrationDispatcher::drop_turn(Job& job, const TurnCommit& commit, const ProviderError& error) {
  report_lost(job, error, !commit.completed_work.empty());
  if (planted(PlantedFault::kFailedCommitKept) && job.decision.kept) {
    auto given_up = cache_.put(job.instance, *std::exchange(job.decision.kept, std::nullopt));
    for (KeptExecution& old : given_up) effects_.given_up.push_back(std::move(old));
  }
  discard_turn(job);
}

void OrchestrationDispatcher::discard_turn(Job& job) {
  give_up(std::exchange(job.decision.kept, std::nullopt));
  decline(job.completions);
  unreserve(job);
}

// The execution in memory may have caused the data error, so the node rebuilds it from the store and repeats the turn
// until the attempts are used up. Without a turn to end, such as with messages for an ended instance, the item is
// abandoned each time.
void OrchestrationDispatcher::commit_refused(JobId id, const TurnCommit& commit, const ProviderError& error) {
  const Job& job = jobs_.at(id);
  const bool used_up = job.basis.attempt_count >= max_attempts_ || !error.data_error();
  if (job.ends_as_poison || (used_up && !job.decision.report)) {
    return give_back_later(id, kRestAfterRefusedPoison, false);
  }
  if (!used_up || job.overtaken_by || commit.token != job.lease.token()) {
    return give_back_later(id, kRestAfterFailedCommit, false);
  }
  end_as_poison(id, error);
}

// Under the same lock: another node would not know the error of the store.
void OrchestrationDispatcher::end_as_poison(JobId id, const ProviderError& error) {
  Job& job = jobs_.at(id);
  job.ends_as_poison = true;
  job.phase = Phase::kQueued;
  job.held = false;
  job.repeats = {};
  job.task = {};
  job.task.item = job.basis;
  job.task.item.token = job.lease.token();
  job.task.item.messages = std::move(job.decision.messages);
  job.task.now = job.decision.report->now;
  job.task.entropy = ids_.entropy();
  job.task.commit_id = ids_.number();
  job.task.refusal = error.to_string();
  job.decision = {};
  (job.basis.last_event_id == 0 ? to_run_ : to_read_).push_back(id);
}

// Only an error of the stored data may be the instance's own: any other one, such as a statement that the server ended
// for lack of time, may be gone at the next read.
void OrchestrationDispatcher::read_failed(JobId id, const ProviderError& error, Timestamp now) {
  Job& job = jobs_.at(id);
  if (error.kind() == ProviderErrorKind::kLockLost) {
    tell(LogLevel::kWarn, job, "reading the history failed: lock lost", {"error", error.to_string()});
    metrics_.add(metric::kLocksLost, {{"kind", "orchestration"}});
    if (!job.store_failed) return finish(id, now);
    return give_back_later(id, Milliseconds(0), true);
  }
  if (job.repeats.failures() == 0) {
    tell(LogLevel::kWarn, job, "reading the history failed; retrying after backoff", {"error", error.to_string()});
  }
  if (error.data_error()) {
    job.repeats.refused();
  } else {
    store_failed(job, StoreCall::kStoreTurns, error, now);
    if (error.kind() == ProviderErrorKind::kCorruptData) {
      job.repeats.failed_alone(health_->accepted_calls(AcceptedCall::kRead));
    } else {
      job.repeats.failed();
    }
  }
  if (draining_) return give_back_later(id, Milliseconds(0), true);
  if (!job.repeats.are_own(max_attempts_)) {
    to_read_again_.emplace(now + job.repeats.delay(), id);
    return;
  }
  // It ends like one that cannot be decoded.
  give_up(std::exchange(job.task.kept, std::nullopt));
  job.ends_as_poison = true;
  job.repeats = {};
  job.task.refusal = error.to_string();
  job.task.history = {};
  job.task.history.error = error.to_string();
  to_run_.push_back(id);
}

void OrchestrationDispatcher::store_failed(Job& job, StoreCall call, const ProviderError& error, Timestamp now) {
  job.store_failed = true;
  health_->failed(call, error, now);
  if (!health_->is_available()) search_.hold_off(now);
}

// If no commit or read is left to be repeated, none will show that the store works again. Another call shows it, too:
// while the store accepts abandons, a commit that fails keeps its lock and is repeated.
void OrchestrationDispatcher::call_accepted(Timestamp now) {
  if (health_->is_available() || repeats_anything()) return;
  health_->succeeded(StoreCall::kStoreTurns, now);
  if (health_->is_available()) search_.resume();
}

bool OrchestrationDispatcher::repeats_anything() const noexcept {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& entry) { return entry.second.repeats.failures() > 0; });
}

bool OrchestrationDispatcher::may_fetch(Timestamp now) const noexcept {
  return std::none_of(jobs_.begin(), jobs_.end(), [now](const auto& entry) {
    return entry.second.repeats.failures() > 0 && keeps_from_fetching(entry.second.lease.until(), now);
  });
}

}  // namespace perdure::runtime
