// The handle that the engine counts through, the sink that ignores it all, and the names of the types.
#include <perdure/metrics.h>

#include "observe/sink_failure.h"

namespace perdure {

using observe::contain_sink_failure;
using observe::SinkKind;

std::string_view to_string(MetricType type) noexcept {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

void NullMetrics::add(const MetricId& /*counter*/, MetricLabels /*labels*/, std::uint64_t /*delta*/) noexcept {}

void NullMetrics::set(const MetricId& /*gauge*/, MetricLabels /*labels*/, double /*value*/) noexcept {}

void NullMetrics::observe(const MetricId& /*histogram*/, MetricLabels /*labels*/, double /*value*/) noexcept {}

void Metrics::add(const MetricId& counter, MetricLabels labels, std::uint64_t delta) const noexcept {
  if (sink_ == nullptr) return;
  contain_sink_failure(SinkKind::kMetrics, [&] { sink_->add(counter, labels, delta); });
}

void Metrics::set(const MetricId& gauge, MetricLabels labels, double value) const noexcept {
  if (sink_ == nullptr) return;
  contain_sink_failure(SinkKind::kMetrics, [&] { sink_->set(gauge, labels, value); });
}

void Metrics::observe(const MetricId& histogram, MetricLabels labels, double value) const noexcept {
  if (sink_ == nullptr) return;
  contain_sink_failure(SinkKind::kMetrics, [&] { sink_->observe(histogram, labels, value); });
}

}  // namespace perdure
