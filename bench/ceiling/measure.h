// What the step programs share: arguments, and the line that they print.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "ceiling/load.h"

namespace ceiling {

struct Arguments {
  Load load;
  std::size_t others = 0;  // instances that do nothing
  std::size_t timers = 0;  // messages whose time has not come
  bool show_sql = false;
};

inline Arguments parse(int count, char** values) {
  Arguments arguments;
  Load& load = arguments.load;
  load.path = "ceiling.db";
  bench::read_arguments(count, values,
                        {{"shape", &load.shape},
                         {"path", &load.path},
                         {"batch", &load.batch},
                         {"instances", &load.instances},
                         {"others", &arguments.others},
                         {"timers", &arguments.timers},
                         {"connections", &load.connections},
                         {"seconds", &load.seconds},
                         {"warm_up", &load.warm_up},
                         {"sql", &arguments.show_sql}});
  if (load.shape != "plain" && load.shape != "fused") throw std::invalid_argument("shape is plain or fused");
  if (load.connections == 0) throw std::invalid_argument("at least one connection is needed");
  if (load.instances / load.connections < load.batch) {
    throw std::invalid_argument("each connection needs as many instances as its batch has steps");
  }
  return arguments;
}

// "steps/s, microseconds of CPU a step": the scripts that compare read it. With a server then "round trips a step,
// microseconds of the server's CPU a step".
inline void print(const Reached& reached, bool with_server) {
  const auto steps = static_cast<double>(reached.steps);
  std::printf("%.0f %.2f", reached.steps_per_second(), reached.cpu_seconds * 1e6 / steps);
  if (with_server) {
    std::printf(" %.3f %.2f", static_cast<double>(reached.round_trips) / steps,
                reached.server_cpu_seconds * 1e6 / steps);
  }
  std::printf("\n");
}

// A program that measures one bare database.
template <class Run, class Sql>
int measure(int count, char** values, bool with_server, const Run& run, const Sql& sql) {
  try {
    const Arguments arguments = parse(count, values);
    if (arguments.show_sql) {
      for (const std::string& statement : sql()) std::printf("%s\n", statement.c_str());
      return 0;
    }
    print(run(arguments.load), with_server);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}

}  // namespace ceiling
