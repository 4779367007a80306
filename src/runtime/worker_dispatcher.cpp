// What the worker dispatcher wants done.
#include "runtime/worker_dispatcher.h"

#include <algorithm>
#include <utility>

#include <perdure/engine_metrics.h>
#include "model/check.h"
#include "model/message_codec.h"
#include "model/planted_fault.h"
#include "model/reserved_names.h"
#include "providers/times.h"

namespace perdure::runtime {

namespace {

template <class Alternative>
bool is_request_for(std::size_t kind) {
  return worker::RequestBody(Alternative{}).index() == kind;
}

std::string in_milliseconds(const std::optional<Milliseconds>& time) {
  return std::to_string(time ? time->count() : 0) + " ms";
}

}  // namespace

WorkFetch work_fetch(const RuntimeOptions& options, const std::string& owner, const CapabilityFilter& filter) {
  WorkFetch fetch;
  fetch.lock_timeout = options.worker_lock_timeout;
  fetch.tags = served_tags(options.worker_tag_filter);
  fetch.session = SessionFetch{
      .owner = owner, .lock_timeout = options.session_lock_timeout, .max_sessions = options.max_sessions_per_runtime};
  fetch.filter = filter;
  fetch.suspects.from_attempts = std::max(options.max_attempts / 2, 1U);
  return fetch;
}

WorkerDispatcher::WorkerDispatcher(const RuntimeOptions& options, const Capabilities& store, const std::string& owner,
                                   const CapabilityFilter& filter, ActivityResolver resolve,
                                   std::shared_ptr<WorkPlaces> places, std::shared_ptr<StoreHealth> health)
    : owner_(owner),
      fetch_(work_fetch(options, owner, filter)),
      resolve_(std::move(resolve)),
      places_(std::move(places)),
      health_(health ? std::move(health) : std::make_shared<StoreHealth>(owner, options)),
      max_threads_(options.worker_concurrency),
      max_async_(options.max_async_activities),
      max_payload_bytes_(options.limits.max_payload_bytes),
      max_error_text_bytes_(options.limits.max_error_text_bytes()),
      max_attempts_(options.max_attempts),
      backoff_(options.unregistered_backoff),
      lock_timeout_(options.worker_lock_timeout),
      session_timeout_(options.session_lock_timeout),
      session_idle_(options.session_idle_timeout),
      session_cleanup_(options.session_cleanup_interval),
      gauge_interval_(options.gauge_poll_interval),
      heartbeat_interval_(options.heartbeat_interval),
      grace_(options.activity_cancellation_grace_period),
      long_poll_(options.long_poll_timeout),
      keeps_sessions_(!options.worker_node_id.empty()),
      logger_(options.logger.with_target(log_target::kWorkerDispatcher)),
      metrics_(options.metrics),
      search_(store.wake_ups, options.min_poll_interval),
      watch_(store.wake_ups) {
  if (!metrics_.enabled()) gauges_at_ = Timestamp::max();
  if (keeps_sessions_) sessions_at_ = Timestamp::min();  // those that the process before this one has left
  publish_places();
}

std::optional<worker::Request> WorkerDispatcher::next(Timestamp now) {
  auto request = wanted(now);
  publish_places();
  return request;
}

std::optional<worker::Request> WorkerDispatcher::wanted(Timestamp now) {
  while (!to_ack_again_.empty() && to_ack_again_.begin()->first <= now) {
    const RunId id = to_ack_again_.begin()->second;
    to_ack_again_.erase(to_ack_again_.begin());
    if (runs_.at(id).ack) to_ack_alone_.push_back(id);
  }
  while (!to_give_back_again_.empty() && to_give_back_again_.begin()->first <= now) {
    to_give_back_.push_back(to_give_back_again_.begin()->second);
    to_give_back_again_.erase(to_give_back_again_.begin());
  }
  may_fetch_ = health_->is_available() || may_fetch(now);
  if (now >= check_at_) check_deadlines(now);
  sweep();
  if (auto request = stop_or_replace(now)) return request;
  if (auto request = beat(now)) return request;
  if (auto request = renew(now)) return request;
  if (auto request = start()) return request;
  if (auto request = list_nodes()) return request;
  if (auto request = acknowledge(now)) return request;
  if (auto request = give_back()) return request;
  if (auto request = upkeep(now)) return request;
  if (auto request = watch(now)) return request;
  return look_for_work(now);
}

Timestamp WorkerDispatcher::wake_at() const noexcept {
  Timestamp at = std::min({check_at_, search_.wake_at(room(), suspect_runs_.empty()), watch_.wake_at()});
  if (!to_ack_again_.empty()) at = std::min(at, to_ack_again_.begin()->first);
  if (!to_give_back_again_.empty()) at = std::min(at, to_give_back_again_.begin()->first);
  if (!acking_ && (!to_ack_.empty() || !to_ack_alone_.empty())) at = std::min(at, gate_.opens_at());
  if (keeping_up_) return at;
  if (renews_sessions()) at = std::min({at, sessions_at_, idle_at_});
  if (!draining_) at = std::min({at, cleanup_at_, gauges_at_});
  return at;
}

void WorkerDispatcher::drain() {
  draining_ = true;
  std::vector<RunId> without_thread;
  for (const auto& [id, run] : runs_) {
    if (run.thread_lost && !run.returned) without_thread.push_back(id);
  }
  for (const RunId id : without_thread) returned(id);  // nothing begins in their slots any more
  publish_places();
  search_.stop();
  for (const worker::Start& start : std::exchange(to_start_, {})) {
    Run& run = runs_.at(start.run);
    unwant(run);
    run.returned = true;
    --threads_;
    give_back_later(start.run, Milliseconds(0), true);
  }
}

worker::Request WorkerDispatcher::request(worker::RequestBody body, std::vector<RunId> runs) {
  const RequestId id = ++last_request_;
  outstanding_.emplace(id, Outstanding{body.index(), std::move(runs)});
  return {id, std::move(body)};
}

// Looks at everything that has a time; sets when to look again.
void WorkerDispatcher::check_deadlines(Timestamp now) {
  check_at_ = Timestamp::max();
  for (auto& [id, run] : runs_) {
    const ActivityTimeouts& limits = run.record.timeouts;
    if (run.deadline && *run.deadline <= now) {
      report_timeout(run, "start_to_close");
      time_out(id, run, "did not end within " + in_milliseconds(limits.start_to_close) + " of its start", now);
    } else if (run.silent_at && *run.silent_at <= now) {
      report_timeout(run, "heartbeat");
      time_out(id, run, "sent no heartbeat for " + in_milliseconds(limits.heartbeat), now);
    }
    if (run.offer_at && *run.offer_at <= now) offer(id, run);
    // The store could not be asked in time whether the lock still holds, so it does not.
    if (!run.lease.lost() && !run.settled && run.lease.until() <= now) {
      metrics_.add(metric::kLocksLost, {{"kind", "activity"}});
      // A renewal without a response is a failure of the store, which hangs. The activity is not to blame.
      if (renewing_ || run.beating) run.store_failed = true;
      lose(id, run, now);
    }
    if (!renewing_ && !run.settled) check_at_ = std::min(check_at_, std::max(run.lease.renew_at(), now));
    if (!run.settled && !run.lease.lost()) check_at_ = std::min(check_at_, run.lease.until());
    if (run.deadline) check_at_ = std::min(check_at_, *run.deadline);
    if (run.silent_at) check_at_ = std::min(check_at_, *run.silent_at);
    if (run.offer_at) check_at_ = std::min(check_at_, *run.offer_at);
    if (wants_to_beat(run) && !beating_) check_at_ = std::min(check_at_, std::max(run.beat_at, now));
    if (run.replace_thread_at) check_at_ = std::min(check_at_, std::max(*run.replace_thread_at, now));
  }
}

// Activities run for as long as they have run, whatever a clock says.
void WorkerDispatcher::clock_jumped(Milliseconds by) {
  for (auto& [id, run] : runs_) {
    run.lease.clock_jumped(by);
    for (std::optional<Timestamp>* const time : {&run.deadline, &run.silent_at, &run.replace_thread_at}) {
      if (*time) **time = shifted(**time, by);
    }
  }
  check_at_ = Timestamp::min();
}

std::optional<worker::Request> WorkerDispatcher::stop_or_replace(Timestamp now) {
  if (!to_stop_.empty()) {
    const RunId id = to_stop_.back();
    to_stop_.pop_back();
    return request(worker::Stop{id});
  }
  if (now < check_at_) return std::nullopt;
  for (auto& [id, run] : runs_) {
    if (!run.replace_thread_at || *run.replace_thread_at > now) continue;
    run.replace_thread_at.reset();
    if (!run.returned && gets_thread(id, run)) return request(worker::ReplaceThread{id}, {id});
  }
  return std::nullopt;
}

bool WorkerDispatcher::gets_thread(RunId id, Run& run) {
  if (run.thread_lost) return true;
  warn(run, "activity ignores its stop token", "grace_period_ms", std::to_string(grace_.count()));
  // Beyond the cap its place stays occupied: a node must not grow without bound.
  if (replaced_runs_.size() == max_threads_) return false;
  --threads_;
  replaced_runs_.insert(id);
  return true;
}

void WorkerDispatcher::thread_lost(RunId id, Timestamp now) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  found->second.thread_lost = true;
  if (draining_) return returned(id);
  give_grace(found->second, now);
}

