#include "testing/validation/session_moves.h"

#include "testing/validation/moves.h"

namespace perdure::testing {

void enqueue_in_session(Scene& scene, const std::string& session, EventId first, EventId last) {
  for (EventId id = first; id <= last; ++id) scene.enqueue_activity(in_session(activity("a", id), session));
}

std::vector<EventId> fetched_ids(Scene& scene, const WorkFetch& options, Where where) {
  return activity_ids_of(fetch_activities(scene, 100, options, where));
}

std::size_t renew_sessions(Scene& scene, const std::vector<std::string>& owners, Milliseconds extend_for,
                           Milliseconds idle_timeout, Where where) {
  return take(scene.store().renew_sessions(owners, extend_for, idle_timeout), where);
}

}  // namespace perdure::testing
