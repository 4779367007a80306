// Counting into buckets without a lock.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <perdure/metrics.h>

namespace perdure {

std::uint64_t HistogramSnapshot::count() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

void Histogram::observe(double value) noexcept {
  if (std::isnan(value)) return;
  // The first bound that is not below the value: bounds are inclusive.
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

HistogramSnapshot Histogram::snapshot() const {
  HistogramSnapshot copy{bounds_, {}, sum_.load(std::memory_order_relaxed)};
  copy.counts.reserve(counts_.size());
  for (const auto& count : counts_) copy.counts.push_back(count.load(std::memory_order_relaxed));
  return copy;
}

}  // namespace perdure
