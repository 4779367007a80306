// OrchestrationDispatcher: which instances this node works on, and what is to be done with each of them next.
//
// It does nothing by itself. next() says what is wanted now, as a value; whoever carries it out brings the answer back.
//
//   fetched ─► [history is read] ─► turn runs ─┬─► committed ─► kept in the cache
//                                              └─► given back
//
// In parallel, locks are renewed when half of their time is gone, and a fetch or a wait for work is in progress as long
// as there is capacity. Used by one thread at a time.
//
// A call that fails because of the store is repeated and does not count as an attempt. Until the store works again the
// dispatcher fetches one instance at a time. A data error counts against the instance, which ends as poison after its
// last attempt: orchestration_commits.cpp.
//
// The fast path: a commit claims activities for the worker of this node and keeps the lock while they run, so that
// their completions lead to the next turn without the queue. Such an instance is held: it is locked, but nothing is
// done for it, and its lock ends if that takes long.
//
//   committed ─► held ─► a claimed activity ends ─► turn runs ─► committed, and so on
//
// The store does not know of a turn that began like this. A message for the instance may be fetched meanwhile, with a
// new lock: the turn then goes on under that one, and what was fetched is left for the next turn.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <perdure/provider.h>
#include <perdure/runtime_options.h>
#include "model/planted_fault.h"
#include "runtime/bounded_label.h"
#include "runtime/instance_cache.h"
#include "runtime/lease.h"
#include "runtime/local_work.h"
#include "runtime/orchestration_requests.h"
#include "runtime/random_ids.h"
#include "runtime/store_gate.h"
#include "runtime/store_health_threads.h"
#include "runtime/work_places.h"
#include "runtime/work_search.h"

namespace perdure::runtime {

// What follows from answers outside of the dispatcher.
struct OrchestrationEffects : NewsForWorker {
  std::vector<KeptExecution> given_up;  // to be destroyed where user code may run
};

class OrchestrationDispatcher {
 public:
  // `owner` is this node to the store; `filter` is what it is able to run; `places` are those of the worker beside it,
  // without which there is no fast path; `health` is the node's. If null, the dispatcher has its own.
  OrchestrationDispatcher(const RuntimeOptions& options, const Capabilities& store, std::string owner,
                          CapabilityFilter filter, RandomIds ids, std::shared_ptr<WorkPlaces> places = nullptr,
                          std::shared_ptr<StoreHealth> health = nullptr);

  // Nothing: only an answer, news, or the time of wake_at(), changes anything.
  [[nodiscard]] std::optional<orchestration::Request> next(Timestamp now);
  [[nodiscard]] Timestamp wake_at() const noexcept;
  // Of a request that next() gave out; each is answered once.
  void answer(RequestId id, orchestration::Answer answer, Timestamp now);
  // The clock of the store was set forward by this much.
  void clock_jumped(Milliseconds by);
  // What the worker says.
  void hear(NewsForTurns news, Timestamp now);
  // To be asked for behind every call.
  [[nodiscard]] OrchestrationEffects take_effects();
  // The part of them that runs no code of the user.
  [[nodiscard]] NewsForWorker take_news() { return std::exchange(static_cast<NewsForWorker&>(effects_), {}); }
  [[nodiscard]] bool has_news() const noexcept { return !effects_.empty(); }

  // Begins nothing new and gives back what has not begun, without counting it.
  void drain();
  // Abandons the turns whose commits the store refuses, uncounted: an ended node repeats no call.
  void stop_repeating();
  // Nothing is locked and nothing is under way.
  [[nodiscard]] bool idle() const noexcept { return jobs_.empty() && outstanding_.empty() && !holds_locks(); }
  // The same, but for a wait for work.
  [[nodiscard]] bool resting() const noexcept {
    return jobs_.empty() && outstanding_.size() == (search_.awaiting() ? 1U : 0U) && !holds_locks();
  }

 private:
  static constexpr Milliseconds kRestAfterFailedCommit{50};

  using JobId = std::uint64_t;
  // Where a job stands: nothing was begun for it; its history is being read; its turn has begun; it is given back.
  enum class Phase : std::uint8_t { kQueued, kReading, kTurn, kGivenBack };
  struct FetchedItem {
    OrchestrationItem item;
    Timestamp now{};
  };
  struct Job {
    Lease lease;
    TurnTask task;          // until its turn runs
    TurnDecision decision;  // from then on
    std::string instance;
    bool suspect = false;
    Repeats repeats{};                                   // of its commit, or of the read of its history
    bool store_failed = false;                           // a call for it failed, which may cost it its lock
    bool ends_as_poison = false;                         // the store has refused its turn for good
    Abandon abandon{};                                   // once it is abandoned
    OrchestrationItem basis{};                           // what the turn starts from, without messages and history
    std::chrono::steady_clock::time_point decided_at{};  // only if somebody counts

