// Who is next: the instances and activities that a fetch would take, found without locking anything. Fetches use it to
// lock them, waits to see whether there is something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/types.h>
#include "providers/sqlite/connection.h"
#include "providers/sqlite/instance_row.h"

namespace perdure::sqlite {

// In the order in which they are to be fetched.
[[nodiscard]] std::vector<InstanceRow> ready_instances(Connection& connection, const OrchestrationFetch& fetch,
                                                       Timestamp now);
// The first time after now at which the answer may change by itself.
[[nodiscard]] std::optional<Timestamp> next_ready_instance(Connection& connection, const OrchestrationFetch& fetch,
                                                           Timestamp now);

struct ReadyActivity {
  std::int64_t id = 0;
  bool expired = false;
  std::optional<std::string> session;
};

struct ReadyActivities {
  std::vector<ReadyActivity> rows;
  // A session kept something from being taken: the first time after now at which one that is in the way ends.
  std::optional<Timestamp> session_ends_at;
};

[[nodiscard]] ReadyActivities ready_activities(Connection& connection, const WorkFetch& fetch, Timestamp now);
// The first time after now at which an activity becomes ready or expires.
[[nodiscard]] std::optional<Timestamp> next_ready_activity(Connection& connection, const WorkFetch& fetch,
                                                           Timestamp now);

// Whether one fetch may serve a session; counts the new ones that it would claim. Its user claims nothing before it has
// asked for the first time.
class SessionGate {
 public:
  SessionGate(Connection& connection, const std::optional<SessionFetch>& fetch, Timestamp now)
      : connection_(connection), fetch_(fetch), now_(now) {}

  [[nodiscard]] bool admits(const std::optional<std::string>& session);
  // The activity that was asked about last is taken: its session counts as claimed if nobody held it.
  void take(const std::optional<std::string>& session);
  // The first end of a lock because of which an answer was no.
  [[nodiscard]] std::optional<Timestamp> blocked_until() const noexcept { return blocked_until_; }

 private:
  // Sessions that the owner holds without those that this fetch claims, and the first end of one of them.
  struct Holding {
    std::size_t sessions = 0;
    std::optional<Timestamp> first_end;
  };
  [[nodiscard]] Holding count_held() const;

  Connection& connection_;
  const std::optional<SessionFetch>& fetch_;
  Timestamp now_;
  bool is_new_ = false;          // the session that was admitted last is held by nobody
  std::optional<Holding> held_;  // absent: nobody has asked yet
  std::vector<std::string> claimed_;
  std::optional<Timestamp> blocked_until_;
};

}  // namespace perdure::sqlite
