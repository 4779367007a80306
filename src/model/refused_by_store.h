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

// `what`: "activity 'Charge'". Names the node that asked last; the store does not record the others.
[[nodiscard]] inline std::string not_registered(std::string_view what, std::string_view node) {
  return std::string(kNotRegistered) + std::string(what) + ", last on node '" + std::string(node) +
         "'; register it on a node that serves this store";
}

}  // namespace perdure
