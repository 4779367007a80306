// percentile: the value that so large a part of many values do not exceed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

[[nodiscard]] inline double percentile(std::vector<double> values, double which) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(which * static_cast<double>(values.size() - 1))];
}

}  // namespace bench
