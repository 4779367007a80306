// The text that a Prometheus server reads.
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include <perdure/metrics.h>

namespace perdure {
namespace {

TEST(PrometheusTextTest, AnEmptyRegistryIsAnEmptyText) {
  EXPECT_EQ(InMemoryMetrics().prometheus_text(), "");
}

TEST(PrometheusTextTest, GoldenTextOfEveryType) {
  static constexpr std::array kGoldenBounds{0.005, 0.1, 1.0, 100000.0};
  constexpr MetricId kGoldenSeconds{"a_seconds", MetricType::kHistogram, "How long.", kGoldenBounds};
  constexpr MetricId kGoldenRequests{"b_requests_total", MetricType::kCounter, "How often,\nor \\ \"never\"."};
  constexpr MetricId kGoldenDepth{"c_depth", MetricType::kGauge, ""};
  InMemoryMetrics metrics;
  metrics.set(kGoldenDepth, {}, -2.5);
  metrics.add(kGoldenRequests, {{"version", "1.0.0"}, {"name", "z"}}, 18'446'744'073'709'551'615U);
  metrics.add(kGoldenRequests, {{"name", "quote \" backslash \\ newline \n tab \t bad \xFF"}}, 2);
  metrics.add(kGoldenRequests, {}, 1);
  for (const double value : {0.005, 0.05, 0.06, 1e6}) metrics.observe(kGoldenSeconds, {{"status", "ok"}}, value);

  EXPECT_EQ(metrics.prometheus_text(),
            "# HELP a_seconds How long.\n"
            "# TYPE a_seconds histogram\n"
            "a_seconds_bucket{status=\"ok\",le=\"0.005\"} 1\n"
            "a_seconds_bucket{status=\"ok\",le=\"0.1\"} 3\n"
            "a_seconds_bucket{status=\"ok\",le=\"1\"} 3\n"
            "a_seconds_bucket{status=\"ok\",le=\"100000\"} 3\n"
            "a_seconds_bucket{status=\"ok\",le=\"+Inf\"} 4\n"
            "a_seconds_sum{status=\"ok\"} 1000000.115\n"
            "a_seconds_count{status=\"ok\"} 4\n"
            "# HELP b_requests_total How often,\\nor \\\\ \"never\".\n"
            "# TYPE b_requests_total counter\n"
            "b_requests_total 1\n"
            "b_requests_total{name=\"quote \\\" backslash \\\\ newline \\n tab \t bad \xEF\xBF\xBD\"} 2\n"
            "b_requests_total{name=\"z\",version=\"1.0.0\"} 18446744073709551615\n"
            "# TYPE c_depth gauge\n"
            "c_depth -2.5\n");
}

TEST(PrometheusTextTest, NumbersThatAreNotFiniteHaveTheirOwnNames) {
  constexpr MetricId kGauge{"g", MetricType::kGauge, ""};
  InMemoryMetrics metrics;
  metrics.set(kGauge, {{"v", "1"}}, std::numeric_limits<double>::quiet_NaN());
  metrics.set(kGauge, {{"v", "2"}}, std::numeric_limits<double>::infinity());
  metrics.set(kGauge, {{"v", "3"}}, -std::numeric_limits<double>::infinity());
  metrics.set(kGauge, {{"v", "4"}}, 1e300);
  EXPECT_EQ(metrics.prometheus_text(),
            "# TYPE g gauge\n"
            "g{v=\"1\"} NaN\n"
            "g{v=\"2\"} +Inf\n"
            "g{v=\"3\"} -Inf\n"
            "g{v=\"4\"} 1e+300\n");
}

TEST(PrometheusTextTest, AHistogramWithoutBoundsHasOneBucket) {
  constexpr MetricId kHistogram{"h", MetricType::kHistogram, ""};
  InMemoryMetrics metrics;
  metrics.observe(kHistogram, {}, 3);
  EXPECT_EQ(metrics.prometheus_text(),
            "# TYPE h histogram\n"
            "h_bucket{le=\"+Inf\"} 1\n"
            "h_sum 3\n"
            "h_count 1\n");
}

}  // namespace
}  // namespace perdure
