// Excuses: the disturbances of a storm in the ledger. Those of one kind that overlap are one, and each lasts a little
// longer than its cause, because what came from the store before may begin a moment later.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "testing/cluster/ledger.h"

namespace perdure::test::storm {

class Excuses {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Excuses(const testing::cluster::Ledger& ledger, std::chrono::milliseconds grace) : ledger_(ledger), grace_(grace) {}

  // Call it before the fault.
  void begin(const std::string& node, const char* kind) {
    const auto [open, is_new] = open_.try_emplace({node, kind});
    if (is_new) note(testing::cluster::LedgerKind::kDisturbanceBegan, node, kind);
    ++open->second.causes;
  }
  // Call it after the fault.
  void end(const std::string& node, const char* kind, TimePoint now) {
    Open& open = open_.at({node, kind});
    --open.causes;
    open.until = now + grace_;
  }
  // Often.
  void close_old(TimePoint now) {
    for (auto open = open_.begin(); open != open_.end();) {
      if (open->second.causes > 0 || now < open->second.until) {
        ++open;
        continue;
      }
      note(testing::cluster::LedgerKind::kDisturbanceEnded, open->first.first, open->first.second);
      open = open_.erase(open);
    }
  }

 private:
  struct Open {
    std::size_t causes = 0;
    TimePoint until{};
  };
  void note(testing::cluster::LedgerKind kind, const std::string& node, const std::string& what) const {
    ledger_.append({.kind = kind, .node = node, .step = {}, .attempt = 0, .what = what});
  }

  const testing::cluster::Ledger& ledger_;
  std::chrono::milliseconds grace_;
  std::map<std::pair<std::string, std::string>, Open> open_;
};

}  // namespace perdure::test::storm
