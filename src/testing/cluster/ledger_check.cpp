#include "testing/cluster/ledger_check.h"

#include <algorithm>
#include <limits>

namespace perdure::testing::cluster {

namespace {

struct Run {
  std::string node;
  std::uint32_t attempt = 0;
  std::size_t began = 0;  // position in the ledger
  bool ended = false;
};

struct Disturbance {
  std::string node;
  std::string what;
  std::size_t began = 0;
  std::size_t ended = std::numeric_limits<std::size_t>::max();  // it goes on

  [[nodiscard]] bool concerns(const std::string& somewhere) const { return node == kEveryNode || node == somewhere; }
};

std::string to_string(const Run& run) {
  return "node " + run.node + ", attempt " + std::to_string(run.attempt) + ", line " + std::to_string(run.began + 1);
}

// The ledger, sorted by what it tells of.
class Account {
 public:
  explicit Account(const std::vector<LedgerEntry>& ledger) {
    for (std::size_t position = 0; position < ledger.size(); ++position) enter(ledger[position], position);
  }

  std::vector<std::string> check(const RecordedSteps& recorded) {
    for (const Step& step : recorded.completed) check_effect(step);
    for (const auto& [step, runs] : runs_) {
      if (!recorded.scheduled.contains(step)) wrong(step, "it ran, but no history asks for it");
      for (std::size_t i = 1; i < runs.size(); ++i) check_repetition(step, runs[i - 1], runs[i]);
    }
    return std::move(wrong_);
  }

  // Whether the node may have had in its hands what was done elsewhere, from before one line of the ledger to another.
  [[nodiscard]] bool comes_late(const std::string& node, std::size_t from, std::size_t to) const {
    return std::any_of(disturbances_.begin(), disturbances_.end(), [&](const Disturbance& disturbance) {
      return disturbance.what != kDeath && disturbance.concerns(node) && disturbance.ended > from &&
             disturbance.began < to;
    });
  }

 private:
  void enter(const LedgerEntry& entry, std::size_t position) {
    switch (entry.kind) {
      case LedgerKind::kRunBegan:
        runs_[entry.step].push_back({entry.node, entry.attempt, position});
        break;
      case LedgerKind::kRunEnded:
        end_run(entry, position);
        break;
      case LedgerKind::kDisturbanceBegan:
        disturbances_.push_back({entry.node, entry.what, position});
        break;
      case LedgerKind::kDisturbanceEnded:
        end_disturbance(entry, position);
        break;
      case LedgerKind::kRefused:
        break;
    }
  }
  void end_run(const LedgerEntry& entry, std::size_t position) {
    auto& runs = runs_[entry.step];
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& candidate) {
      return candidate.node == entry.node && candidate.attempt == entry.attempt && !candidate.ended;
    });
    if (run == runs.end()) {
      return wrong(entry.step, "a run ended that had not begun, line " + std::to_string(position + 1));
    }
    run->ended = true;
  }
  void end_disturbance(const LedgerEntry& entry, std::size_t position) {
    const auto found = std::find_if(disturbances_.rbegin(), disturbances_.rend(), [&](const Disturbance& candidate) {
      return candidate.node == entry.node && candidate.what == entry.what;
    });
    if (found == disturbances_.rend()) {
      wrong_.push_back("a disturbance (" + entry.what + ") ended that had not begun");
    } else {
      found->ended = position;
    }
  }

  void check_effect(const Step& step) {
    const auto found = runs_.find(step);
    if (found == runs_.end()) return wrong(step, "it is completed in its history, but it never ran");
    if (std::none_of(found->second.begin(), found->second.end(), [](const Run& run) { return run.ended; })) {
      wrong(step, "it is completed in its history, but no run of it came to its end");
    }
  }
  void check_repetition(const Step& step, const Run& first, const Run& second) {
    const bool excused = std::any_of(disturbances_.begin(), disturbances_.end(), [&](const Disturbance& disturbance) {
      if (disturbance.ended < first.began || disturbance.began > second.began) return false;
      const bool late = disturbance.what == kStandstill && disturbance.concerns(second.node);
      return disturbance.concerns(first.node) || late;
    });
    if (!excused) {
      wrong(step, "it ran twice without a reason: " + to_string(first) + "; then " + to_string(second));
    }
  }
  void wrong(const Step& step, const std::string& why) { wrong_.push_back(cluster::to_string(step) + ": " + why); }

  std::map<Step, std::vector<Run>> runs_;
  std::vector<Disturbance> disturbances_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check_ledger(const std::vector<LedgerEntry>& ledger, const RecordedSteps& recorded) {
  return Account(ledger).check(recorded);
}

std::vector<std::string> check_late_runs(const std::vector<LedgerEntry>& ledger, const RecordedSteps& recorded) {
  const Account account(ledger);
  std::vector<std::string> wrong;
  std::map<Step, std::size_t> begun;  // the line of the first run
  for (std::size_t position = 0; position < ledger.size(); ++position) {
    const LedgerEntry& entry = ledger[position];
    if (entry.kind != LedgerKind::kRunBegan) continue;
    begun.try_emplace(entry.step, position);
    const auto next = recorded.next.find(entry.step);
    if (next == recorded.next.end()) continue;
    const auto next_began = begun.find(next->second);
    if (next_began == begun.end() || account.comes_late(entry.node, next_began->second, position)) continue;
    wrong.push_back(to_string(entry.step) + ": it ran again although its outcome was recorded, for activity " +
                    std::to_string(next->second.activity) + " of execution " + std::to_string(next->second.execution) +
                    " had begun: node " + entry.node + ", line " + std::to_string(position + 1));
  }
  return wrong;
}

std::size_t count_repetitions(const std::vector<LedgerEntry>& ledger) {
  std::set<Step> steps;
  std::size_t runs = 0;
  for (const LedgerEntry& entry : ledger) {
    if (entry.kind != LedgerKind::kRunBegan) continue;
    ++runs;
    steps.insert(entry.step);
  }
  return runs - steps.size();
}

std::map<std::string, std::size_t> ended_runs_by_node(const std::vector<LedgerEntry>& ledger) {
  std::map<std::string, std::size_t> runs;
  for (const LedgerEntry& entry : ledger) {
    if (entry.kind == LedgerKind::kRunEnded) ++runs[entry.node];
  }
  return runs;
}

}  // namespace perdure::testing::cluster
