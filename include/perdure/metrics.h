// Metrics: the sink that the engine counts into, and a registry in memory that can be read back. What the engine counts
// is in <perdure/engine_metrics.h>.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace perdure {

enum class MetricType { kCounter, kGauge, kHistogram };

// "counter", "gauge" or "histogram".
[[nodiscard]] std::string_view to_string(MetricType type) noexcept;

// What a metric is. Two definitions with the same name must agree in type and buckets. The texts are borrowed; a sink
// that keeps them copies them.
struct MetricId {
  std::string_view name;  // [a-zA-Z_:][a-zA-Z0-9_:]*
  MetricType type = MetricType::kCounter;
  std::string_view help;
  std::span<const double> buckets = {};  // histograms: upper bounds, ascending, finite; the last bucket is implied
  std::string_view labels = {};          // the keys of its labels with blanks between them, for documentation
};

struct MetricLabel {
  std::string_view key;  // [a-zA-Z_][a-zA-Z0-9_]*; in a histogram not "le"
  std::string_view value;
};

// A borrowed list of labels, for parameters only: it also takes {{"key", "value"}, ...}, which lives as long as the
// call. The order of labels has no meaning.
class MetricLabels {
 public:
  MetricLabels() = default;
  // NOLINTBEGIN(google-explicit-constructor): a view, as std::span is
  MetricLabels(std::span<const MetricLabel> labels) noexcept : labels_(labels) {}
  MetricLabels(const std::vector<MetricLabel>& labels) noexcept : labels_(labels) {}
  MetricLabels(std::initializer_list<MetricLabel> labels) noexcept : labels_(labels.begin(), labels.size()) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] auto begin() const noexcept { return labels_.begin(); }
  [[nodiscard]] auto end() const noexcept { return labels_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return labels_.size(); }

 private:
  std::span<const MetricLabel> labels_;
};

// Receives measurements from any thread at once. May throw: the engine calls it through Metrics, which contains that.
class MetricsSink {
 public:
  MetricsSink() = default;
  MetricsSink(const MetricsSink&) = delete;
  MetricsSink& operator=(const MetricsSink&) = delete;
  virtual ~MetricsSink() = default;

  virtual void add(const MetricId& counter, MetricLabels labels, std::uint64_t delta) = 0;
  virtual void set(const MetricId& gauge, MetricLabels labels, double value) = 0;
  virtual void observe(const MetricId& histogram, MetricLabels labels, double value) = 0;
};

class NullMetrics final : public MetricsSink {
 public:
  void add(const MetricId& counter, MetricLabels labels, std::uint64_t delta) noexcept override;
  void set(const MetricId& gauge, MetricLabels labels, double value) noexcept override;
  void observe(const MetricId& histogram, MetricLabels labels, double value) noexcept override;
};

// What the engine counts through: cheap to copy, usable from any thread, without a sink a no-op. Nothing here throws:
// what a sink throws is dropped together with the measurement, and the first time in the process it is reported on
// stderr.
class Metrics {
 public:
  Metrics() = default;
  explicit Metrics(std::shared_ptr<MetricsSink> sink) noexcept : sink_(std::move(sink)) {}

  // There is a sink, so that a measurement is worth taking.
  [[nodiscard]] bool enabled() const noexcept { return sink_ != nullptr; }
  void add(const MetricId& counter, MetricLabels labels = {}, std::uint64_t delta = 1) const noexcept;
  void set(const MetricId& gauge, MetricLabels labels, double value) const noexcept;
  void observe(const MetricId& histogram, MetricLabels labels, double value) const noexcept;

 private:
  std::shared_ptr<MetricsSink> sink_;
};

// Keeps two counters that different threads bump apart from each other in the cache.
inline constexpr std::size_t kMetricAlignment = 64;

// One series of a registry. All three are thread-safe and never block.
class alignas(kMetricAlignment) Counter {
 public:
  void add(std::uint64_t delta = 1) noexcept { value_.fetch_add(delta, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

struct HistogramSnapshot {
  std::vector<double> bounds;         // upper bounds, inclusive
  std::vector<std::uint64_t> counts;  // per bucket, not cumulative; one more than bounds: the last has no upper bound
  double sum = 0;

  [[nodiscard]] std::uint64_t count() const noexcept;

  bool operator==(const HistogramSnapshot&) const = default;
};

class alignas(kMetricAlignment) Histogram {
 public:
  // `bounds` ascending and finite, as in MetricId.
  explicit Histogram(std::span<const double> bounds);

  // NaN is not counted: it belongs to no bucket and would spoil the sum for ever.
  void observe(double value) noexcept;
  // While others observe, the sum may be ahead of the counts or behind them.
  [[nodiscard]] HistogramSnapshot snapshot() const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

struct MetricSeries {
  std::vector<std::pair<std::string, std::string>> labels;  // by key
  std::variant<std::uint64_t, double, HistogramSnapshot> value;

  bool operator==(const MetricSeries&) const = default;
};

struct MetricFamily {
  std::string name;
  MetricType type = MetricType::kCounter;
  std::string help;
  std::vector<MetricSeries> series;  // by labels

  bool operator==(const MetricFamily&) const = default;
};

// Keeps every series in memory, for tests and for a Prometheus endpoint. Thread-safe. add, set and observe look the
// series up under a lock; counter, gauge and histogram do that once and give out the series itself.
//
// Wrong use throws std::invalid_argument that names the metric: a name or label key outside the allowed characters, a
// label given twice, more than kMaxLabels labels, a metric used as another type or with other buckets than before.
class InMemoryMetrics final : public MetricsSink {
 public:
  static constexpr std::size_t kMaxLabels = 16;
  static constexpr std::size_t kDefaultMaxSeries = 10'000;

  // A metric that has `max_series` series gets one more, {overflow="true"}, and everything new goes there: label values
  // from outside cannot fill the memory.
  explicit InMemoryMetrics(std::size_t max_series = kDefaultMaxSeries);
  ~InMemoryMetrics() override;

  void add(const MetricId& id, MetricLabels labels, std::uint64_t delta) override;
  void set(const MetricId& id, MetricLabels labels, double value) override;
  void observe(const MetricId& id, MetricLabels labels, double value) override;

  // The series, made if it is new (it then shows in snapshots with zero). Valid as long as the registry.
  [[nodiscard]] Counter& counter(const MetricId& id, MetricLabels labels = {});
  [[nodiscard]] Gauge& gauge(const MetricId& id, MetricLabels labels = {});
  [[nodiscard]] Histogram& histogram(const MetricId& id, MetricLabels labels = {});

  // The series with exactly these labels; 0 if there is none.
  [[nodiscard]] std::uint64_t counter_value(std::string_view name, MetricLabels labels = {}) const;
  // The sum over all series of the metric.
  [[nodiscard]] std::uint64_t counter_total(std::string_view name) const;
  [[nodiscard]] std::optional<double> gauge_value(std::string_view name, MetricLabels labels = {}) const;
  [[nodiscard]] std::optional<HistogramSnapshot> histogram_value(std::string_view name, MetricLabels labels = {}) const;

  // Everything, by name and then by labels.
  [[nodiscard]] std::vector<MetricFamily> snapshot() const;
  // The same in Prometheus's text format 0.0.4. Equal contents give equal text.
  [[nodiscard]] std::string prometheus_text() const;

 private:
  struct State;

  std::size_t max_series_;
  std::unique_ptr<State> state_;
};

// For tests, where the reason to have the registry is to look into it.
using CapturingMetrics = InMemoryMetrics;

}  // namespace perdure
