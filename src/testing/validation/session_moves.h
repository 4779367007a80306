// Sessions in the words of the tests about them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "testing/validation/scene.h"

namespace perdure::testing {

inline constexpr Milliseconds kShortLease{1'000};
inline constexpr Milliseconds kLongLease{30'000};

// Activities `first` to `last` of instance "a", all of this session.
void enqueue_in_session(Scene& scene, const std::string& session, EventId first, EventId last);
// Everything that a fetch with these options takes; locks it.
[[nodiscard]] std::vector<EventId> fetched_ids(Scene& scene, const WorkFetch& options, Where where = Where::current());
// Answers how many were renewed.
std::size_t renew_sessions(Scene& scene, const std::vector<std::string>& owners, Milliseconds extend_for,
                           Milliseconds idle_timeout, Where where = Where::current());

}  // namespace perdure::testing
