// Which instances a command is about: those that are named, or those that match the filters.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <perdure/client.h>
#include "cli/filter_options.h"

namespace perdure::cli {

struct Selection {
  std::vector<std::string> ids;
  bool all = false;  // --all
  FilterOptions filters;

  [[nodiscard]] bool is_named() const noexcept { return !ids.empty(); }
};

// INSTANCE..., --all and the filters.
void add_selection_options(CLI::App& command, Selection& selection);

// Ids or filters, not both, and --all where there is neither. Throws std::invalid_argument.
void check_selection(const Selection& selection, const std::string& command);

// The ids of the instances that match, oldest first. `wanted` sees each of them.
[[nodiscard]] std::vector<std::string> matching_ids(const Client& client, const InstanceFilter& filter,
                                                    const std::function<bool(const InstanceInfo&)>& wanted);

// An instance without a parent: with its tree it is deleted and exported.
[[nodiscard]] bool is_root(const InstanceInfo& info) noexcept;
[[nodiscard]] bool has_ended(const InstanceInfo& info) noexcept;
// Nothing in the tree runs.
[[nodiscard]] bool tree_has_ended(const Client& client, const std::string& root);

}  // namespace perdure::cli
