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

// For one thread at a time.
class Connection {
 public:
  // Throws PostgresError. Nothing is sent to the schema, which may not exist yet.
  explicit Connection(const ConnectionOptions& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // All in one transaction and one round trip; answers the rows of each. Throws PostgresError; then nothing was done,
  // unless the connection was lost.
  std::vector<Rows> run(std::span<const Call> calls);
  Rows run(const char* sql, const Parameters& parameters = {}) {
    const Call call{sql, parameters};
    return std::move(run(std::span(&call, 1)).front());
  }
  // Any number of statements without arguments, in one transaction unless they say otherwise.
  void execute(const std::string& script);

  // What the server has closed while nobody looked.
  [[nodiscard]] bool is_usable();
  [[nodiscard]] int socket() const noexcept;
  [[nodiscard]] int server_process() const noexcept;
  [[nodiscard]] int server_version() const noexcept;
  // The payloads of notifications that have arrived, from other sessions than this one.
  [[nodiscard]] std::vector<std::string> notifications();
  [[nodiscard]] std::string quoted_name(const std::string& name) const;

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  using ResultPtr = std::unique_ptr<pg_result, Clear>;

  void open(const ConnectionOptions& options);
  void send(const Call& call, std::vector<const char*>& sent);
  void flush(Deadline deadline);
  void wait(short events, Deadline deadline);
  [[nodiscard]] ResultPtr next_result(Deadline deadline);
  [[noreturn]] void fail_lost(const std::string& what);

  std::unique_ptr<pg_conn, Finish> handle_;
  Milliseconds answer_timeout_;
  std::unordered_set<const char*> prepared_;
};

}  // namespace perdure::postgres