void WorkerDispatcher::not_replaced(const worker::NoThread& missing, Timestamp now) {
  const auto found = runs_.find(missing.run);
  if (found == runs_.end() || found->second.returned) return;  // its thread is back
  Run& run = found->second;
  if (replaced_runs_.erase(missing.run) > 0) ++threads_;
  warn(run,
       run.thread_lost ? "ended thread of an activity not replaced; its slot stays occupied"
                       : "thread of a stuck activity not replaced; its slot stays occupied",
       "error", missing.error);
  give_grace(run, now);
}

std::optional<worker::Request> WorkerDispatcher::renew(Timestamp now) {
  if (renewing_ || now < check_at_) return std::nullopt;
  worker::Renew renewal{.tokens = {}, .extend_for = lock_timeout_};
  std::vector<RunId> due;
  for (auto& [id, run] : runs_) {
    if (run.settled || run.lease.renew_at() > now) continue;
    renewal.tokens.push_back(run.lease.token());
    due.push_back(id);
  }
  if (due.empty()) {
    check_deadlines(now);
    return std::nullopt;
  }
  renewing_ = true;
  check_deadlines(now);
  return request(std::move(renewal), std::move(due));
}

std::optional<worker::Request> WorkerDispatcher::start() {
  if (to_start_.empty()) return std::nullopt;
  worker::Start wanted = std::move(to_start_.front());
  to_start_.pop_front();
  const RunId id = wanted.run;
  Run& run = runs_.at(id);
  run.starting = true;
  run.has_begun = true;
  return request(std::move(wanted), {id});
}

