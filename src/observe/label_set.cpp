// Checks and sorts labels.
#include "observe/label_set.h"

#include <stdexcept>

#include "observe/text_escape.h"

namespace perdure::observe {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view kDigits = "0123456789";

bool is_identifier(std::string_view text, std::string_view also_allowed) {
  if (text.empty() || kDigits.find(text.front()) != std::string_view::npos) return false;
  const std::string allowed = std::string(kLetters) + std::string(kDigits) + std::string(also_allowed);
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

[[noreturn]] void refuse(std::string_view metric_name, const std::string& why) {
  throw std::invalid_argument("metric \"" + escape_controls(metric_name) + "\": " + why);
}

std::string quoted(std::string_view text) {
  return "\"" + escape_controls(text) + "\"";
}

}  // namespace

void check_metric_name(std::string_view name) {
  if (!is_identifier(name, ":"))
    refuse(name, "a name is made of letters, digits, '_' and ':' and starts with no digit");
}

LabelSet::LabelSet(std::string_view metric_name, MetricLabels labels) {
  if (labels.size() > labels_.size()) {
    refuse(metric_name, std::to_string(labels.size()) + " labels; at most " + std::to_string(labels_.size()));
  }
  for (const MetricLabel& label : labels) labels_[size_++] = label;
  const std::span<MetricLabel> used(labels_.data(), size_);
  std::ranges::sort(used, {}, &MetricLabel::key);
  const auto twice = std::ranges::adjacent_find(used, {}, &MetricLabel::key);
  if (twice != used.end()) refuse(metric_name, "label " + quoted(twice->key) + " occurs twice");
}

OwnedLabels LabelSet::owned() const {
  OwnedLabels owned;
  owned.reserve(size_);
  for (const MetricLabel& label : sorted()) owned.emplace_back(label.key, valid_utf8(label.value));
  return owned;
}

void LabelSet::check_keys(std::string_view metric_name, MetricType type) const {
  for (const MetricLabel& label : sorted()) {
    if (!is_identifier(label.key, "")) {
      refuse(metric_name,
             "label " + quoted(label.key) + " is not made of letters, digits and '_', or starts with a digit");
    }
    if (type == MetricType::kHistogram && label.key == "le") {
      refuse(metric_name, "the label \"le\" of a histogram is reserved: it distinguishes the buckets");
    }
  }
}

}  // namespace perdure::observe
