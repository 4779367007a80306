// Sessions: who holds which, and until when. And what becomes of all locks when the clock is set.
#include <algorithm>
#include <chrono>

#include "providers/times.h"
#include "testing/simulation/audit.h"

namespace perdure::testing::simulation {

namespace {

// Shorter locks may run out between two steps of a node.
constexpr Milliseconds kLongSession = std::chrono::seconds(20);
// A node learns of a use later than the store.
constexpr Milliseconds kReleaseTakes = std::chrono::seconds(5);

}  // namespace

void Audit::claim_session(const std::string& session, const WorkFetch& fetch, Timestamp now) {
  if (!fetch.session) {
    return problem("an activity of session '" + session + "' went to a worker that serves no sessions");
  }
  const SessionFetch& claimant = *fetch.session;
  Session& held = sessions_[session];
  const bool is_held = held.until > now;
  if (is_held && held.owner != claimant.owner) {
    problem("session '" + session + "' went to '" + claimant.owner + "' while '" + held.owner + "' held it");
  }
  const auto count = static_cast<std::size_t>(std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    return entry.second.owner == claimant.owner && entry.second.until > now;
  }));
  if (!is_held && count >= claimant.max_sessions) {
    problem("'" + claimant.owner + "' claimed session '" + session + "' although it holds " + std::to_string(count) +
            " already and may hold " + std::to_string(claimant.max_sessions));
  }
  if (!is_held) check_session(session, held, now);
  held = {claimant.owner, now + claimant.lock_timeout, now, now, claimant.lock_timeout};
}

void Audit::check_sessions(Timestamp now) {
  for (auto& [id, session] : sessions_) check_session(id, session, now);
}

void Audit::check_session(const std::string& id, Session& session, Timestamp now) {
  if (!excuse_ || !session_idle_ || session.checked || session.length < kLongSession) return;
  const Timestamp idle_at = session.last_use + *session_idle_;
  if (session.until > now) {
    if (idle_at + kReleaseTakes > now) return;
    session.checked = true;
    if (excuse_(session.owner, session.last_use)) return;
    return problem("'" + session.owner + "' has session '" + id + "', which has been idle for " +
                   std::to_string((now - session.last_use).count()) + " ms");
  }
  session.checked = true;
  if (session.until >= idle_at || excuse_(session.owner, session.since)) return;
  problem("session '" + id + "' ran out although nothing kept '" + session.owner + "' from its renewal");
}

void Audit::use_session(const Activity& activity, Timestamp now) {
  const auto& session = activity.record.session;
  const auto held = session ? sessions_.find(*session) : sessions_.end();
  if (held != sessions_.end() && held->second.until > now) held->second.last_use = now;
}

void Audit::sessions_renewed(std::span<const std::string> owners, Milliseconds extend_for, Milliseconds idle_timeout,
                             const ProviderResult<std::size_t>& count, Timestamp now) {
  moment(now + extend_for);
  if (!count) return;
  check_sessions(now);
  std::size_t renewed = 0;
  for (auto& [id, session] : sessions_) {
    const bool is_theirs = std::find(owners.begin(), owners.end(), session.owner) != owners.end();
    if (!is_theirs || session.until <= now) continue;
    const bool is_used = session.last_use > now - idle_timeout;
    session.until = is_used ? now + extend_for : now;
    session.since = now;
    session.length = extend_for;
    session.checked = session.until <= now;  // released on purpose
    if (is_used) ++renewed;
  }
  if (renewed != *count) {
    problem(std::to_string(*count) + " sessions were renewed, but " + std::to_string(renewed) + " are held and in use");
  }
}

void Audit::extend_locks(Timestamp then, Milliseconds by) {
  const auto extend = [&](Timestamp& until) {
    if (until <= then) return;
    until = shifted(until, by);
    moment(until);
  };
  for (auto& [id, instance] : instances_) {
    if (instance.lock) extend(instance.lock->until);
  }
  for (auto& [key, activity] : activities_) {
    if (activity.lock) extend(activity.lock->until);
  }
  for (auto& [id, session] : sessions_) extend(session.until);
}

}  // namespace perdure::testing::simulation
