// The connections that calls share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <perdure/clock.h>
#include <perdure/log.h>
#include "providers/home_process.h"
#include "providers/postgres/connection.h"
#include "providers/postgres/connector.h"
#include "providers/postgres/server_time.h"

namespace perdure::postgres {

// What to do if the connection is lost, and with it the answer.
enum class Repeat : std::uint8_t {
  kNever,   // doing it twice would show
  kIfLost,  // doing it twice is doing it once
  kRead,    // it writes nothing, and may use an earlier time if the server cannot store a later one
};

// Thread-safe.
class Pool {
 public:
  // `tolerance`: see PostgresOptions::time_tolerance.
  Pool(ConnectionOptions options, std::size_t size, Milliseconds tolerance, std::shared_ptr<Clock> clock, Logger logger)
      : options_(std::move(options)),
        size_(size),
        clock_(std::move(clock)),
        logger_(std::move(logger)),
        time_(tolerance),
        tolerance_(tolerance) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // In one transaction, and again if other transactions were in the way. Throws PostgresError. Waiting for a
  // connection, setting one up and repeating end by the deadline; without one: within answer_timeout. Making a
  // connection may exceed it, if the server has several addresses.
  std::vector<Rows> run(std::span<const Call> calls, Repeat repeat, Deadline deadline);
  std::vector<Rows> run(std::span<const Call> calls, Repeat repeat) {
    return run(calls, repeat, deadline_after(options_.answer_timeout));
  }
  Rows run(const char* sql, const Parameters& parameters, Repeat repeat, Deadline deadline) {
    const Call call{sql, parameters};
    return std::move(run(std::span(&call, 1), repeat, deadline).front());
  }
  Rows run(const char* sql, const Parameters& parameters, Repeat repeat) {
    return run(sql, parameters, repeat, deadline_after(options_.answer_timeout));
  }

  // The same for one read, without waiting for a connection or making one. Returns std::nullopt if no connection is
  // idle.
  std::optional<Rows> run_at_once(const char* sql, Deadline deadline);

  // Set before others run anything. Called when a connection was lost together with the answer to what is not repeated:
  // it may have been done, and nobody has told so.
  void when_an_answer_is_lost(std::function<void()> call) { answer_lost_ = std::move(call); }

  // Returns the latest time that any caller has seen; std::nullopt before the first one.
  [[nodiscard]] std::optional<Timestamp> latest() noexcept;
  // Takes note of a time that the server has reported, and returns it, or the latest one: no caller sees time run
  // backwards, though servers change and their clocks are set. `known` is latest() before the call that reported the
  // time. Logs the jumps that were noticed since the last call, so it must not be called under a lock.
  Timestamp see(Timestamp reported, std::optional<Timestamp> known) noexcept;
  // The same for a caller that may have locks: the next see() logs the jump.
  Timestamp note(Timestamp reported, std::optional<Timestamp> known) noexcept;
  // What the server's clock shows now, by the last time that it has told. Nothing if that is longer ago than we
  // tolerate.
  [[nodiscard]] std::optional<Timestamp> recent_now() noexcept;
  // The same, however long ago it is.
  [[nodiscard]] Timestamp estimated_now() noexcept;
  // The server did not tell its time. Callers of recent_now() get estimates until another call succeeds, or for
  // answer_timeout: they may hold locks, and a silent server must not cost each of them its patience.
  void estimate_for_a_while() noexcept;

  // After fork(): leaves the connections to the process that made them. Their destructors would end its sessions. The
  // destructor of the condition would wait for threads that are not in this process.
  void leave_connections() noexcept {
    static_cast<void>(new std::vector(std::move(idle_)));
    static_cast<void>(free_.release());
    connector_.leave_threads();
  }

  [[nodiscard]] const HomeProcess& home() const noexcept { return home_; }
  // By the clock that measures waits.
  [[nodiscard]] Milliseconds steady() const { return clock_->steady(); }

  [[nodiscard]] const ConnectionOptions& options() const noexcept { return options_; }
  [[nodiscard]] Connector& connector() noexcept { return connector_; }
  // Round trips so far, for measurements.
  [[nodiscard]] std::uint64_t round_trips() const noexcept { return round_trips_; }

 private:
  [[nodiscard]] std::unique_ptr<Connection> take(Repeat repeat, Deadline deadline);
  [[nodiscard]] std::unique_ptr<Connection> take_idle();
  std::vector<Rows> run_on(std::unique_ptr<Connection> connection, std::span<const Call> calls, Repeat repeat,
                           Deadline deadline);
  [[nodiscard]] std::optional<Timestamp> proposed_time() noexcept;
  [[nodiscard]] std::optional<bool> reach(Connection& connection, Timestamp time, Repeat repeat, Deadline deadline);
  // Reports a time to the store if the server's clock is behind.
  void propose(Connection& connection, Repeat repeat, Deadline deadline);
  void give_back(std::unique_ptr<Connection> connection);
  // After a connection was lost: closes those that no call uses, too, which are probably lost as well.
  void close_idle();
  // Another call may use the slot of a connection that was closed or never made.
  void free_slot();

  HomeProcess home_;
  ConnectionOptions options_;
  Connector connector_;
  std::size_t size_;
  std::function<void()> answer_lost_;
  std::atomic<std::uint64_t> round_trips_ = 0;
  std::shared_ptr<Clock> clock_;
  Logger logger_;
  std::mutex time_mutex_;
  ServerTime time_;
  Milliseconds tolerance_;
  Deadline estimate_until_{};        // the server does not tell
  std::vector<Milliseconds> jumps_;  // not logged yet

  std::mutex mutex_;
  std::unique_ptr<std::condition_variable> free_ = std::make_unique<std::condition_variable>();
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t in_use_ = 0;
};

}  // namespace perdure::postgres
