// What a bare database is asked to carry, and what it reached. The same for every program that measures steps. Uses
// nothing of the library, so that the ceilings stay bare.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/resource.h>

namespace ceiling {

inline constexpr std::size_t kEventBytes = 180;
inline constexpr std::size_t kMessageBytes = 230;
inline constexpr std::size_t kPackingBytes = 32;  // what the store adds to each event

struct Load {
  std::string shape = "plain";             // plain: fetch, ack, fetch work, ack work; fused: one commit
  std::string path;                        // of a file that is made and removed, or the URL of a PostgreSQL server
  std::string schema = "perdure_ceiling";  // of PostgreSQL; made and removed as well
  bool synced = true;                      // commits wait for the disk
  std::size_t batch = 64;
  std::size_t instances = 2'000;                                 // that take steps; at least a batch
  std::size_t connections = 1;                                   // each with a thread of its own; SQLite has one
  std::size_t events_bytes = 2 * (kEventBytes + kPackingBytes);  // the history row of a turn
  std::size_t message_bytes = kMessageBytes;                     // an activity, or its completion
  double seconds = 2;
  double warm_up = 0;                       // seconds before that
  const std::atomic<bool>* stop = nullptr;  // set by somebody else: end early

  [[nodiscard]] bool stopped() const noexcept { return stop != nullptr && *stop; }
};

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] double cpu_seconds() const { return cpu_now() - cpu_start_; }

 private:
  static double cpu_now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_start_ = cpu_now();
};

struct Reached {
  std::size_t steps = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // of this process
  // Only PostgreSQL:
  std::uint64_t round_trips = 0;
  double server_cpu_seconds = 0;

  [[nodiscard]] double steps_per_second() const { return seconds > 0 ? static_cast<double>(steps) / seconds : 0; }
};

}  // namespace ceiling
