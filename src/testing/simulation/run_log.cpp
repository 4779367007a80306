#include "testing/simulation/run_log.h"

#include <cstdio>

namespace perdure::testing::simulation {

void RunLog::add(Timestamp now, const std::string& text) {
  if (!on_) return;
  char time[32];
  const auto passed = (now - start_).count();
  std::snprintf(time, sizeof(time), "%9lld.%03d  ", static_cast<long long>(passed / 1'000),
                static_cast<int>(passed % 1'000));
  lines_.push_back(time + (actor_.empty() ? std::string() : actor_ + ": ") + text);
}

}  // namespace perdure::testing::simulation
