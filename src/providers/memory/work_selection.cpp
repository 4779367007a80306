#include "providers/memory/work_selection.h"

#include <algorithm>

#include "model/planted_fault.h"

namespace perdure::memory {

WorkSelection::WorkSelection(const Sessions& sessions, const WorkFetch& fetch, Timestamp now)
    : sessions_(sessions),
      fetch_(fetch),
      now_(now),
      limit_(fetch.tags.takes_nothing() ? 0 : fetch.limit, fetch.suspects) {
  if (fetch.session) held_ = sessions.held_by(fetch.session->owner, now);
}

bool WorkSelection::take(const Activity& activity) {
  const bool expired = is_expired(activity, now_);
  if (!expired && !accepts(activity)) {
    look_again(activity.expires_at());
    return false;
  }
  if (!limit_.take(activity.attempts)) return false;
  const auto& session = activity.record.session;
  if (!expired && session && sessions_.holder(*session, now_) == nullptr) claimed_.insert(*session);
  return true;
}

bool WorkSelection::accepts(const Activity& activity) {
  const MessageRecord& record = activity.record;
  const bool overlooks_tag = planted(PlantedFault::kTagIgnored) && activity.attempts > 0;
  if (!fetch_.tags.matches(record.tag) && !overlooks_tag) return false;
  const auto& names = fetch_.filter.activities;
  if (!names.empty() && std::find(names.begin(), names.end(), record.name) == names.end()) return false;
  return !record.session || accepts_session(*record.session);
}

bool WorkSelection::accepts_session(const std::string& session) {
  if (!fetch_.session) return false;
  if (const Session* const holder = sessions_.holder(session, now_)) {
    if (holder->owner == fetch_.session->owner || planted(PlantedFault::kSessionTakenOver)) return true;
    look_again(holder->locked_until);
    return false;
  }
  if (planted(PlantedFault::kSessionsBeyondCapacity)) return true;
  if (claimed_.contains(session) || held_.sessions + claimed_.size() < fetch_.session->max_sessions) return true;
  look_again(held_.first_end);
  return false;
}

void WorkSelection::look_again(Timestamp at) {
  look_again_at_ = std::min(look_again_at_, at);
}

FoundActivities find_activities(const Store& store, const WorkFetch& fetch, Timestamp now) {
  FoundActivities found;
  WorkSelection selection(store.sessions, fetch, now);
  if (selection.full()) return found;
  store.activities.visit_ready(now, [&](const Activity& activity) {
    if (selection.take(activity)) found.rows.push_back(activity.position);
    return !selection.full();
  });
  found.look_again_at = std::min(selection.look_again_at(), store.activities.next_ready_after(now));
  return found;
}

}  // namespace perdure::memory
