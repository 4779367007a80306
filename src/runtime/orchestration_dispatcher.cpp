#include "runtime/orchestration_dispatcher.h"

#include <algorithm>
#include <utility>

#include <perdure/engine_metrics.h>
#include "model/check.h"
#include "model/planted_fault.h"

namespace perdure::runtime {

namespace {

template <class Alternative>
bool is_request(std::size_t kind) {
  return orchestration::RequestBody(Alternative{}).index() == kind;
}

bool will_never_run(const OrchestrationItem& item) {
  return item.metadata && is_terminal(item.metadata->status) &&
         item.metadata->status != ExecutionStatus::kContinuedAsNew;
}

template <class Jobs>
void move_due(std::multimap<Timestamp, std::uint64_t>& later, Jobs& due, Timestamp now) {
  while (!later.empty() && later.begin()->first <= now) {
    due.push_back(later.begin()->second);
    later.erase(later.begin());
  }
}

OrchestrationItem without_contents(const OrchestrationItem& item) {
  return {.instance = item.instance,
          .token = item.token,
          .locked_until = item.locked_until,
          .attempt_count = item.attempt_count,
          .metadata = item.metadata,
          .incarnation = item.incarnation,
          .execution_id = item.execution_id,
          .last_event_id = item.last_event_id,
          .messages = {},
          .end_requests = {},
          .history = {},
          .continuation_missing = item.continuation_missing};
}

}  // namespace

OrchestrationDispatcher::OrchestrationDispatcher(const RuntimeOptions& options, const Capabilities& store,
                                                 std::string owner, CapabilityFilter filter, RandomIds ids,
                                                 std::shared_ptr<WorkPlaces> places,
                                                 std::shared_ptr<StoreHealth> health)
    : owner_(std::move(owner)),
      filter_(std::move(filter)),
      max_turns_(options.orchestration_concurrency),
      max_locked_(options.max_locked_instances),
      max_attempts_(options.max_attempts),
      lock_timeout_(options.orchestrator_lock_timeout),
      long_poll_(options.long_poll_timeout),
      logger_(options.logger.with_target(log_target::kOrchestrationDispatcher)),
      metrics_(options.metrics),
      ids_(ids),
      health_(health ? std::move(health) : std::make_shared<StoreHealth>(owner_, options)),
      search_(store.wake_ups, options.min_poll_interval),
      cache_(options.cached_executions, options.cached_bytes) {
  // A turn of a held instance needs its execution at hand: without a cache it would have to read the history first.
  if (options.fast_path && store.fast_path && cache_.enabled()) places_ = std::move(places);
}

// ---- what is to be done --------------------------------------------------------------------------------------------

std::optional<orchestration::Request> OrchestrationDispatcher::next(Timestamp now) {
  move_due(to_commit_again_, to_commit_alone_, now);
  move_due(to_read_again_, to_read_, now);
  move_due(to_give_back_again_, to_give_back_, now);
  may_fetch_ = health_->is_available() || may_fetch(now);
  if (now >= lapse_at_) forget_lapsed_locks(now);
  join_or_run(now);
  // What frees locks comes before what takes them.
  if (auto wanted = renew(now)) return wanted;
  if (auto wanted = commit(now)) return wanted;
  if (auto wanted = give_back()) return wanted;
  if (auto wanted = run_turn()) return wanted;
  if (auto wanted = read_history()) return wanted;
  return look_for_work(now);
}

Timestamp OrchestrationDispatcher::wake_at() const noexcept {
  Timestamp at = search_.wake_at(room(), suspects_ == 0);
  if (!renewing_) at = std::min(at, renew_at_);
  if (!committing_ && (!to_commit_.empty() || !to_commit_alone_.empty())) at = std::min(at, gate_.opens_at());
  for (const auto* later : {&to_commit_again_, &to_read_again_, &to_give_back_again_}) {
    if (!later->empty()) at = std::min(at, later->begin()->first);
  }
  return at;
}

orchestration::Request OrchestrationDispatcher::request(Body body, std::vector<JobId> jobs) {
  const RequestId id = ++last_request_;
  outstanding_.emplace(id, Outstanding{body.index(), std::move(jobs), {}, {}});
  return {id, std::move(body)};
}

std::optional<orchestration::Request> OrchestrationDispatcher::renew(Timestamp now) {
  if (renewing_ || now < renew_at_) return std::nullopt;
  orchestration::Renew renewal{.tokens = {}, .extend_for = lock_timeout_};
  std::vector<JobId> jobs;
  renew_at_ = Timestamp::max();
  for (auto& [id, job] : jobs_) {
    if (job.lease.renew_at() <= now) {
      renewal.tokens.push_back(job.lease.token());
      jobs.push_back(id);
    } else {
      renew_at_ = std::min(renew_at_, job.lease.renew_at());
    }
  }
  if (jobs.empty()) return std::nullopt;
  renewing_ = true;
  std::vector<LockToken> tokens = renewal.tokens;
  auto wanted = request(std::move(renewal), std::move(jobs));
  outstanding_.at(wanted.id).tokens = std::move(tokens);
  return wanted;
}

std::optional<orchestration::Request> OrchestrationDispatcher::give_back() {
  if (to_give_back_.empty()) return std::nullopt;
  orchestration::GiveBack given;
  std::vector<JobId> jobs;
  jobs.swap(to_give_back_);
  for (const JobId id : jobs) given.abandons.push_back(jobs_.at(id).abandon);
  return request(std::move(given), std::move(jobs));
}

std::optional<orchestration::Request> OrchestrationDispatcher::run_turn() {
  if (to_run_.empty() || turns_ == max_turns_) return std::nullopt;
  const JobId id = to_run_.front();
  to_run_.pop_front();
  ++turns_;
  if (places_) hand_completions(id);
  report_lookup(jobs_.at(id));
  return request(orchestration::RunTurn{std::exchange(jobs_.at(id).task, {})}, {id});
}

// Not all at once: renewals and commits would stand behind them in the queue for a thread until their locks end.
std::optional<orchestration::Request> OrchestrationDispatcher::read_history() {
  if (to_read_.empty() || reads_ > max_turns_) return std::nullopt;
  const JobId id = to_read_.front();
  to_read_.pop_front();
  Job& job = jobs_.at(id);
  job.phase = Phase::kReading;
  ++reads_;
  const EventId after = job.task.kept ? job.task.kept->code->last_event_id() : 0;
  return request(orchestration::ReadHistory{job.lease.token(), after}, {id});
}

std::optional<orchestration::Request> OrchestrationDispatcher::look_for_work(Timestamp now) {
  switch (search_.next(now, room(), suspects_ == 0)) {
    case WorkSearch::Step::kFetch:
      ++fetches_;
      return request(orchestration::Fetch{fetch_options()});
    case WorkSearch::Step::kAwait:
      return request(orchestration::Await{fetch_options(), now + long_poll_, search_.wait().get_token()});
    case WorkSearch::Step::kEndWait:
      return request(orchestration::EndWait{search_.wait()});
    case WorkSearch::Step::kNothing:
      break;
  }
  return std::nullopt;
}

OrchestrationFetch OrchestrationDispatcher::fetch_options() const {
  OrchestrationFetch fetch;
  fetch.limit = room();
  fetch.lock_timeout = lock_timeout_;
  fetch.owner = owner_;
  fetch.filter = filter_;
  fetch.suspects = {.from_attempts = std::max(max_attempts_ / 2, 1U), .admit = suspects_ == 0};
  // With a cache most histories are at hand; without one each is needed.
  fetch.with_history = !cache_.enabled();
  return fetch;
}

// ---- what came of it -----------------------------------------------------------------------------------------------

void OrchestrationDispatcher::answer(RequestId id, orchestration::Answer answer, Timestamp now) {
  const auto found = outstanding_.find(id);
  PERDURE_CHECK(found != outstanding_.end(), "a request has one response");
  Outstanding request = std::move(found->second);
  outstanding_.erase(found);
  if (is_request<orchestration::Fetch>(request.kind)) {
    fetched(std::get<ProviderResult<OrchestrationBatch>>(std::move(answer)), now);
  } else if (is_request<orchestration::Await>(request.kind)) {
    awaited(std::get<ProviderResult<bool>>(answer), now);
  } else if (is_request<orchestration::ReadHistory>(request.kind)) {
    history_read(request.jobs.front(), std::get<ProviderResult<StoredHistory>>(std::move(answer)), now);
  } else if (is_request<orchestration::RunTurn>(request.kind)) {
    turn_decided(request.jobs.front(), std::get<TurnDecision>(std::move(answer)), now);
  } else if (is_request<orchestration::Commit>(request.kind)) {
    committed(request, std::get<std::vector<ProviderResult<CommitAnswer>>>(std::move(answer)), now);
  } else if (is_request<orchestration::GiveBack>(request.kind)) {
    given_back(request, std::get<std::vector<ProviderResult<void>>>(answer), now);
  } else if (is_request<orchestration::Renew>(request.kind)) {
    renewed(request, std::get<std::vector<ProviderResult<Timestamp>>>(answer), now);
  }
}

void OrchestrationDispatcher::fetched(ProviderResult<OrchestrationBatch> batch, Timestamp now) {
  if (!batch) {
    const Milliseconds rest = search_.fetch_failed(now);
    health_->failed(StoreCall::kFetchInstances, batch.error(), now);
    metrics_.add(metric::kStoreBackoff, {{"kind", "orchestration"}});
    logger_.warn("fetching instances failed; retrying after backoff",
                 {{"worker_id", owner_},
                  {"error", batch.error().to_string()},
                  {"retry_after_ms", std::to_string(rest.count())}});
    return;
  }
  const std::size_t suspects_before = suspects_;
  const std::size_t items = batch->items.size();
  for (OrchestrationItem& item : batch->items) arrived(std::move(item), batch->now);
  search_.fetched(items, suspects_ > suspects_before);
  health_->succeeded(StoreCall::kFetchInstances, now);
  // With nothing to repeat and nothing fetched, no commit will show that the store works again.
  if (items == 0 && !repeats_anything()) health_->succeeded(StoreCall::kStoreTurns, now);
  if (health_->is_available()) {
    search_.resume();
  } else {
    search_.hold_off(now);
  }
}

void OrchestrationDispatcher::awaited(const ProviderResult<bool>& found, Timestamp now) {
  if (found) return search_.awaited();
  const Milliseconds rest = search_.await_failed(now);
  metrics_.add(metric::kStoreBackoff, {{"kind", "orchestration"}});
  logger_.warn(
      "waiting for work failed; retrying after backoff",
      {{"worker_id", owner_}, {"error", found.error().to_string()}, {"retry_after_ms", std::to_string(rest.count())}});
}

// A kept execution is used if it has not fallen behind in a way that cannot be caught up. What is going to end without
// its code needs the whole history.
void OrchestrationDispatcher::take_on(OrchestrationItem item, Timestamp now, bool held) {
  const JobId id = ++last_job_;
  // The commit extends a lock that was kept for some time, so there is no hurry to renew it.
  Job job{.lease = Lease(item.token, item.locked_until, held ? lock_timeout_ / 2 : lock_timeout_),
          .task = {},
          .decision = {},
          .instance = item.instance,
          .suspect = item.attempt_count > std::max(max_attempts_ / 2, 1U)};
  renew_at_ = std::min(renew_at_, job.lease.renew_at());
  if (job.suspect) ++suspects_;
  auto kept = cache_.take(item.instance);
  const bool usable = kept && kept->incarnation == item.incarnation && kept->id == item.execution_id && item.metadata &&
                      item.metadata->status == ExecutionStatus::kRunning && item.attempt_count <= max_attempts_ &&
                      kept->code->last_event_id() <= item.last_event_id;
  bool complete = true;
  if (usable) {
    complete = kept->code->last_event_id() == item.last_event_id || planted(PlantedFault::kStaleExecutionUsed);
    job.task.kept = std::move(kept);
  } else {
    give_up(std::move(kept));
    if (item.history) {
      job.task.history = std::move(*item.history);
    } else {
      complete = item.last_event_id == 0 || will_never_run(item);
    }
  }
  item.history.reset();
  job.basis = without_contents(item);
  if (places_) {
    job.held = held;
    here_[item.instance].job = id;
  }
  job.task.now = now;
  job.task.entropy = ids_.entropy();
  job.task.commit_id = ids_.number();
  job.task.item = std::move(item);
  jobs_.emplace(id, std::move(job));
  if (draining_) return give_back_later(id, Milliseconds(0), true);
  (complete ? to_run_ : to_read_).push_back(id);
}

void OrchestrationDispatcher::history_read(JobId id, ProviderResult<StoredHistory> history, Timestamp now) {
  --reads_;
  Job& job = jobs_.at(id);
  if (job.overtaken_by) {
    keep(job.instance, std::exchange(job.task.kept, std::nullopt));
    return finish(id, now);
  }
  if (history) {
    job.task.history = std::move(*history);
    health_->accepted(AcceptedCall::kRead);
    const bool repeated = std::exchange(job.repeats, {}).failures() > 0;
    if (repeated) call_accepted(now);
    if (draining_) return give_back_later(id, Milliseconds(0), true);
    to_run_.push_back(id);
    return;
  }
  read_failed(id, history.error(), now);
}

// A refused abandon is repeated until the store takes it or the token is superseded: until then the attempt counts.
void OrchestrationDispatcher::given_back(const Outstanding& request, const std::vector<ProviderResult<void>>& answers,
                                         Timestamp now) {
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    const JobId id = request.jobs[i];
    Job& job = jobs_.at(id);
    if (answers[i]) health_->succeeded(StoreCall::kLockInstances, now);
    if (answers[i] || answers[i].error().kind() == ProviderErrorKind::kLockLost) {
      finish(id, now);
      if (answers[i]) call_accepted(now);
      continue;
    }
    const ProviderError& error = answers[i].error();
    // An abandon carries no data of the instance, so the same call fails again. Its lock expires, another fetch takes
    // it over, and the attempt counts, as after every data error that is the instance's own.
    if (error.data_error()) {
      tell(LogLevel::kWarn, job, "instance not abandoned; its lock will expire", {"error", error.to_string()});
      finish(id, now);
      continue;
    }
    if (job.repeats.failures() == 0) {
      tell(LogLevel::kWarn, job, "instance not abandoned; retrying after backoff", {"error", error.to_string()});
    }
    store_failed(job, StoreCall::kLockInstances, error, now);
    job.repeats.failed();
    if (planted(PlantedFault::kAbandonForgotten)) {
      finish(id, now);
      continue;
    }
    to_give_back_again_.emplace(now + job.repeats.delay(), id);
  }
}

