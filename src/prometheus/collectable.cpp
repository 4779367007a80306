// The registry in the words of prometheus-cpp.
#include <prometheus/collectable.h>

#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include <prometheus/metric_family.h>

#include <perdure/prometheus_metrics.h>

namespace perdure {
namespace {

prometheus::MetricType type_of(MetricType type) noexcept {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      break;
  }
  return prometheus::MetricType::Histogram;
}

struct SetValue {
  prometheus::ClientMetric& metric;

  void operator()(std::uint64_t value) const { metric.counter.value = static_cast<double>(value); }
  void operator()(double value) const { metric.gauge.value = value; }
  // Its buckets are cumulative, and the last one is open.
  void operator()(const HistogramSnapshot& value) const {
    auto& histogram = metric.histogram;
    histogram.bucket.reserve(value.counts.size());
    for (std::size_t i = 0; i < value.counts.size(); ++i) {
      const double bound = i < value.bounds.size() ? value.bounds[i] : std::numeric_limits<double>::infinity();
      histogram.sample_count += value.counts[i];
      histogram.bucket.push_back({histogram.sample_count, bound});
    }
    histogram.sample_sum = value.sum;
  }
};

prometheus::ClientMetric to_metric(const MetricSeries& series) {
  prometheus::ClientMetric metric;
  metric.label.reserve(series.labels.size());
  for (const auto& [key, value] : series.labels) metric.label.push_back({key, value});
  std::visit(SetValue{metric}, series.value);
  return metric;
}

class RegistryCollectable final : public prometheus::Collectable {
 public:
  explicit RegistryCollectable(std::shared_ptr<const InMemoryMetrics> metrics) : metrics_(std::move(metrics)) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    const std::vector<MetricFamily> snapshot = metrics_->snapshot();
    std::vector<prometheus::MetricFamily> families;
    families.reserve(snapshot.size());
    for (const MetricFamily& family : snapshot) {
      auto& copy = families.emplace_back();
      copy.name = family.name;
      copy.help = family.help;
      copy.type = type_of(family.type);
      copy.metric.reserve(family.series.size());
      for (const MetricSeries& series : family.series) copy.metric.push_back(to_metric(series));
    }
    return families;
  }

 private:
  std::shared_ptr<const InMemoryMetrics> metrics_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> make_prometheus_collectable(std::shared_ptr<const InMemoryMetrics> metrics) {
  if (!metrics) throw std::invalid_argument("a collectable needs metrics to collect, not a null pointer");
  return std::make_shared<RegistryCollectable>(std::move(metrics));
}

}  // namespace perdure