    // The fast path
    Phase phase = Phase::kQueued;
    bool held = false;                           // begun under a lock that was kept, which a fetch may take away
    std::vector<LocalCompletion> completions{};  // what the turn got
    std::size_t reserved = 0;                    // places that its commit may claim
    std::uint64_t joins_fetch = 0;               // of to_join_: fetches from this one on may bring messages for it
    std::optional<FetchedItem> overtaken_by{};   // the instance was fetched meanwhile; the lease is that one's
  };
  // An instance whose lock was kept.
  struct KeptLock {
    OrchestrationItem item;           // as a fetch would bring it, without messages
    Timestamp as_of{};                // the store's time then
    Timestamp heard_at{};             // this node's
    std::uint64_t messages_with = 0;  // there are some, and a fetch from this one on will bring them; 0: there are none
  };
  // What is known of an instance that is worked on, or that has claimed activities here.
  struct Here {
    std::optional<JobId> job;              // the latest one
    std::optional<KeptLock> lock;          // only without a job
    std::set<ActivityOfInstance> running;  // claimed activities that may still offer an outcome
    std::vector<LocalCompletion> pending;  // taken, for the next turn; only with a job
  };
  struct Outstanding {
    std::size_t kind = 0;     // index in RequestBody
    std::vector<JobId> jobs;  // whom it concerns, in its order
    std::shared_ptr<const std::vector<TurnCommit>> commits;
    std::vector<LockToken> tokens;  // of a renewal
  };
  using Body = orchestration::RequestBody;

  [[nodiscard]] orchestration::Request request(Body body, std::vector<JobId> jobs = {});
  [[nodiscard]] std::optional<orchestration::Request> renew(Timestamp now);
  [[nodiscard]] std::optional<orchestration::Request> commit(Timestamp now);
  [[nodiscard]] std::optional<orchestration::Request> give_back();
  [[nodiscard]] std::optional<orchestration::Request> run_turn();
  [[nodiscard]] std::optional<orchestration::Request> read_history();
  [[nodiscard]] std::optional<orchestration::Request> look_for_work(Timestamp now);
  [[nodiscard]] OrchestrationFetch fetch_options() const;
  // While the store is unavailable: for one item, as a probe.
  [[nodiscard]] std::size_t room() const noexcept {
    const std::size_t all = max_locked_ - std::min(max_locked_, jobs_.size());
    if (health_->is_available() || planted(PlantedFault::kNoProbe)) return all;
    return std::min<std::size_t>(all, may_fetch_ ? 1 : 0);
  }

  void fetched(ProviderResult<OrchestrationBatch> batch, Timestamp now);
  void awaited(const ProviderResult<bool>& found, Timestamp now);
  void history_read(JobId id, ProviderResult<StoredHistory> history, Timestamp now);
  void turn_decided(JobId id, TurnDecision decision, Timestamp now);
  void committed(Outstanding& request, std::vector<ProviderResult<CommitAnswer>> answers, Timestamp now);
  void given_back(const Outstanding& request, const std::vector<ProviderResult<void>>& answers, Timestamp now);
  void renewed(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers, Timestamp now);

  void take_on(OrchestrationItem item, Timestamp now, bool held = false);
  void commit_succeeded(JobId id, const TurnCommit& commit, const CommitAnswer& answer, Timestamp now);
  void commit_failed(JobId id, TurnCommit commit, const ProviderError& error, bool alone, Timestamp now);
  void repeat_commit(JobId id, TurnCommit commit, Timestamp at);
  void abandon_unstored(JobId id);
  void drop_turn(Job& job, const TurnCommit& commit, const ProviderError& error);
  void discard_turn(Job& job);
  void commit_refused(JobId id, const TurnCommit& commit, const ProviderError& error);
  void end_as_poison(JobId id, const ProviderError& error);
  void read_failed(JobId id, const ProviderError& error, Timestamp now);
  void store_failed(Job& job, StoreCall call, const ProviderError& error, Timestamp now);
  // An abandon, or a read that had failed before.
  void call_accepted(Timestamp now);
  [[nodiscard]] bool repeats_anything() const noexcept;
  // While the store is unavailable.
  [[nodiscard]] bool may_fetch(Timestamp now) const noexcept;
  void give_back_later(JobId id, Milliseconds delay, bool ignore_attempt);
  void give_up(std::optional<KeptExecution> kept);
  void keep(const std::string& instance, std::optional<KeptExecution> execution);
  void finish(JobId id, Timestamp now);