// One call at a time: activities that end during a call form the next batch. An acknowledgement that failed is sent
// alone, and so is every one until the store accepts one.
std::optional<worker::Request> WorkerDispatcher::acknowledge(Timestamp now) {
  if (acking_ || !gate_.is_open(now)) return std::nullopt;
  std::vector<RunId> runs;
  if (gate_.probes() && !to_ack_.empty()) {  // so that not only acknowledgements that always fail are probes
    runs.push_back(to_ack_.front());
    to_ack_.erase(to_ack_.begin());
  } else if (!to_ack_alone_.empty()) {
    runs.push_back(to_ack_alone_.front());
    to_ack_alone_.pop_front();
  } else {
    runs.swap(to_ack_);
  }
  if (runs.empty()) return std::nullopt;
  auto acks = std::make_shared<std::vector<WorkAck>>();
  acks->reserve(runs.size());
  for (const RunId id : runs) acks->push_back(*runs_.at(id).ack);
  acking_ = true;
  return request(worker::Ack{std::move(acks)}, std::move(runs));
}

// What a heartbeat has left for the next attempt comes first.
std::optional<worker::Request> WorkerDispatcher::give_back() {
  worker::GiveBack given;
  std::vector<RunId> runs;
  std::erase_if(to_give_back_, [&](RunId id) {
    const Run& run = runs_.at(id);
    if (wants_to_beat(run) || (run.beating && !run.lease.lost())) return false;
    runs.push_back(id);
    given.abandons.push_back(run.abandon);
    return true;
  });
  if (runs.empty()) return std::nullopt;
  return request(std::move(given), std::move(runs));
}

// Sessions of this node are kept while they are used; what others left behind is swept up now and then.
std::optional<worker::Request> WorkerDispatcher::upkeep(Timestamp now) {
  if (keeping_up_) return std::nullopt;
  if (auto wanted = keep_sessions(now)) return wanted;
  if (draining_) return std::nullopt;
  if (now >= cleanup_at_) {
    cleanup_at_ = now + session_cleanup_;
    keeping_up_ = true;
    return request(worker::CleanupSessions{});
  }
  if (now >= gauges_at_) {
    gauges_at_ = now + gauge_interval_;
    keeping_up_ = true;
    return request(worker::ReadGauges{});
  }
  return std::nullopt;
}

std::size_t WorkerDispatcher::free_places() const noexcept {
  const std::size_t threads = max_threads_ - std::min(max_threads_, threads_);
  // Whatever has a thread may turn out to be asynchronous.
  const std::size_t async = max_async_ - std::min(max_async_, async_ + threads_);
  return std::min(threads, async);
}

