// What a node announces, as the lists of text that stores keep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/provider.h>

namespace perdure {

struct NodeLists {
  // The filter of a node:
  std::vector<std::string> engine_versions;  // "1.0.0 2.0.0"
  std::vector<std::string> orchestrations;
  std::vector<std::string> activities;
  std::vector<std::string> tags;
  // What it has code for:
  std::vector<std::string> orchestration_code;  // "1.0.0 Name"
  std::vector<std::string> activity_code;
};

[[nodiscard]] NodeLists lists_of(const NodeInfo& node);
// Fills in what the lists say. False: they are damaged.
[[nodiscard]] bool read_lists(NodeLists lists, bool any_tag, bool untagged, NodeInfo& node);

}  // namespace perdure