  // The fast path: orchestration_fast_path.cpp
  void ask_for_fast_path(Job& job, TurnCommit& commit, Timestamp now);
  // Of the instance as the commit leaves it: the first commit creates it.
  [[nodiscard]] static std::uint64_t incarnation_after(const OrchestrationItem& before, const TurnCommit& commit) {
    return before.metadata ? before.incarnation : commit.commit_id;
  }
  [[nodiscard]] static bool is_of(const OrchestrationItem& item, std::uint64_t incarnation, ExecutionId execution) {
    return item.incarnation == incarnation && item.execution_id == execution;
  }
  void take_fast_answer(JobId id, const TurnCommit& commit, const CommitAnswer& answer, Timestamp now);
  void unreserve(Job& job);
  void offered(LocalCompletion completion, Timestamp now);
  void decline(std::vector<LocalCompletion>& completions);

  // Held instances: orchestration_held.cpp
  void arrived(OrchestrationItem item, Timestamp now);
  void begin_held(Here& here, Timestamp now);
  void join_or_run(Timestamp now);
  void hand_completions(JobId id);
  [[nodiscard]] bool moves_to_new_lock(Job& job, TurnCommit& commit);
  void start_over(JobId id, Timestamp now);
  void finished(JobId id, Job job, Timestamp now);
  void look_after(const std::string& instance, Timestamp now);
  void decline_foreign(std::vector<LocalCompletion>& pending, const OrchestrationItem& item);
  void let_go(const KeptLock& lock);
  void let_all_go();
  void forget_lapsed_locks(Timestamp now);
  [[nodiscard]] bool holds_locks() const noexcept {
    return std::any_of(here_.begin(), here_.end(), [](const auto& entry) { return entry.second.lock.has_value(); });
  }

  // Counting and logging: orchestration_reports.cpp
  void report_lookup(const Job& job) const;
  void report_committed(const Job& job);
  void report_counts(const TurnReport* turn, const TurnCounts& counts);
  void report_start(const TurnReport& turn);
  void report_end(const TurnReport& turn);
  void report_failure(const TurnReport& turn, std::string_view name, std::string_view version) const;
  void report_lost(const Job& job, const ProviderError& error, bool kept_lock) const;
  void report_cache() const;
  void tell(LogLevel level, const Job& job, std::string_view message, const LogField& more = {}) const;

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
  BoundedLabel names_;  // of orchestrations
  BoundedLabel versions_;
  BoundedLabel activities_;
  RandomIds ids_;
  std::shared_ptr<WorkPlaces> places_;  // null: without the fast path
  std::shared_ptr<StoreHealth> health_;

  WorkSearch search_;
  InstanceCache cache_;
  std::unordered_map<JobId, Job> jobs_;
  std::deque<JobId> to_read_;
  std::deque<JobId> to_run_;
  std::deque<JobId> to_join_;  // ready, but a fetch is about to bring messages that come first
  std::vector<JobId> to_commit_;
  std::vector<JobId> to_give_back_;
  std::deque<JobId> to_commit_alone_;  // commits that the store did not accept
  std::multimap<Timestamp, JobId> to_commit_again_;
  std::multimap<Timestamp, JobId> to_read_again_;
  std::multimap<Timestamp, JobId> to_give_back_again_;
  std::unordered_map<RequestId, Outstanding> outstanding_;
  std::unordered_map<std::string, Here> here_;  // empty without the fast path
  OrchestrationEffects effects_;

  RequestId last_request_ = 0;
  JobId last_job_ = 0;
  std::uint64_t fetches_ = 0;  // that have begun
  std::size_t turns_ = 0;      // running
  std::size_t reads_ = 0;      // of histories, under way
  std::size_t suspects_ = 0;   // among the jobs
  StoreGate gate_;             // of commits
  bool may_fetch_ = true;      // as of the latest look
  bool committing_ = false;
  bool renewing_ = false;
  bool draining_ = false;
  bool repeating_stopped_ = false;
  Timestamp renew_at_ = Timestamp::max();  // no lease needs it earlier
  Timestamp lapse_at_ = Timestamp::max();  // no kept lock ends earlier
};

}  // namespace perdure::runtime
