// The handle that the engine counts through, and the table of its metrics.
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>

namespace perdure {
namespace {

class ThrowingMetrics final : public MetricsSink {
 public:
  void add(const MetricId& /*counter*/, MetricLabels /*labels*/, std::uint64_t /*delta*/) override { fail(); }
  void set(const MetricId& /*gauge*/, MetricLabels /*labels*/, double /*value*/) override { fail(); }
  void observe(const MetricId& /*histogram*/, MetricLabels /*labels*/, double /*value*/) override { fail(); }

  int calls = 0;

 private:
  void fail() {
    ++calls;
    if (calls == 1) throw 42;
    throw std::runtime_error("the exporter is gone");
  }
};

TEST(MetricsTest, HandsEverythingToTheSink) {
  auto sink = std::make_shared<CapturingMetrics>();
  const Metrics metrics(sink);
  metrics.add(metric::kOrchestrationPoison);
  metrics.add(metric::kUnregisteredBackoff, {{"kind", "activity"}}, 3);
  metrics.set(metric::kWorkerQueueDepth, {}, 12);
  metrics.observe(metric::kOrchestrationTurns, {{"orchestration_name", "o"}}, 4);
  EXPECT_EQ(sink->counter_value("perdure_orchestration_poison_total"), 1U);
  EXPECT_EQ(sink->counter_value("perdure_unregistered_backoff_total", {{"kind", "activity"}}), 3U);
  EXPECT_EQ(sink->gauge_value("perdure_worker_queue_depth"), 12.0);
  const auto turns = sink->histogram_value("perdure_orchestration_turns", {{"orchestration_name", "o"}});
  EXPECT_EQ(turns.value_or(HistogramSnapshot{}).count(), 1U);
}

TEST(MetricsTest, WithoutASinkNothingHappens) {
  for (const Metrics& metrics : {Metrics(), Metrics(nullptr), Metrics(std::make_shared<NullMetrics>())}) {
    metrics.add(metric::kActivityPoison);
    metrics.set(metric::kActiveOrchestrations, {}, 1);
    metrics.observe(metric::kOrchestrationTurns, {}, 1);
  }
}

TEST(MetricsTest, NothingASinkThrowsGetsOut) {
  auto sink = std::make_shared<ThrowingMetrics>();
  const Metrics metrics(sink);
  EXPECT_NO_THROW(metrics.add(metric::kActivityPoison));
  EXPECT_NO_THROW(metrics.set(metric::kActiveOrchestrations, {}, 1));
  EXPECT_NO_THROW(metrics.observe(metric::kOrchestrationTurns, {}, 1));
  EXPECT_EQ(sink->calls, 3);
}

TEST(MetricsTest, WrongUseOfTheRegistryIsContainedToo) {
  auto sink = std::make_shared<InMemoryMetrics>();
  EXPECT_NO_THROW(Metrics(sink).set(metric::kActivityPoison, {}, 1));
  EXPECT_TRUE(sink->snapshot().empty());
}

TEST(EngineMetricsTest, TheTableHoldsEveryMetricOnce) {
  std::set<std::string_view> names;
  for (const MetricId& id : metric::all()) EXPECT_TRUE(names.insert(id.name).second) << id.name;
  EXPECT_EQ(names.size(), 54U);
}

TEST(EngineMetricsTest, NamesFollowTheirTypes) {
  for (const MetricId& id : metric::all()) {
    EXPECT_TRUE(id.name.starts_with("perdure_")) << id.name;
    EXPECT_EQ(id.name.ends_with("_total"), id.type == MetricType::kCounter) << id.name;
    EXPECT_EQ(id.buckets.empty(), id.type != MetricType::kHistogram) << id.name;
    EXPECT_TRUE(id.help.ends_with('.')) << id.name;
  }
}

TEST(EngineMetricsTest, TheRegistryAcceptsAllOfThem) {
  InMemoryMetrics metrics;
  for (const MetricId& id : metric::all()) {
    switch (id.type) {
      case MetricType::kCounter:
        (void)metrics.counter(id);
        break;
      case MetricType::kGauge:
        (void)metrics.gauge(id);
        break;
      case MetricType::kHistogram:
        (void)metrics.histogram(id);
        break;
    }
  }
  EXPECT_EQ(metrics.snapshot().size(), metric::all().size());
}

}  // namespace
}  // namespace perdure
