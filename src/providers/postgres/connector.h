// Connector: makes the connections of one store, and refuses poolers that share a session between connections.
//
//   the server of a new connection            what the check costs
//   is connected directly                     one round trip, after the first connection
//   is a pooler, and a session of the store   one round trip, and a few looks by a second connection if the pooler has
//   that was checked before is still there    a free session for it
//   is a pooler otherwise                     many looks by a second connection
//
// A pooler ends all its sessions when it is restarted in another mode. So a session that is still there shows that the
// pooler is the one that was checked. Otherwise the store has no session any more, or none yet. One connection after
// the other is made behind a pooler, so the check never needs more sessions than the store needs later.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "providers/postgres/connection.h"

namespace perdure::postgres {

// How long a pooler that was checked before may take to give a second session.
inline constexpr Milliseconds kLimitForFreeSession{500};

// Thread-safe.
class Connector {
 public:
  explicit Connector(Milliseconds limit_for_free_session = kLimitForFreeSession)
      : limit_for_free_session_(limit_for_free_session) {}
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Returns a connection whose session is set up. Throws PostgresError by the deadline, with kSharedSession if the
  // session is shared; nothing is set in it then.
  [[nodiscard]] std::unique_ptr<Connection> connect(const ConnectionOptions& options, Deadline deadline);
  // Throws PostgresError with kSharedSession if the session of the connection is shared. Sets nothing in it.
  void check(Connection& connection, const ConnectionOptions& options, Deadline deadline);
  // The next connection behind a pooler is checked as if it were the first one.
  void forget() noexcept;

  // After fork(): the destructor of the condition would wait for threads that are not in this process.
  void leave_threads() noexcept { static_cast<void>(turn_ended_.release()); }

 private:
  class Turn;
  // What the server tells through a new connection.
  struct Survey {
    bool is_pooler = false;
    std::string session;             // the number of the server's process
    std::vector<std::string> names;  // of its session and of those that were checked before and are still there
    bool was_checked = false;        // there is one of the latter
  };

  [[nodiscard]] Survey survey(Connection& connection, Deadline deadline);
  void check(Connection& connection, const ConnectionOptions& options, Survey survey, Deadline deadline);
  [[nodiscard]] bool is_behind_pooler();

  const Milliseconds limit_for_free_session_;
  std::mutex mutex_;
  std::unique_ptr<std::condition_variable> turn_ended_ = std::make_unique<std::condition_variable>();
  bool has_turn_ = false;             // a thread makes a connection behind a pooler
  bool has_checked_ = false;          // some connection
  bool behind_pooler_ = false;        // the last connection was
  std::vector<std::string> checked_;  // names of sessions behind a pooler
};

}  // namespace perdure::postgres
