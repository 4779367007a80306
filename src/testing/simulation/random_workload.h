// RandomWorkload: a few instances with random programs, what clients do to them, and the check that all of it came out
// as it had to. In addition to these roots there are lives, whose clients delete and replace instances at any moment
// (lifecycle.h). Everything follows from the seed.
//
// It holds for every cluster in which
//   - a node of generation 1 works in the end: version 2.0.0 is asked for by name, too;
//   - RuntimeOptions::max_attempts is out of reach: what a node of generation 0 gives back counts as an attempt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "testing/simulation/interpreter.h"
#include "testing/simulation/lifecycle.h"
#include "testing/simulation/program.h"
#include "testing/simulation/program_prediction.h"
#include "testing/simulation/workload.h"

namespace perdure::testing::simulation {

struct RandomWorkloadOptions {
  std::optional<std::set<std::size_t>> only;  // roots to keep; the others' absence changes nothing for them
  std::size_t size = 10;                      // steps of a root's program, about
  bool lifecycles = false;                    // in addition to the roots (lifecycle.h)
  std::optional<std::set<std::size_t>> only_lives = std::nullopt;  // of the lifecycles
};

enum class ClientCall : std::uint8_t {
  kStart,
  kStartAgain,
  kRaise,        // at any time, perhaps too early
  kRaiseWaited,  // when the instance says that it waits
  kEnqueue,
  kCancel,
  kTerminate,
  kDelete,  // when it has ended
  kReadStatus,
};
[[nodiscard]] std::string_view to_string(ClientCall call) noexcept;

struct ClientIntent {
  ClientCall call = ClientCall::kStart;
  Milliseconds after{0};  // the beginning
  std::string name;       // of the event, or the message
  bool operator==(const ClientIntent&) const = default;
};

struct RootPlan {
  std::size_t index = 0;
  Program program;
  std::vector<ClientIntent> intents;
  bool operator==(const RootPlan&) const = default;

  [[nodiscard]] bool has(ClientCall call) const;
};

// The roots of a seed, all of them.
[[nodiscard]] std::vector<RootPlan> random_plans(std::uint64_t seed, std::size_t size);

class RandomWorkload final : public Workload {
 public:
  explicit RandomWorkload(std::uint64_t seed, RandomWorkloadOptions options = {});
  ~RandomWorkload() override;

  [[nodiscard]] Registry registry(int generation) override;
  [[nodiscard]] std::vector<std::string> tags() const override { return {std::string(kServedTag)}; }
  [[nodiscard]] bool tags_all() const override { return ledger_->tags_all(); }
  [[nodiscard]] bool allows(const HistoryFinding& finding) const override {
    return finding.name == kDiverge || (finding.version && finding.version->to_string() == kUnservedVersion);
  }
  void node_ended(const std::string& id) override { ledger_->forget_node(id); }
  [[nodiscard]] std::vector<ClientAction> actions(Timestamp start) override;
  [[nodiscard]] std::vector<std::string> check(Provider& store, const RunFacts& facts) override;

  // Some node must fetch an unknown name, or it never ends as poison.
  [[nodiscard]] bool needs_unknown_names() const override;
  [[nodiscard]] bool may_be_pruned(const std::string& instance) const override;

  [[nodiscard]] const std::vector<RootPlan>& plans() const noexcept { return plans_; }
  [[nodiscard]] const std::vector<LifePlan>& lives() const noexcept { return lives_; }
  [[nodiscard]] const Rules& rules() const noexcept { return rules_; }
  // Coroutine frames that have not been destroyed: none when no node is left.
  [[nodiscard]] std::size_t live_frames() const noexcept { return ledger_->live_frames(); }

  // What the clients found out on their way.
  struct Clients;

 private:
  void predict_all();

  std::vector<RootPlan> plans_;
  std::vector<LifePlan> lives_;
  Rules rules_;
  std::shared_ptr<Ledger> ledger_;
  std::shared_ptr<Clients> clients_;
};

}  // namespace perdure::testing::simulation
