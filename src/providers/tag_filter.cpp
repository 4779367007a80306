#include <algorithm>
#include <stdexcept>
#include <utility>

#include <perdure/fetch.h>

namespace perdure {

namespace {
void check_count(const std::vector<std::string>& tags) {
  if (tags.empty() || tags.size() > TagFilter::kMaxTags) {
    throw std::invalid_argument("a tag filter lists one to five tags, not " + std::to_string(tags.size()) +
                                "; TagFilter::any() takes all");
  }
}
}  // namespace

TagFilter TagFilter::tags(std::vector<std::string> tags) {
  check_count(tags);
  TagFilter filter;
  filter.untagged_ = false;
  filter.tags_ = std::move(tags);
  return filter;
}

TagFilter TagFilter::untagged_and(std::vector<std::string> tags) {
  check_count(tags);
  TagFilter filter;
  filter.tags_ = std::move(tags);
  return filter;
}

TagFilter TagFilter::any() {
  TagFilter filter;
  filter.any_ = true;
  return filter;
}

TagFilter TagFilter::none() {
  TagFilter filter;
  filter.untagged_ = false;
  return filter;
}

TagFilter TagFilter::with(std::string tag) const {
  TagFilter filter = *this;
  if (!matches(tag)) filter.tags_.push_back(std::move(tag));
  return filter;
}

bool TagFilter::matches(const std::optional<std::string>& tag) const noexcept {
  if (any_) return true;
  if (!tag) return untagged_;
  return std::find(tags_.begin(), tags_.end(), *tag) != tags_.end();
}

}  // namespace perdure
