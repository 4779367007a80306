// What this process has used: CPU time of all its threads, and the memory that it occupies now.
#pragma once

#include <fstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace perdure::cli::bench {

[[nodiscard]] inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

[[nodiscard]] inline double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace perdure::cli::bench
