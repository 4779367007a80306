// Labels as a key: sorted, checked, and compared with labels that own their text without copying.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/metrics.h>

namespace perdure::observe {

using OwnedLabels = std::vector<std::pair<std::string, std::string>>;

// Throws std::invalid_argument if `name` is no metric name.
void check_metric_name(std::string_view name);

// Borrowed labels sorted by key, on the stack.
class LabelSet {
 public:
  // Throws std::invalid_argument, naming the metric, for too many labels or one given twice.
  LabelSet(std::string_view metric_name, MetricLabels labels);

  [[nodiscard]] std::span<const MetricLabel> sorted() const noexcept { return {labels_.data(), size_}; }
  // A copy whose values are valid UTF-8, which the text format demands: one bad byte would cost the whole scrape.
  [[nodiscard]] OwnedLabels owned() const;
  // Throws std::invalid_argument for a key that a label of such a metric cannot have. Apart from the constructor,
  // because labels that are found among the known ones need not be looked at again.
  void check_keys(std::string_view metric_name, MetricType type) const;

 private:
  std::array<MetricLabel, InMemoryMetrics::kMaxLabels> labels_{};
  std::size_t size_ = 0;
};

// Orders by key, value, next key and so on; the same order for both kinds.
struct LabelOrder {
  using is_transparent = void;
  using View = std::pair<std::string_view, std::string_view>;

  static View view(const std::pair<std::string, std::string>& label) noexcept { return {label.first, label.second}; }
  static View view(const MetricLabel& label) noexcept { return {label.key, label.value}; }
  static std::span<const std::pair<std::string, std::string>> range(const OwnedLabels& labels) { return labels; }
  static std::span<const MetricLabel> range(const LabelSet& labels) { return labels.sorted(); }

  template <typename Left, typename Right>
  bool operator()(const Left& left, const Right& right) const {
    const auto compare = [](const auto& a, const auto& b) { return view(a) < view(b); };
    const auto a = range(left);
    const auto b = range(right);
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), compare);
  }
};

}  // namespace perdure::observe
