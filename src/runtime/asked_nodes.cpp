#include "runtime/asked_nodes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <perdure/provider_admin.h>

namespace perdure::runtime {

namespace {

constexpr std::size_t kNamedNodes = 5;
constexpr std::size_t kNamedVersions = 5;

std::string versions_of(const NodeInfo& node, const std::string& name) {
  std::string text;
  std::size_t count = 0;
  for (const OrchestrationVersion& known : node.orchestrations) {
    if (known.name != name || ++count > kNamedVersions) continue;
    text += (text.empty() ? "" : ", ") + known.version.to_string();
  }
  if (count > kNamedVersions) text += ", ...";
  return text.empty() ? text : (count == 1 ? "version " : "versions ") + text;
}

template <class Describe>
std::string list_of(const std::vector<NodeInfo>& nodes, Describe describe) {
  std::string text;
  for (std::size_t index = 0; index < std::min(nodes.size(), kNamedNodes); ++index) {
    const std::string what = describe(nodes[index]);
    text += (text.empty() ? "'" : ", '") + nodes[index].id + "'" + (what.empty() ? "" : " (" + what + ")");
  }
  if (nodes.size() > kNamedNodes) text += " and " + std::to_string(nodes.size() - kNamedNodes) + " others";
  return text;
}

}  // namespace

std::optional<std::vector<NodeInfo>> registered_nodes(const ProviderCalls& calls) {
  ProviderAdmin* const admin = calls.store().admin();
  if (!admin) return std::nullopt;
  auto nodes = calls.one("list_nodes", [&] { return admin->list_nodes(); });
  if (!nodes) return std::nullopt;
  return std::move(*nodes);
}

std::string asked_for_orchestration(const std::vector<NodeInfo>& nodes, const std::string& name) {
  return list_of(nodes, [&](const NodeInfo& node) { return versions_of(node, name); });
}

std::string asked_for_activity(const std::vector<NodeInfo>& nodes, const std::string& name) {
  return list_of(nodes, [&](const NodeInfo& node) {
    const bool has_it = std::find(node.activities.begin(), node.activities.end(), name) != node.activities.end();
    return std::string(has_it ? "has it" : "");
  });
}

}  // namespace perdure::runtime
