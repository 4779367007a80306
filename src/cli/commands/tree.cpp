// tree
#include <map>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_views.h"

namespace perdure::cli {

namespace {

using ChildrenByParent = std::map<std::string, std::vector<std::size_t>>;

// An instance that waits to be printed, with the lines that lead to it. A list of them and no recursion: nobody limits
// how deep orchestrations call each other.
struct TreeLine {
  std::size_t instance;
  std::string before;    // in front of its own line
  std::string children;  // in front of its children's
};

// `instances`: the root first.
void print_tree(const Context& context, const std::vector<InstanceInfo>& instances) {
  ChildrenByParent children;
  for (std::size_t i = 1; i < instances.size(); ++i) {
    children[instances[i].parent.value_or(instances.front().id)].push_back(i);
  }
  std::vector<TreeLine> waiting{{0, "", ""}};
  while (!waiting.empty()) {
    const TreeLine line = std::move(waiting.back());
    waiting.pop_back();
    const InstanceInfo& info = instances[line.instance];
    context.out << painted(context, Colour::kQuiet, line.before) << name_text(info.id) << "  " << name_text(info.name)
                << (info.version ? ' ' + info.version->to_string() : "") << "  " << status_text(context, info.status)
                << '\n';
    const auto& below = children[info.id];
    for (std::size_t i = below.size(); i-- > 0;) {
      const bool last = i + 1 == below.size();
      waiting.push_back({below[i], line.children + (last ? "└─ " : "├─ "), line.children + (last ? "   " : "│  ")});
    }
  }
}

int show_tree(const Context& context, const std::string& instance) {
  const Client client(context.open_to_read());
  const InstanceTree tree = client.get_instance_tree(instance);
  std::vector<InstanceInfo> instances;
  instances.reserve(tree.ids.size());
  for (const std::string& id : tree.ids) instances.push_back(client.get_instance_info(id));
  if (!context.json) {
    print_tree(context, instances);
    return kSuccess;
  }
  nlohmann::json listed = nlohmann::json::array();
  for (const InstanceInfo& info : instances) listed.push_back(instance_json(info));
  print_json(context, {{"root", tree.root}, {"instances", std::move(listed)}});
  return kSuccess;
}

}  // namespace

void add_tree_command(CLI::App& program, Context& context) {
  const auto instance = std::make_shared<std::string>();
  CLI::App& command = add_store_command(program, context, "tree", "Print the tree of an instance and its descendants",
                                        [&context, instance] { return show_tree(context, *instance); });
  command.add_option("instance", *instance, "Id of the instance")->required();
}

}  // namespace perdure::cli
