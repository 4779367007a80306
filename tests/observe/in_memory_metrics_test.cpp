// The registry: series, handles, limits, threads.
#include <array>
#include <cmath>
#include <latch>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/metrics.h>

namespace perdure {
namespace {

constexpr MetricId kRequests{"requests_total", MetricType::kCounter, "Requests."};
constexpr MetricId kDepth{"depth", MetricType::kGauge, "Depth."};
constexpr std::array kBounds{1.0, 2.0};
constexpr MetricId kSeconds{"seconds", MetricType::kHistogram, "Seconds.", kBounds};

// The histogram, or an empty one if there is none.
HistogramSnapshot seconds(const InMemoryMetrics& metrics) {
  return metrics.histogram_value("seconds").value_or(HistogramSnapshot{});
}

// What `call` throws, or "" if it returns.
template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(InMemoryMetricsTest, CountersAddUpPerSetOfLabels) {
  InMemoryMetrics metrics;
  metrics.add(kRequests, {{"name", "a"}}, 1);
  metrics.add(kRequests, {{"name", "a"}}, 2);
  metrics.add(kRequests, {{"name", "b"}}, 5);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "a"}}), 3U);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "b"}}), 5U);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "c"}}), 0U);
  EXPECT_EQ(metrics.counter_value("requests_total"), 0U);
  EXPECT_EQ(metrics.counter_total("requests_total"), 8U);
  EXPECT_EQ(metrics.counter_total("unknown"), 0U);
}

TEST(InMemoryMetricsTest, TheOrderOfLabelsHasNoMeaning) {
  InMemoryMetrics metrics;
  metrics.add(kRequests, {{"a", "1"}, {"b", "2"}}, 1);
  const std::vector<MetricLabel> other_way{{"b", "2"}, {"a", "1"}};
  metrics.add(kRequests, other_way, 1);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"a", "1"}, {"b", "2"}}), 2U);
}

TEST(InMemoryMetricsTest, AGaugeKeepsTheLastValue) {
  InMemoryMetrics metrics;
  EXPECT_EQ(metrics.gauge_value("depth"), std::nullopt);
  EXPECT_EQ(metrics.histogram_value("seconds"), std::nullopt);
  metrics.set(kDepth, {}, 5);
  metrics.set(kDepth, {}, 2.5);
  EXPECT_EQ(metrics.gauge_value("depth"), 2.5);
}

TEST(InMemoryMetricsTest, AHistogramCountsIntoInclusiveBounds) {
  InMemoryMetrics metrics;
  for (const double value : {0.5, 1.0, 1.5, 2.0, 3.0, -1.0}) metrics.observe(kSeconds, {}, value);
  const HistogramSnapshot histogram = seconds(metrics);
  EXPECT_EQ(histogram.bounds, (std::vector{1.0, 2.0}));
  EXPECT_EQ(histogram.counts, (std::vector<std::uint64_t>{3, 2, 1}));
  EXPECT_EQ(histogram.sum, 7.0);
  EXPECT_EQ(histogram.count(), 6U);
}

TEST(InMemoryMetricsTest, AHistogramIgnoresNanAndTakesInfinity) {
  InMemoryMetrics metrics;
  metrics.observe(kSeconds, {}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(seconds(metrics).count(), 0U);
  metrics.observe(kSeconds, {}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(seconds(metrics).counts, (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST(InMemoryMetricsTest, AHandleIsTheSeriesItselfAndStaysValid) {
  InMemoryMetrics metrics;
  Counter& counter = metrics.counter(kRequests, {{"name", "a"}});
  EXPECT_EQ(&counter, &metrics.counter(kRequests, {{"name", "a"}}));
  Gauge& gauge = metrics.gauge(kDepth);
  Histogram& histogram = metrics.histogram(kSeconds);
  for (int i = 0; i < 1000; ++i) metrics.add(kRequests, {{"name", std::to_string(i)}}, 1);
  counter.add();
  gauge.set(7);
  histogram.observe(1.5);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "a"}}), 1U);
  EXPECT_EQ(metrics.gauge_value("depth"), 7.0);
  EXPECT_EQ(seconds(metrics).count(), 1U);
}

TEST(InMemoryMetricsTest, AResolvedSeriesShowsBeforeItIsUsed) {
  InMemoryMetrics metrics;
  (void)metrics.counter(kRequests);
  ASSERT_EQ(metrics.snapshot().size(), 1U);
  EXPECT_EQ(metrics.snapshot()[0].series, (std::vector<MetricSeries>{{{}, std::uint64_t{0}}}));
}

TEST(InMemoryMetricsTest, ASnapshotIsSortedWhateverCameFirst) {
  InMemoryMetrics metrics;
  metrics.add(kRequests, {{"name", "b"}}, 2);
  metrics.add(kRequests, {{"name", "a"}}, 1);
  metrics.set(kDepth, {}, 3);
  const std::vector<MetricFamily> expected{
      {"depth", MetricType::kGauge, "Depth.", {{{}, 3.0}}},
      {"requests_total",
       MetricType::kCounter,
       "Requests.",
       {{{{"name", "a"}}, std::uint64_t{1}}, {{{"name", "b"}}, std::uint64_t{2}}}}};
  EXPECT_EQ(metrics.snapshot(), expected);
}

TEST(InMemoryMetricsTest, TooManySeriesShareOne) {
  InMemoryMetrics metrics(2);
  for (const char* name : {"a", "b", "c", "d", "a"}) metrics.add(kRequests, {{"name", name}}, 1);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "a"}}), 2U);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "c"}}), 0U);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"overflow", "true"}}), 2U);
  EXPECT_EQ(metrics.counter_total("requests_total"), 5U);
  EXPECT_EQ(metrics.snapshot()[0].series.size(), 3U);
}