void OrchestrationDispatcher::renewed(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers,
                                      Timestamp now) {
  renewing_ = false;
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    const auto job = jobs_.find(request.jobs[i]);
    if (job == jobs_.end()) continue;  // committed meanwhile
    Lease& lease = job->second.lease;
    if (lease.token() != request.tokens[i]) continue;  // fetched anew meanwhile
    if (answers[i]) {
      lease.renewed(*answers[i]);
      health_->succeeded(StoreCall::kLockInstances, now);
      tell(LogLevel::kTrace, job->second, "lock renewed");
    } else if (answers[i].error().kind() != ProviderErrorKind::kLockLost) {
      store_failed(job->second, StoreCall::kLockInstances, answers[i].error(), now);
      lease.renew_failed(now);
    } else {
      lease.lose();  // its commit will say so
    }
    renew_at_ = std::min(renew_at_, lease.renew_at());
  }
}

// ---- jobs ----------------------------------------------------------------------------------------------------------

void OrchestrationDispatcher::give_back_later(JobId id, Milliseconds delay, bool ignore_attempt) {
  Job& job = jobs_.at(id);
  give_up(std::exchange(job.task.kept, std::nullopt));
  job.overtaken_by.reset();
  job.phase = Phase::kGivenBack;
  job.repeats = {};
  job.abandon = {job.lease.token(), delay, ignore_attempt};
  to_give_back_.push_back(id);
}

