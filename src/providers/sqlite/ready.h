// Who is next: the instances and activities that a fetch would take, found without locking anything. Fetches use it to
// lock them, waits to see whether there is something.
#pragma once

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

[[nodiscard]] std::vector<ReadyActivity> ready_activities(Connection& connection, const WorkFetch& fetch,
                                                          Timestamp now);
[[nodiscard]] std::optional<Timestamp> next_ready_activity(Connection& connection, const WorkFetch& fetch,
                                                           Timestamp now);

// Whether one fetch may serve a session; counts the new ones that it would claim.
class SessionGate {
 public:
  SessionGate(Connection& connection, const std::optional<SessionFetch>& fetch, Timestamp now)
      : connection_(connection), fetch_(fetch), now_(now) {}

  [[nodiscard]] bool admits(const std::optional<std::string>& session);
  // The activity that was asked about last is taken: its session counts as claimed if nobody held it.
  void take(const std::optional<std::string>& session);

 private:
  Connection& connection_;
  const std::optional<SessionFetch>& fetch_;
  Timestamp now_;
  bool is_new_ = false;  // the session that was admitted last is held by nobody
  std::vector<std::string> claimed_;
};

[[nodiscard]] bool lists(const std::vector<std::string>& names, const std::string& name);

}  // namespace perdure::sqlite
