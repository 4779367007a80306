// The registry: families by name, series by labels. Nodes of a std::map never move, which is what keeps the references
// valid that counter(), gauge() and histogram() give out.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

#include <perdure/metrics.h>
#include "observe/guarded.h"
#include "observe/label_set.h"

namespace perdure {
namespace {

using observe::LabelOrder;
using observe::LabelSet;
using observe::OwnedLabels;

using Cell = std::variant<Counter, Gauge, Histogram>;
using SeriesMap = std::map<OwnedLabels, Cell, LabelOrder>;

struct Family {
  explicit Family(const MetricId& id) : type(id.type), help(id.help), buckets(id.buckets.begin(), id.buckets.end()) {}

  MetricType type;
  std::string help;
  std::vector<double> buckets;
  SeriesMap series;
};

using Families = std::map<std::string, Family, std::less<>>;

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw std::invalid_argument("metric \"" + std::string(name) + "\": " + why);
}

void check_buckets(const MetricId& id) {
  const bool finite = std::ranges::all_of(id.buckets, [](double bound) { return std::isfinite(bound); });
  const bool ascending = std::ranges::adjacent_find(id.buckets, std::ranges::greater_equal{}) == id.buckets.end();
  if (!finite || !ascending) refuse(id.name, "its buckets are not finite and ascending");
}

std::string a_type(MetricType type) {
  return "a " + std::string(to_string(type));
}

void check_same_metric(const Family& family, const MetricId& id) {
  if (family.type != id.type) refuse(id.name, "is known as " + a_type(family.type) + ", now " + a_type(id.type));
  if (!std::ranges::equal(family.buckets, id.buckets)) refuse(id.name, "is known with other buckets");
}

template <typename Map>
auto find_series(Map& series, const LabelSet& labels) {
  const auto found = series.find(labels);
  return found != series.end() ? found : series.find(labels.owned());  // kept under values made valid
}

template <typename T>
T& make_series(Family& family, OwnedLabels labels) {
  if constexpr (std::is_same_v<T, Histogram>) {
    return std::get<T>(
        family.series.try_emplace(std::move(labels), std::in_place_type<T>, family.buckets).first->second);
  } else {
    return std::get<T>(family.series.try_emplace(std::move(labels), std::in_place_type<T>).first->second);
  }
}

// The series, made if it is new. All checks come before anything is made, so that wrong use leaves nothing behind.
template <typename T>
T& resolve(Families& families, const MetricId& id, MetricLabels given, MetricType used_as, std::size_t max_series) {
  if (id.type != used_as) refuse(id.name, "is " + a_type(id.type) + ", used as " + a_type(used_as));
  const LabelSet labels(id.name, given);
  const auto known = families.find(id.name);
  if (known != families.end()) {
    check_same_metric(known->second, id);
    const auto series = find_series(known->second.series, labels);
    if (series != known->second.series.end()) return std::get<T>(series->second);
  } else {
    observe::check_metric_name(id.name);
    check_buckets(id);
  }
  labels.check_keys(id.name, id.type);
  Family& family =
      known != families.end() ? known->second : families.try_emplace(std::string(id.name), id).first->second;
  const bool full = family.series.size() >= max_series;
  return make_series<T>(family, full ? OwnedLabels{{"overflow", "true"}} : labels.owned());
}

struct CopyValue {
  using Value = decltype(MetricSeries::value);

  Value operator()(const Counter& counter) const { return counter.value(); }
  Value operator()(const Gauge& gauge) const { return gauge.value(); }
  Value operator()(const Histogram& histogram) const { return histogram.snapshot(); }
};

// The series, if it exists and is a T.
template <typename T>
const T* find_cell(const Families& families, std::string_view name, MetricLabels given) {
  const LabelSet labels(name, given);
  const auto family = families.find(name);
  if (family == families.end()) return nullptr;
  const auto series = find_series(family->second.series, labels);
  return series == family->second.series.end() ? nullptr : std::get_if<T>(&series->second);
}

}  // namespace

struct InMemoryMetrics::State {
  observe::Guarded<Families> families;
};

InMemoryMetrics::InMemoryMetrics(std::size_t max_series) : max_series_(max_series), state_(std::make_unique<State>()) {}

InMemoryMetrics::~InMemoryMetrics() = default;

void InMemoryMetrics::add(const MetricId& id, MetricLabels labels, std::uint64_t delta) {
  counter(id, labels).add(delta);
}

void InMemoryMetrics::set(const MetricId& id, MetricLabels labels, double value) {
  gauge(id, labels).set(value);
}

void InMemoryMetrics::observe(const MetricId& id, MetricLabels labels, double value) {
  histogram(id, labels).observe(value);
}

Counter& InMemoryMetrics::counter(const MetricId& id, MetricLabels labels) {
  return resolve<Counter>(*state_->families.lock(), id, labels, MetricType::kCounter, max_series_);
}

Gauge& InMemoryMetrics::gauge(const MetricId& id, MetricLabels labels) {
  return resolve<Gauge>(*state_->families.lock(), id, labels, MetricType::kGauge, max_series_);
}

Histogram& InMemoryMetrics::histogram(const MetricId& id, MetricLabels labels) {
  return resolve<Histogram>(*state_->families.lock(), id, labels, MetricType::kHistogram, max_series_);
}

std::uint64_t InMemoryMetrics::counter_value(std::string_view name, MetricLabels labels) const {
  const auto families = state_->families.lock();
  const auto* counter = find_cell<Counter>(*families, name, labels);
  return counter == nullptr ? 0 : counter->value();
}

std::uint64_t InMemoryMetrics::counter_total(std::string_view name) const {
  const auto families = state_->families.lock();
  const auto family = families->find(name);
  if (family == families->end()) return 0;
  std::uint64_t total = 0;
  for (const auto& [labels, cell] : family->second.series) {
    if (const auto* counter = std::get_if<Counter>(&cell)) total += counter->value();
  }
  return total;
}

std::optional<double> InMemoryMetrics::gauge_value(std::string_view name, MetricLabels labels) const {
  const auto families = state_->families.lock();
  const auto* gauge = find_cell<Gauge>(*families, name, labels);
  if (gauge == nullptr) return std::nullopt;
  return gauge->value();
}

std::optional<HistogramSnapshot> InMemoryMetrics::histogram_value(std::string_view name, MetricLabels labels) const {
  const auto families = state_->families.lock();
  const auto* histogram = find_cell<Histogram>(*families, name, labels);
  if (histogram == nullptr) return std::nullopt;
  return histogram->snapshot();
}

std::vector<MetricFamily> InMemoryMetrics::snapshot() const {
  std::vector<MetricFamily> copies;
  const auto families = state_->families.lock();
  copies.reserve(families->size());
  for (const auto& [name, family] : *families) {
    MetricFamily& copy = copies.emplace_back(MetricFamily{name, family.type, family.help, {}});
    copy.series.reserve(family.series.size());
    for (const auto& [labels, cell] : family.series) copy.series.push_back({labels, std::visit(CopyValue{}, cell)});
  }
  return copies;
}

}  // namespace perdure
