// Messages of a PoisonError that describe() shows, because they name the cause: the store refused the item and says
// why, or its code was not registered.
#pragma once

#include <string>
#include <string_view>

namespace perdure {

inline constexpr std::string_view kRefusedByStore = "refused by the store: ";

[[nodiscard]] inline std::string refused_by_store(std::string_view error) {
  return std::string(kRefusedByStore) + std::string(error);
}

inline constexpr std::string_view kNotRegistered = "not registered: ";

// `what`: "activity 'Charge'". `node` is the one that asked last. `nodes` lists the nodes that the store knows; it is
// empty if the store could not list them.
[[nodiscard]] inline std::string not_registered(std::string_view what, std::string_view node, std::string_view nodes) {
  std::string text = std::string(kNotRegistered) + std::string(what) + ", last on node '" + std::string(node) + "'";
  if (!nodes.empty()) text += "; nodes of the store: " + std::string(nodes);
  return text + "; register it on a node that serves this store";
}

}  // namespace perdure