void OrchestrationDispatcher::give_up(std::optional<KeptExecution> kept) {
  if (kept) effects_.given_up.push_back(std::move(*kept));
}

void OrchestrationDispatcher::keep(const std::string& instance, std::optional<KeptExecution> execution) {
  if (!execution) return;
  if (!cache_.enabled()) return give_up(std::move(execution));
  give_up(cache_.take(instance));  // an older one of the same instance makes no room: it is no eviction
  auto evicted = cache_.put(instance, std::move(*execution));
  if (!evicted.empty()) metrics_.add(metric::kCacheEvictions, {}, evicted.size());
  for (KeptExecution& old : evicted) effects_.given_up.push_back(std::move(old));
}

void OrchestrationDispatcher::finish(JobId id, Timestamp now) {
  const auto found = jobs_.find(id);
  Job job = std::move(found->second);
  jobs_.erase(found);
  give_up(std::move(job.decision.kept));
  give_up(std::move(job.task.kept));
  if (job.suspect) --suspects_;
  if (places_) finished(id, std::move(job), now);
}

OrchestrationEffects OrchestrationDispatcher::take_effects() {
  return std::exchange(effects_, {});
}

void OrchestrationDispatcher::drain() {
  if (std::exchange(draining_, true)) return;
  search_.stop();
  move_due(to_read_again_, to_read_, Timestamp::max());
  for (const JobId id : std::exchange(to_read_, {})) give_back_later(id, Milliseconds(0), true);
  for (const JobId id : std::exchange(to_run_, {})) give_back_later(id, Milliseconds(0), true);
  for (const JobId id : std::exchange(to_join_, {})) give_back_later(id, Milliseconds(0), true);
  let_all_go();
}

}  // namespace perdure::runtime
