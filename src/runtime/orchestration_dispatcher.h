// OrchestrationDispatcher: which instances this node works on, and what is to be done with each of them next.
//
// It does nothing by itself. next() says what is wanted now, as a value; whoever carries it out brings the answer back.
//
//   fetched ─► [history is read] ─► turn runs ─┬─► committed ─► kept in the cache
//                                              └─► given back
//
// Beside this path locks are renewed when half of their time is gone, commits whose answer was an error are repeated,
// and a fetch or a wait for work goes on as long as there is room. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <perdure/provider.h>
#include <perdure/runtime_options.h>
#include "runtime/instance_cache.h"
#include "runtime/lease.h"
#include "runtime/orchestration_requests.h"
#include "runtime/random_ids.h"
#include "runtime/work_search.h"

namespace perdure::runtime {

// An activity that a committed turn withdrew.
struct WithdrawnActivity {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  EventId activity_id = 0;
};

// What follows from answers outside of the dispatcher.
struct OrchestrationEffects {
  std::vector<WithdrawnActivity> withdrawn;  // to be stopped if they run here
  std::vector<KeptExecution> given_up;       // to be destroyed where user code may run
};

class OrchestrationDispatcher {
 public:
  // `owner` is this node to the store; `filter` is what it is able to run.
  OrchestrationDispatcher(const RuntimeOptions& options, const Capabilities& store, std::string owner,
                          CapabilityFilter filter, RandomIds ids);

  // Nothing: only an answer, or the time of wake_at(), changes anything.
  [[nodiscard]] std::optional<orchestration::Request> next(Timestamp now);
  [[nodiscard]] Timestamp wake_at() const noexcept;
  // Of a request that next() gave out; each is answered once.
  void answer(RequestId id, orchestration::Answer answer, Timestamp now);
  [[nodiscard]] OrchestrationEffects take_effects();

  // Begins nothing new and gives back what has not begun, without counting it.
  void drain();
  // Nothing is locked and nothing is under way.
  [[nodiscard]] bool idle() const noexcept { return jobs_.empty() && outstanding_.empty(); }
  // The same, but for a wait for work.
  [[nodiscard]] bool resting() const noexcept {
    return jobs_.empty() && outstanding_.size() == (search_.awaiting() ? 1U : 0U);
  }

 private:
  using JobId = std::uint64_t;
  struct Job {
    Lease lease;
    TurnTask task;          // until its turn runs
    TurnDecision decision;  // from then on
    std::string instance;
    bool suspect = false;
    int retries = 0;
  };
  struct Outstanding {
    std::size_t kind = 0;     // index in RequestBody
    std::vector<JobId> jobs;  // whom it concerns, in its order
    std::shared_ptr<const std::vector<TurnCommit>> commits;
  };
  using Body = orchestration::RequestBody;

  [[nodiscard]] orchestration::Request request(Body body, std::vector<JobId> jobs = {});
  [[nodiscard]] std::optional<orchestration::Request> renew(Timestamp now);
  [[nodiscard]] std::optional<orchestration::Request> commit();
  [[nodiscard]] std::optional<orchestration::Request> give_back();
  [[nodiscard]] std::optional<orchestration::Request> run_turn();
  [[nodiscard]] std::optional<orchestration::Request> read_history();
  [[nodiscard]] std::optional<orchestration::Request> look_for_work(Timestamp now);
  [[nodiscard]] OrchestrationFetch fetch_options() const;
  [[nodiscard]] std::size_t room() const noexcept { return max_locked_ - std::min(max_locked_, jobs_.size()); }

  void fetched(ProviderResult<OrchestrationBatch> batch, Timestamp now);
  void awaited(const ProviderResult<bool>& found, Timestamp now);
  void history_read(JobId id, ProviderResult<StoredHistory> history);
  void turn_decided(JobId id, TurnDecision decision);
  void committed(Outstanding& request, std::vector<ProviderResult<CommitAnswer>> answers, Timestamp now);
  void given_back(const Outstanding& request, const std::vector<ProviderResult<void>>& answers);
  void renewed(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers, Timestamp now);

  void take_on(OrchestrationItem item, Timestamp now);
  void commit_succeeded(JobId id, const TurnCommit& commit, const CommitAnswer& answer);
  void commit_failed(JobId id, TurnCommit commit, const ProviderError& error, Timestamp now);
  void give_back_later(JobId id, Milliseconds delay, bool ignore_attempt);
  void give_up(std::optional<KeptExecution> kept);
  void finish(JobId id);
  void report(const TurnReport& turn) const;
  void report_end(const TurnReport& turn) const;

  // Options
  std::string owner_;
  CapabilityFilter filter_;
  std::size_t max_turns_;
  std::size_t max_locked_;
  std::uint32_t max_attempts_;
  Milliseconds lock_timeout_;
  Milliseconds long_poll_;
  Logger logger_;
  Metrics metrics_;
  RandomIds ids_;

  WorkSearch search_;
  InstanceCache cache_;
  std::unordered_map<JobId, Job> jobs_;
  std::deque<JobId> to_read_;
  std::deque<JobId> to_run_;
  std::vector<JobId> to_commit_;
  std::vector<std::pair<JobId, Abandon>> to_give_back_;
  std::multimap<Timestamp, JobId> to_commit_again_;
  std::unordered_map<RequestId, Outstanding> outstanding_;
  OrchestrationEffects effects_;

  RequestId last_request_ = 0;
  JobId last_job_ = 0;
  std::size_t turns_ = 0;     // running
  std::size_t suspects_ = 0;  // among the jobs
  bool committing_ = false;
  bool renewing_ = false;
  bool draining_ = false;
  Timestamp renew_at_ = Timestamp::max();  // no lease needs it earlier
};

}  // namespace perdure::runtime
