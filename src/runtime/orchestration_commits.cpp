// How the orchestration dispatcher brings turns into the store.
#include <chrono>
#include <utility>

#include <perdure/engine_metrics.h>
#include "model/planted_fault.h"
#include "runtime/orchestration_dispatcher.h"

namespace perdure::runtime {

namespace {

constexpr int kCommitRetries = 5;
constexpr Milliseconds kFirstCommitRetry{10};  // doubling

}  // namespace

// One at a time: what becomes ready meanwhile makes up the next one, which is how commits gather under load.
std::optional<orchestration::Request> OrchestrationDispatcher::commit(Timestamp now) {
  if (committing_ || to_commit_.empty()) return std::nullopt;
  std::vector<JobId> jobs = std::exchange(to_commit_, {});
  auto commits = std::make_shared<std::vector<TurnCommit>>();
  commits->reserve(jobs.size());
  for (const JobId id : jobs) {
    Job& job = jobs_.at(id);
    commits->push_back(std::move(std::get<TurnCommit>(job.decision.action)));
    if (job.overtaken_by && moves_to_new_lock(job, commits->back())) {
      tell(LogLevel::kDebug, job, "a turn is committed under the lock that its instance was fetched with meanwhile");
    }
    if (places_ && job.retries == 0) ask_for_fast_path(job, commits->back(), now);
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
  if (metrics_.enabled()) job.decided_at = std::chrono::steady_clock::now();
  to_commit_.push_back(id);
}

void OrchestrationDispatcher::committed(Outstanding& request, std::vector<ProviderResult<CommitAnswer>> answers,
                                        Timestamp now) {
  committing_ = false;
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    const TurnCommit& commit = (*request.commits)[i];
    if (answers[i]) {
      commit_succeeded(request.jobs[i], commit, *answers[i], now);
    } else {
      commit_failed(request.jobs[i], commit, answers[i].error(), now);
    }
  }
  report_cache();
}

void OrchestrationDispatcher::commit_succeeded(JobId id, const TurnCommit& commit, const CommitAnswer& answer,
                                               Timestamp now) {
  Job& job = jobs_.at(id);
  report_committed(job);
  for (const EventId activity : commit.cancelled_activities) {
    effects_.withdrawn.push_back({job.instance, commit.execution_id, activity});
  }
  if (answer.more_messages) search_.expect_work();
  keep(job.instance, std::exchange(job.decision.kept, std::nullopt));
  if (places_) take_fast_answer(id, commit, answer, now);
  finish(id, now);
}

// The commit id makes it safe to repeat a commit whose fate is unknown. Whatever else is wrong, the execution in memory
// is not the one in the store any more.
void OrchestrationDispatcher::commit_failed(JobId id, TurnCommit commit, const ProviderError& error, Timestamp now) {
  Job& job = jobs_.at(id);
  if (error.retryable() && job.retries < kCommitRetries) {
    to_commit_again_.emplace(now + kFirstCommitRetry * (1 << job.retries), id);
    ++job.retries;
    metrics_.add(metric::kStoreRetries, {{"operation", "ack_orchestration_item"}});
    job.decision.action = std::move(commit);
    return;
  }
  // The commit may have come behind a fetch.
  if (error.kind() == ProviderErrorKind::kLockLost && moves_to_new_lock(job, commit)) {
    job.decision.action = std::move(commit);
    to_commit_.push_back(id);
    return;
  }
  report_lost(job, error, !commit.completed_work.empty());
  if (planted(PlantedFault::kFailedCommitKept) && job.decision.kept) {
    auto given_up = cache_.put(job.instance, *std::exchange(job.decision.kept, std::nullopt));
    for (KeptExecution& old : given_up) effects_.given_up.push_back(std::move(old));
  }
  give_up(std::exchange(job.decision.kept, std::nullopt));
  decline(job.completions);
  unreserve(job);
  if (error.kind() != ProviderErrorKind::kLockLost) return give_back_later(id, kRestAfterFailedCommit, false);
  // It may be the lock of a completed activity that is lost. Then nobody should have to wait for the instance's.
  if (commit.completed_work.empty() || job.overtaken_by) return finish(id, now);
  give_back_later(id, Milliseconds(0), true);
}

}  // namespace perdure::runtime
