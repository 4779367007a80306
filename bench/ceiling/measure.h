// What the step programs share: arguments, a stopwatch, and the line that they print. Uses nothing of the library, so
// that the ceilings stay bare.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "../arguments.h"

namespace ceiling {

struct Arguments {
  std::string shape = "plain";      // plain: fetch, ack, fetch work, ack work; fused: one commit
  std::string path = "ceiling.db";  // of the file, or the URL of a PostgreSQL server
  std::size_t batch = 64;
  std::size_t instances = 2'000;  // that take steps
  std::size_t others = 0;         // instances that do nothing
  std::size_t timers = 0;         // messages whose time has not come
  std::size_t connections = 1;    // each with a thread of its own; bare SQLite has one
  double seconds = 2;
  double warm_up = 0;  // seconds before that
  bool show_sql = false;
};

inline Arguments parse(int count, char** values) {
  Arguments arguments;
  bench::read_arguments(count, values,
                        {{"shape", &arguments.shape},
                         {"path", &arguments.path},
                         {"batch", &arguments.batch},
                         {"instances", &arguments.instances},
                         {"others", &arguments.others},
                         {"timers", &arguments.timers},
                         {"connections", &arguments.connections},
                         {"seconds", &arguments.seconds},
                         {"warm_up", &arguments.warm_up},
                         {"sql", &arguments.show_sql}});
  if (arguments.shape != "plain" && arguments.shape != "fused") throw std::invalid_argument("shape is plain or fused");
  if (arguments.connections == 0) throw std::invalid_argument("at least one connection is needed");
  if (arguments.instances / arguments.connections < arguments.batch) {
    throw std::invalid_argument("each connection needs as many instances as its batch has steps");
  }
  return arguments;
}

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

// "steps/s, microseconds of CPU a step": the scripts that compare read it.
inline void report(std::size_t steps, const Stopwatch& watch) {
  std::printf("%.0f %.2f\n", static_cast<double>(steps) / watch.seconds(),
              watch.cpu_seconds() * 1e6 / static_cast<double>(steps));
}

// The same for a store with a server: then "round trips a step, microseconds of the server's CPU a step".
struct ServerUse {
  std::uint64_t round_trips = 0;
  double cpu_seconds = 0;
};
inline void report(std::size_t steps, const Stopwatch& watch, const ServerUse& server) {
  const auto count = static_cast<double>(steps);
  std::printf("%.0f %.2f %.3f %.2f\n", count / watch.seconds(), watch.cpu_seconds() * 1e6 / count,
              static_cast<double>(server.round_trips) / count, server.cpu_seconds * 1e6 / count);
}

inline constexpr std::size_t kEventBytes = 180;
inline constexpr std::size_t kMessageBytes = 230;

}  // namespace ceiling
