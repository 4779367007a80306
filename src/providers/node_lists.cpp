#include "providers/node_lists.h"

#include <utility>

namespace perdure {

namespace {

// The two halves of "1.0.0 rest".
struct Halves {
  std::optional<SemanticVersion> version;
  std::string rest;
};

Halves split(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {};
  return {.version = SemanticVersion::parse(text.substr(0, space)), .rest = text.substr(space + 1)};
}

}  // namespace

NodeLists lists_of(const NodeInfo& node) {
  NodeLists lists{.engine_versions = {},
                  .orchestrations = node.filter.orchestrations,
                  .activities = node.filter.activities,
                  .tags = node.tags.listed(),
                  .orchestration_code = {},
                  .activity_code = node.activities};
  lists.engine_versions.reserve(node.filter.engine_versions.size());
  for (const VersionRange& range : node.filter.engine_versions) {
    lists.engine_versions.push_back(range.min.to_string() + " " + range.max.to_string());
  }
  lists.orchestration_code.reserve(node.orchestrations.size());
  for (const OrchestrationVersion& orchestration : node.orchestrations) {
    lists.orchestration_code.push_back(orchestration.version.to_string() + " " + orchestration.name);
  }
  return lists;
}

bool read_lists(NodeLists lists, bool any_tag, bool untagged, NodeInfo& node) {
  for (const std::string& range : lists.engine_versions) {
    const Halves halves = split(range);
    const std::optional<SemanticVersion> max = SemanticVersion::parse(halves.rest);
    if (!halves.version || !max) return false;
    node.filter.engine_versions.push_back({*halves.version, *max});
  }
  for (const std::string& code : lists.orchestration_code) {
    Halves halves = split(code);
    if (!halves.version) return false;
    node.orchestrations.push_back({.name = std::move(halves.rest), .version = *halves.version});
  }
  node.filter.orchestrations = std::move(lists.orchestrations);
  node.filter.activities = std::move(lists.activities);
  node.activities = std::move(lists.activity_code);
  if (lists.tags.size() > TagFilter::kMaxTags) return false;
  if (any_tag) {
    node.tags = TagFilter::any();
  } else if (lists.tags.empty()) {
    node.tags = untagged ? TagFilter::untagged() : TagFilter::none();
  } else {
    node.tags = untagged ? TagFilter::untagged_and(std::move(lists.tags)) : TagFilter::tags(std::move(lists.tags));
  }
  return true;
}

}  // namespace perdure