std::size_t WorkerDispatcher::fetch_limit(std::size_t places) const noexcept {
  if (health_->is_available() || planted(PlantedFault::kNoProbe)) return places;
  return std::min<std::size_t>(places, may_fetch_ ? 1 : 0);
}

std::size_t WorkerDispatcher::room() const noexcept {
  const std::size_t free = free_places();
  return fetch_limit(places_ ? free - std::min(free, places_->reserved()) : free);
}

// What a fetch is about to fill is not free, and a node that begins nothing new has no places.
void WorkerDispatcher::publish_places() const noexcept {
  if (!places_) return;
  const std::size_t free = draining_ ? 0 : free_places();
  places_->publish(free - std::min(free, search_.being_fetched()), suspect_runs_.empty());
}

std::optional<worker::Request> WorkerDispatcher::look_for_work(Timestamp now) {
  // Asked once: a turn may reserve the last place meanwhile, and who waits for no items waits in vain. What a fetch is
  // to fill is taken away from the turns in the same step.
  const std::size_t places =
      places_ && search_.will_fetch(now) ? fetch_limit(places_->take_for_fetch(free_places())) : room();
  switch (search_.next(now, places, suspect_runs_.empty())) {
    case WorkSearch::Step::kFetch:
      return request(worker::Fetch{fetch_options(places)});
    case WorkSearch::Step::kAwait:
      return request(worker::Await{fetch_options(places), now + long_poll_, search_.wait().get_token()});
    case WorkSearch::Step::kEndWait:
      return request(worker::EndWait{search_.wait()});
    case WorkSearch::Step::kNothing:
      break;
  }
  return std::nullopt;
}

WorkFetch WorkerDispatcher::fetch_options(std::size_t limit) const {
  WorkFetch fetch = fetch_;
  fetch.limit = limit;
  fetch.suspects.admit = suspect_runs_.empty();
  return fetch;
}

void WorkerDispatcher::answer(RequestId id, worker::Answer answer, Timestamp now) {
  const auto found = outstanding_.find(id);
  PERDURE_CHECK(found != outstanding_.end(), "a request has one response");
  const Outstanding request = std::move(found->second);
  outstanding_.erase(found);
  if (is_request_for<worker::Fetch>(request.kind)) {
    fetched(std::get<ProviderResult<WorkBatch>>(std::move(answer)), now);
  } else if (is_request_for<worker::Await>(request.kind)) {
    awaited(std::get<ProviderResult<bool>>(answer), now);
  } else if (is_request_for<worker::Watch>(request.kind)) {
    watched(request, std::get<ProviderResult<bool>>(answer), now);
  } else if (is_request_for<worker::Ack>(request.kind)) {
    acknowledged(request, std::get<std::vector<ProviderResult<void>>>(answer), now);
  } else if (is_request_for<worker::GiveBack>(request.kind)) {
    given_back(request, std::get<std::vector<ProviderResult<void>>>(answer), now);
  } else if (is_request_for<worker::Renew>(request.kind)) {
    renewed(request, std::get<std::vector<ProviderResult<Timestamp>>>(answer), now);
  } else if (is_request_for<worker::Beat>(request.kind)) {
    beaten(request, std::get<std::vector<ProviderResult<Timestamp>>>(answer), now);
  } else if (is_request_for<worker::RenewSessions>(request.kind)) {
    keeping_up_ = false;
    sessions_renewed(std::get<ProviderResult<std::size_t>>(answer), now);
  } else if (is_request_for<worker::CleanupSessions>(request.kind)) {
    keeping_up_ = false;
    const auto& count = std::get<ProviderResult<std::size_t>>(answer);
    if (!count) {
      logger_.warn("expired sessions could not be purged; will retry",
                   {{"worker_id", owner_}, {"error", count.error().to_string()}});
    }
  } else if (is_request_for<worker::ReadGauges>(request.kind)) {
    keeping_up_ = false;
    gauges_read(std::get<worker::Gauges>(answer));
  } else if (is_request_for<worker::ListNodes>(request.kind)) {
    nodes_listed(request.runs, std::get<worker::KnownNodes>(answer).nodes);
  } else if (is_request_for<worker::Start>(request.kind)) {
    started(request.runs.front(), now);
  } else if (const auto* missing = std::get_if<worker::NoThread>(&answer)) {
    not_replaced(*missing, now);
  } else if (is_request_for<worker::ReplaceThread>(request.kind)) {
    const auto run = runs_.find(request.runs.front());
    if (run != runs_.end() && run->second.thread_lost) returned(run->first);
  }
  sweep();
  publish_places();
}

}  // namespace perdure::runtime
