// BoundedLabel: keeps a label of the metrics from growing with what comes from outside.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <perdure/engine_metrics.h>

namespace perdure::runtime {

class BoundedLabel {
 public:
  // The value itself, or kOtherValue if there were too many. `registered`: there are only so many of these, and they
  // are always shown.
  [[nodiscard]] std::string_view of(std::string_view value, bool registered = false) {
    if (shown_.find(value) != shown_.end()) return value;
    if (!registered && strange_ == metric::kMaxStrangeValues) return metric::kOtherValue;
    if (!registered) ++strange_;
    shown_.emplace(value);
    return value;
  }

 private:
  std::set<std::string, std::less<>> shown_;
  std::size_t strange_ = 0;
};

}  // namespace perdure::runtime
