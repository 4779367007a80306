// The text format 0.0.4 of Prometheus. Per metric:
//
//   # HELP <name> <help>                       backslash and newline escaped
//   # TYPE <name> counter|gauge|histogram
//   <name>{<key>="<value>",...} <number>       backslash, quote and newline escaped; no braces without labels
//
// A histogram has instead, per series, <name>_bucket with one more label "le" per bound, cumulative and ending in
// "+Inf", then <name>_sum and <name>_count.
#include <array>
#include <charconv>
#include <cmath>

#include <perdure/metrics.h>
#include "observe/text_escape.h"

namespace perdure {
namespace {

constexpr double kLargestPlain = 1e15;  // below it every whole number is exact and fits an integer

using Labels = std::vector<std::pair<std::string, std::string>>;

// Not the JSON escape: the format knows these escapes only and takes every other backslash literally.
std::string escaped(std::string_view text, bool in_quotes) {
  std::string out;
  for (const char c : observe::valid_utf8(text)) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (in_quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

// The shortest text that reads back as the same number; whole numbers without an exponent, as people write bounds.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  const bool plain = std::abs(value) < kLargestPlain && std::trunc(value) == value;
  std::array<char, 32> buffer{};
  const auto result =
      plain ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<std::int64_t>(value))
            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string line(const std::string& name, const Labels& labels, const std::string& value) {
  std::string out = name;
  char separator = '{';
  for (const auto& [key, text] : labels) {
    out += separator;
    out += key + "=\"" + escaped(text, true) + "\"";
    separator = ',';
  }
  if (!labels.empty()) out += '}';
  return out + " " + value + "\n";
}

std::string histogram_lines(const std::string& name, const Labels& labels, const HistogramSnapshot& histogram) {
  std::string out;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    cumulative += histogram.counts[i];
    Labels bucket = labels;
    bucket.emplace_back("le", i < histogram.bounds.size() ? number(histogram.bounds[i]) : "+Inf");
    out += line(name + "_bucket", bucket, std::to_string(cumulative));
  }
  out += line(name + "_sum", labels, number(histogram.sum));
  out += line(name + "_count", labels, std::to_string(cumulative));
  return out;
}

struct SeriesText {
  const std::string& name;
  const Labels& labels;

  std::string operator()(std::uint64_t value) const { return line(name, labels, std::to_string(value)); }
  std::string operator()(double value) const { return line(name, labels, number(value)); }
  std::string operator()(const HistogramSnapshot& value) const { return histogram_lines(name, labels, value); }
};

}  // namespace

std::string InMemoryMetrics::prometheus_text() const {
  std::string out;
  for (const MetricFamily& family : snapshot()) {
    if (!family.help.empty()) out += "# HELP " + family.name + " " + escaped(family.help, false) + "\n";
    out += "# TYPE " + family.name + " " + std::string(to_string(family.type)) + "\n";
    for (const MetricSeries& series : family.series)
      out += std::visit(SeriesText{family.name, series.labels}, series.value);
  }
  return out;
}

}  // namespace perdure
