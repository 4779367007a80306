#include "testing/simulation/fault.h"

#include <algorithm>
#include <stdexcept>

namespace perdure::testing::simulation {

namespace {

constexpr std::array<std::string_view, kFaultKinds> kFaultNames{
    "crash", "crash-in-call", "lost-answer",  "store-error", "repeated", "slow-call",  "outage",
    "pause", "time-jump",     "clock-offset", "upgrade",     "damage",   "clock-step", "store-outage",
};

}  // namespace

std::string_view to_string(Fault fault) noexcept {
  return kFaultNames[static_cast<std::size_t>(fault)];
}

FaultSet parse_faults(std::string_view list) {
  if (list == "all") return FaultSet().set();
  FaultSet set;
  if (list == "none") return set;
  while (true) {
    const std::string_view name = list.substr(0, list.find(','));
    const auto* const found = std::find(kFaultNames.begin(), kFaultNames.end(), name);
    if (found == kFaultNames.end()) {
      std::string known;
      for (const std::string_view each : kFaultNames) known += (known.empty() ? "" : ", ") + std::string(each);
      throw std::invalid_argument("there is no fault '" + std::string(name) + "': use all, none, or some of " + known);
    }
    set.set(static_cast<std::size_t>(found - kFaultNames.begin()));
    if (name.size() == list.size()) return set;
    list.remove_prefix(name.size() + 1);
  }
}

std::string to_string(const FaultSet& set) {
  if (set.all()) return "all";
  if (set.none()) return "none";
  std::string text;
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) {
    if (set[kind]) text += (text.empty() ? "" : ",") + std::string(kFaultNames[kind]);
  }
  return text;
}

}  // namespace perdure::testing::simulation
