// A connection to the server: statements are prepared once, and sent together without waiting for each other's answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <perdure/provider_error.h>
#include <perdure/types.h>
#include "providers/postgres/parameters.h"
#include "providers/postgres/rows.h"

struct pg_conn;
struct pg_result;

namespace perdure::postgres {

// What the server said, or that it cannot be heard. Never leaves this folder: as_provider_error() is what callers see.
// States that a caller can do something about: what the functions of the schema raise, and what a unique index says.
inline constexpr std::string_view kTurnRefused = "PD001";
inline constexpr std::string_view kWorkLost = "PD002";
inline constexpr std::string_view kQueuedAlready = "PD003";
inline constexpr std::string_view kDuplicate = "23505";
// Not of the server: this process could not open a socket, a file or a pipe.
inline constexpr std::string_view kOutOfDescriptors = "PD004";
// Not of the server: a pooler gives the session of the connection to others.
inline constexpr std::string_view kSharedSession = "PD005";

class PostgresError final : public std::runtime_error {
 public:
  // `state` is the SQLSTATE; empty: the connection is lost.
  PostgresError(std::string state, const std::string& message)
      : std::runtime_error(message), state_(std::move(state)) {}
  [[nodiscard]] const std::string& state() const noexcept { return state_; }
  // Nobody knows whether the server has done what it was last asked.
  [[nodiscard]] bool connection_lost() const noexcept;
  // Undone by the server because of others: the same again may succeed at once.
  [[nodiscard]] bool is_conflict() const noexcept { return state_ == "40001" || state_ == "40P01"; }
  // A prepared statement is missing, or is one that this connection has not prepared: the session is another one.
  [[nodiscard]] bool has_foreign_session() const noexcept { return state_ == "26000" || state_ == "42P05"; }
  // The session is of no further use, although the server answered.
  [[nodiscard]] bool spoils_connection() const noexcept;

 private:
  std::string state_;
};

[[nodiscard]] ProviderError as_provider_error(const PostgresError& error);

struct Call {
  const char* sql;  // a constant: its address is the key of the prepared statement
  Parameters parameters;
};

struct ConnectionOptions {
  std::string url;
  std::string schema;
  Milliseconds connect_timeout{0};
  Milliseconds answer_timeout{0};
};

// The end of what a call may take, by the machine's clock.
using Deadline = std::chrono::steady_clock::time_point;
[[nodiscard]] Deadline deadline_after(Milliseconds time) noexcept;

// For one thread at a time.
class Connection {
 public:
  // Connects and sets nothing: the session may be one that a pooler shares between clients. Stores connect through a
  // Connector. Throws PostgresError.
  Connection(const ConnectionOptions& options, Deadline deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Everything below ends by the deadline (without one: within answer_timeout), or the connection counts as lost.

  // Sets what the statements of the store rely on. Nothing is sent to the schema, which may not exist yet. Throws
  // PostgresError, also if the server is a standby.
  void set_up(const std::string& schema, Deadline deadline);
  // All in one transaction and one round trip; answers the rows of each. Throws PostgresError; then nothing was done,
  // unless the connection was lost.
  std::vector<Rows> run(std::span<const Call> calls, Deadline deadline);
  std::vector<Rows> run(std::span<const Call> calls) { return run(calls, deadline_after(answer_timeout_)); }
  Rows run(const char* sql, const Parameters& parameters, Deadline deadline) {
    const Call call{sql, parameters};
    return std::move(run(std::span(&call, 1), deadline).front());
  }
  Rows run(const char* sql, const Parameters& parameters = {}) {
    return run(sql, parameters, deadline_after(answer_timeout_));
  }
  // Any number of statements without arguments, in one transaction unless they say otherwise. Nothing of them stays in
  // the session. Returns the first value of the first row, as text; empty if there is none.
  std::string execute(const std::string& script, Deadline deadline);
  std::string execute(const std::string& script) { return execute(script, deadline_after(answer_timeout_)); }

  // What the server has closed while nobody looked.
  [[nodiscard]] bool is_usable();
  [[nodiscard]] int socket() const noexcept;
  [[nodiscard]] int server_process() const noexcept;
  [[nodiscard]] int server_version() const noexcept;
  // The payloads of notifications that have arrived, from other sessions than this one.
  [[nodiscard]] std::vector<std::string> notifications();
  [[nodiscard]] std::string quoted_name(const std::string& name) const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  using ResultPtr = std::unique_ptr<pg_result, Clear>;

  // connecting.cpp
  void open(const ConnectionOptions& options, Deadline deadline);
  [[nodiscard]] bool connects_until(Deadline deadline);
  [[nodiscard]] PostgresError connect_error() const;

  void send(const Call& call, std::vector<const char*>& sent);
  void flush(Deadline deadline);
  [[nodiscard]] bool is_ready(short events, Deadline deadline);
  void wait(short events, Deadline deadline);
  [[nodiscard]] ResultPtr next_result(Deadline deadline);
  [[noreturn]] void fail_lost(const std::string& what);

  std::unique_ptr<pg_conn, Finish> handle_;  // absent: lost
  Milliseconds answer_timeout_;
  Deadline last_late_look_;  // the deadline after which the socket was last looked at
  std::unordered_set<const char*> prepared_;
};

}  // namespace perdure::postgres