TEST(InMemoryMetricsTest, LabelValuesThatAreNotUtf8AreKeptInAFormThatIs) {
  InMemoryMetrics metrics;
  metrics.add(kRequests, {{"name", "\xFF"}}, 1);
  metrics.add(kRequests, {{"name", "\xFE"}}, 1);  // reads the same, so it is the same series
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "\xFF"}}), 2U);
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "\xEF\xBF\xBD"}}), 2U);
  EXPECT_EQ(metrics.snapshot()[0].series.size(), 1U);
}

TEST(InMemoryMetricsTest, AMetricKeepsItsTypeAndBuckets) {
  InMemoryMetrics metrics;
  metrics.add(kRequests, {}, 1);
  metrics.observe(kSeconds, {}, 1);
  constexpr MetricId kAsGauge{"requests_total", MetricType::kGauge, ""};
  static constexpr std::array kOtherBounds{1.0, 3.0};
  constexpr MetricId kOtherBuckets{"seconds", MetricType::kHistogram, "", kOtherBounds};
  EXPECT_EQ(refusal([&] { metrics.set(kAsGauge, {}, 1); }),
            "metric \"requests_total\": is known as a counter, now a gauge");
  EXPECT_EQ(refusal([&] { metrics.set(kRequests, {}, 1); }),
            "metric \"requests_total\": is a counter, used as a gauge");
  EXPECT_EQ(refusal([&] { metrics.observe(kOtherBuckets, {}, 1); }), "metric \"seconds\": is known with other buckets");
  EXPECT_EQ(metrics.gauge_value("requests_total"), std::nullopt);
  EXPECT_EQ(metrics.counter_value("requests_total"), 1U);
}

TEST(InMemoryMetricsTest, BadNamesLabelsAndBucketsAreRefusedAndLeaveNothing) {
  InMemoryMetrics metrics;
  for (const std::string_view name : {"", "1a", "a b", "a-b", "a\n"}) {
    EXPECT_NE(refusal([&] { metrics.add({name, MetricType::kCounter, ""}, {}, 1); }), "") << name;
  }
  for (const std::string_view key : {"", "1a", "a:b", "a\"", "\xFF"}) {
    EXPECT_NE(refusal([&] { metrics.add(kRequests, {{key, ""}}, 1); }), "") << key;
  }
  EXPECT_EQ(refusal([&] { metrics.add(kRequests, {{"a", "1"}, {"b", ""}, {"a", "2"}}, 1); }),
            "metric \"requests_total\": label \"a\" occurs twice");
  EXPECT_NE(refusal([&] { metrics.observe(kSeconds, {{"le", "1"}}, 1); }), "");
  const std::vector<MetricLabel> too_many(InMemoryMetrics::kMaxLabels + 1, MetricLabel{"a", ""});
  EXPECT_EQ(refusal([&] { metrics.add(kRequests, too_many, 1); }), "metric \"requests_total\": 17 labels; at most 16");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& bounds : {std::vector{2.0, 1.0}, std::vector{1.0, 1.0}, std::vector{1.0, kInfinity}}) {
    EXPECT_NE(refusal([&] { metrics.observe({"h", MetricType::kHistogram, "", bounds}, {}, 1); }), "");
  }
  EXPECT_TRUE(metrics.snapshot().empty());
}

TEST(InMemoryMetricsTest, NoIncrementOfManyThreadsIsLost) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  InMemoryMetrics metrics;
  {
    std::latch start(kThreads + 1);
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, own = std::to_string(i)] {
        Counter& shared = metrics.counter(kRequests, {{"name", "shared"}});
        start.arrive_and_wait();
        for (int round = 0; round < kRounds; ++round) {
          shared.add();
          metrics.add(kRequests, {{"name", own}}, 1);
          metrics.observe(kSeconds, {}, 1.5);
          metrics.set(kDepth, {}, round);
        }
      });
    }
    start.arrive_and_wait();
    std::uint64_t seen = 0;
    for (int look = 0; look < 20; ++look) {
      const std::uint64_t now = metrics.counter_total("requests_total");
      EXPECT_GE(now, seen);
      EXPECT_FALSE(metrics.prometheus_text().empty());
      seen = now;
    }
  }
  constexpr std::uint64_t kAll = std::uint64_t{kThreads} * kRounds;
  EXPECT_EQ(metrics.counter_value("requests_total", {{"name", "shared"}}), kAll);
  EXPECT_EQ(metrics.counter_total("requests_total"), 2 * kAll);
  EXPECT_EQ(seconds(metrics).count(), kAll);
  EXPECT_EQ(seconds(metrics).sum, 1.5 * static_cast<double>(kAll));
  EXPECT_EQ(metrics.gauge_value("depth"), kRounds - 1);
}

}  // namespace
}  // namespace perdure
