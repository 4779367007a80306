// One comparison: two stores that the same is done to, and what is known of the state they must share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include <perdure/testing/provider_comparison.h>
#include "testing/comparison/text.h"
#include "testing/dice.h"

namespace perdure::testing::comparison {

// What belongs together: [0] is the reference's, [1] the candidate's.
template <class T>
using Both = std::array<T, 2>;
using Side = std::size_t;

// Ends the run.
struct DifferenceFound {
  ProviderDifference difference;
};

// What is in flight, with the tokens and numbers of both stores side by side.
struct InFlight {
  std::vector<Both<OrchestrationItem>> turns;
  std::vector<Both<WorkItem>> work;
  std::vector<Both<LockToken>> ended_turns;  // tokens that were used, and should be good for nothing
  std::vector<Both<LockToken>> ended_work;
  std::vector<Both<TurnCommit>> commits;
  CommitId last_commit = 0;
};

class Run {
 public:
  Run(ProviderFactory& reference, ProviderFactory& candidate, std::uint64_t seed);

  [[nodiscard]] Dice& dice() noexcept { return dice_; }
  [[nodiscard]] InFlight& in_flight() noexcept { return in_flight_; }
  // The same on both sides.
  [[nodiscard]] Timestamp now() { return stores_[0]->now(); }
  [[nodiscard]] Milliseconds orphan_retention() const { return factories_[0]->orphan_retention(); }
  [[nodiscard]] bool fast_path() const noexcept { return fast_path_; }
  // Both stores take instances that have ended elsewhere.
  [[nodiscard]] bool can_import() const noexcept { return can_import_; }
  void begin_operation() noexcept { ++operation_; }

  // Does call(store, side) on both, compares the answers and returns them. describe() is the call as text.
  template <class Describe, class Call>
  auto call(Describe describe, Call call) {
    return call_and_show(describe, call, [](const auto& answer, Side) { return text_of(answer); });
  }
  // The same with show(answer, side) as what is compared.
  template <class Describe, class Call, class Show>
  auto call_and_show(Describe describe, Call call, Show show) {
    Both<decltype(call(*stores_[0], Side{0}))> answers{call(*stores_[0], 0), call(*stores_[1], 1)};
    const Both<std::string> texts{show(answers[0], 0), show(answers[1], 1)};
    if (texts[0] != texts[1]) differs(describe(), texts);
    return answers;
  }
  // call(admin, side) on both.
  template <class Describe, class Call>
  auto call_admin(Describe describe, Call call) {
    return this->call(describe, [&](Provider& store, Side side) { return call(*store.admin(), side); });
  }
  template <class Describe, class Call, class Show>
  auto call_admin_and_show(Describe describe, Call call, Show show) {
    return call_and_show(describe, [&](Provider& store, Side side) { return call(*store.admin(), side); }, show);
  }

  void advance(Milliseconds by);
  void step(Milliseconds by);
  // By how much store time is later than the clock, after steps back.
  [[nodiscard]] Milliseconds ahead() { return now() - clock_; }
  void damage(const std::string& instance);
  // Nothing is promised about what is read of such events.
  [[nodiscard]] bool is_damaged(const std::string& instance, ExecutionId execution) const {
    return damaged_.contains({instance, execution});
  }
  // Of any execution of the instance.
  [[nodiscard]] bool is_damaged(const std::string& instance) const;
  // Each store draws the incarnation of an imported instance itself.
  void note_import(const std::string& instance) { imported_.insert(instance); }
  [[nodiscard]] bool was_imported(const std::string& instance) const { return imported_.contains(instance); }

 private:
  [[noreturn]] void differs(std::string call, const Both<std::string>& answers) const;

  Both<ProviderFactory*> factories_;
  Both<std::shared_ptr<Provider>> stores_;
  Dice dice_;
  InFlight in_flight_;
  std::set<std::pair<std::string, ExecutionId>> damaged_;
  std::set<std::string> imported_;
  Timestamp clock_;
  std::size_t operation_ = 0;
  bool fast_path_ = false;
  bool can_import_ = false;
};

// Tokens of one side.
template <class T>
[[nodiscard]] std::vector<T> of_side(const std::vector<Both<T>>& pairs, Side side) {
  std::vector<T> values;
  values.reserve(pairs.size());
  for (const Both<T>& pair : pairs) values.push_back(pair[side]);
  return values;
}

// Appends, and forgets the oldest beyond `most`.
template <class T>
void remember(std::vector<T>& list, T value, std::size_t most) {
  if (list.size() >= most) list.erase(list.begin());
  list.push_back(std::move(value));
}

}  // namespace perdure::testing::comparison
