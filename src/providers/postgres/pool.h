// The connections that calls share.
#pragma once

#include <atomic>
#include <chrono>
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

#include "providers/postgres/connection.h"

namespace perdure::postgres {

// What to do if the connection is lost, and with it the answer.
enum class Repeat : std::uint8_t {
  kNever,   // doing it twice would show
  kIfLost,  // doing it twice is doing it once
};

// Thread-safe.
class Pool {
 public:
  // `tolerance`: see PostgresOptions::time_tolerance.
  Pool(ConnectionOptions options, std::size_t size, Milliseconds tolerance)
      : options_(std::move(options)), size_(size), tolerance_(tolerance) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // In one transaction, and again if other transactions were in the way. Throws PostgresError.
  std::vector<Rows> run(std::span<const Call> calls, Repeat repeat);
  Rows run(const char* sql, const Parameters& parameters, Repeat repeat) {
    const Call call{sql, parameters};
    return std::move(run(std::span(&call, 1), repeat).front());
  }

  // Set before others run anything. Called when a connection was lost together with the answer to what is not repeated:
  // it may have been done, and nobody has told so.
  void when_an_answer_is_lost(std::function<void()> call) { answer_lost_ = std::move(call); }

  // Takes note of a time that the server has told, and answers it, or the latest one: no caller sees time run
  // backwards, though servers change and their clocks are set.
  Timestamp see(Timestamp told) noexcept;
  // What the server's clock shows now, by the last time that it has told. Nothing if that is longer ago than we
  // tolerate.
  [[nodiscard]] std::optional<Timestamp> recent_now() noexcept;
  // The same, however long ago it is.
  [[nodiscard]] Timestamp estimated_now() noexcept;

  [[nodiscard]] const ConnectionOptions& options() const noexcept { return options_; }
  // Round trips so far, for measurements.
  [[nodiscard]] std::uint64_t round_trips() const noexcept { return round_trips_; }

 private:
  [[nodiscard]] std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);
  // One whose connection was lost: its place is free, and so are those of the others that nobody uses.
  void give_up();

  ConnectionOptions options_;
  std::size_t size_;
  std::function<void()> answer_lost_;
  std::atomic<std::uint64_t> round_trips_ = 0;
  Milliseconds tolerance_;
  std::mutex time_mutex_;
  Timestamp latest_{};                              // that anybody was told
  Timestamp heard_{};                               // from the server, the latest,
  std::chrono::steady_clock::time_point heard_at_;  // and when
  std::atomic<Milliseconds::rep> floor_ = 0;  // that the server must be told, because its clock is behind; 0: it is not

  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t in_use_ = 0;
};

}  // namespace perdure::postgres
