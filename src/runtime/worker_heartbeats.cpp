// What running activities tell of themselves, and what their silence means; and the sessions that they belong to.
#include <algorithm>
#include <chrono>
#include <utility>

#include <perdure/engine_metrics.h>
#include "model/planted_fault.h"
#include "providers/times.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

// ---- heartbeats ----------------------------------------------------------------------------------------------------

void WorkerDispatcher::heartbeat(RunId id, Payload details, Timestamp now) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || !found->second.wanted) return;
  Run& run = found->second;
  if (const auto& limit = run.record.timeouts.heartbeat) run.silent_at = shifted(now, *limit);
  if (!details) return;
  run.progress = std::move(details);
  run.progressed = true;
  if (!beating_) check_at_ = std::min(check_at_, std::max(run.beat_at, now));
}

// The outcome of one that has ended says it, or it has succeeded and nobody will ask.
bool WorkerDispatcher::wants_to_beat(const Run& run) noexcept {
  return run.progressed && !run.settled && !run.ack && !run.lease.lost();
}

// One at a time, for everything that is due. A heartbeat renews the lock as well.
std::optional<worker::Request> WorkerDispatcher::beat(Timestamp now) {
  if (beating_ || now < check_at_) return std::nullopt;
  worker::Beat beat;
  std::vector<RunId> due;
  for (auto& [id, run] : runs_) {
    if (!wants_to_beat(run) || run.beat_at > now) continue;
    beat.heartbeats.push_back({.token = run.lease.token(), .details = run.progress, .extend_for = lock_timeout_});
    run.progressed = false;
    run.beating = true;
    run.beat_at = shifted(now, heartbeat_interval_);
    due.push_back(id);
  }
  if (due.empty()) return std::nullopt;
  beating_ = true;
  check_deadlines(now);
  return request(std::move(beat), std::move(due));
}

void WorkerDispatcher::beaten(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers,
                              Timestamp now) {
  beating_ = false;
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    if (answers[i]) metrics_.add(metric::kActivityHeartbeats);
    const auto found = runs_.find(request.runs[i]);
    if (found == runs_.end()) continue;
    Run& run = found->second;
    run.beating = false;
    if (run.settled) continue;
    // Details that could not be written are written with the next heartbeat, unless the store refuses them. A run that
    // is abandoned does not wait for that.
    if (!answers[i] && answers[i].error().kind() != ProviderErrorKind::kLockLost && !answers[i].error().data_error() &&
        run.wanted)
      run.progressed = true;
    extended(found->first, run, answers[i], now);
  }
  check_deadlines(now);
}

void WorkerDispatcher::time_out(RunId id, Run& run, const std::string& why, Timestamp now) {
  fail(id, ApplicationError{ApplicationErrorKind::kTimedOut, "activity '" + run.record.name + "' " + why, true});
  report(run, "timed_out", now);
  stop(id, run, now);
}

// ---- sessions ------------------------------------------------------------------------------------------------------

bool WorkerDispatcher::serves_sessions() const noexcept {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](const auto& entry) { return entry.second.record.session && !entry.second.settled; });
}

void WorkerDispatcher::use_session(const Run& run, Timestamp now) {
  if (!run.record.session) return;
  session_uses_[*run.record.session] = now;
  idle_at_ = std::min(idle_at_, shifted(now, session_idle_));
}

bool WorkerDispatcher::has_idle_session(Timestamp now) {
  if (now < idle_at_) return false;
  idle_at_ = Timestamp::max();
  const std::size_t idle = std::erase_if(session_uses_, [&](const auto& entry) {
    const Timestamp idle_at = shifted(entry.second, session_idle_);
    if (idle_at > now) idle_at_ = std::min(idle_at_, idle_at);
    return idle_at <= now;
  });
  return idle > 0;
}

// A renewal also releases sessions that were idle for their timeout, so a renewal is due when a timeout ends.
std::optional<worker::Request> WorkerDispatcher::keep_sessions(Timestamp now) {
  constexpr Milliseconds kHoweverIdle = std::chrono::hours(24 * 36'525);
  const bool give_up = gives_up_sessions() && !serves_sessions();
  if (!give_up) {
    if (!renews_sessions()) return std::nullopt;
    const bool some_are_idle = has_idle_session(now);
    if (now < sessions_at_ && !some_are_idle) return std::nullopt;
    if (planted(PlantedFault::kIdleSessionsNotRenewed) && !serves_sessions()) {
      sessions_at_ = Timestamp::max();
      return std::nullopt;
    }
  }
  sessions_at_ = Timestamp::max();
  keeping_up_ = true;
  if (give_up) {
    holds_sessions_ = false;
    session_uses_.clear();
    idle_at_ = Timestamp::max();
    return request(worker::RenewSessions{owner_, Milliseconds(0), kHoweverIdle});
  }
  const bool however_idle = planted(PlantedFault::kIdleSessionsKept);
  return request(worker::RenewSessions{owner_, session_timeout_, however_idle ? kHoweverIdle : session_idle_});
}

void WorkerDispatcher::sessions_renewed(const ProviderResult<std::size_t>& count, Timestamp now) {
  const bool given_up = draining_ && !keeps_sessions_ && !holds_sessions_;
  if (!count) {
    logger_.warn(given_up ? "sessions could not be released; other nodes can acquire them when the locks expire"
                          : "sessions could not be renewed; will retry",
                 {{"worker_id", owner_}, {"error", count.error().to_string()}});
    if (!given_up) sessions_at_ = shifted(now, std::max(session_timeout_ / 16, Milliseconds(1)));
    return;
  }
  // An activity that was fetched meanwhile has set the next time.
  if (*count > 0 && !given_up) sessions_at_ = std::min(sessions_at_, shifted(now, session_timeout_ / 2));
}

}  // namespace perdure::runtime
