#include "cli/instance_selection.h"

#include <algorithm>
#include <stdexcept>

#include <CLI/CLI.hpp>

namespace perdure::cli {

void add_selection_options(CLI::App& command, Selection& selection) {
  command.add_option("instances", selection.ids, "Ids of the instances (default: select by filters)");
  command.add_flag("--all", selection.all, "Select every instance");
  add_filter_options(command, selection.filters);
}

void check_selection(const Selection& selection, const std::string& command) {
  const bool filtered = selection.all || !selection.filters.empty();
  if (selection.is_named() && filtered) {
    throw std::invalid_argument(command + ": ids cannot be combined with filters; pass one of them");
  }
  if (!selection.is_named() && !filtered) {
    throw std::invalid_argument(command +
                                ": no instances selected; pass ids, filters like --status completed, or --all");
  }
}

std::vector<std::string> matching_ids(const Client& client, const InstanceFilter& filter,
                                      const std::function<bool(const InstanceInfo&)>& wanted) {
  std::vector<std::string> ids;
  InstanceQuery query;
  query.filter = filter;
  query.limit = 1'000;
  do {
    const InstancePage page = client.list_instances(query);
    ids.reserve(ids.size() + page.instances.size());
    for (const InstanceInfo& info : page.instances) {
      if (wanted(info)) ids.push_back(info.id);
    }
    query.cursor = page.next;
  } while (!query.cursor.empty());
  std::reverse(ids.begin(), ids.end());
  return ids;
}

bool is_root(const InstanceInfo& info) noexcept {
  return !info.parent.has_value();
}

bool has_ended(const InstanceInfo& info) noexcept {
  return info.status != ExecutionStatus::kRunning && info.status != ExecutionStatus::kContinuedAsNew;
}

bool tree_has_ended(const Client& client, const std::string& root) {
  const InstanceTree tree = client.get_instance_tree(root);
  return std::all_of(tree.ids.begin(), tree.ids.end(),
                     [&client](const std::string& id) { return has_ended(client.get_instance_info(id)); });
}

}  // namespace perdure::cli
