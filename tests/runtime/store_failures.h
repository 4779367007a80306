// The orchestration dispatcher on a failing store, in the hands of a test.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>
#include "runtime/orchestration_dispatch.h"

namespace perdure::test {

class StoreFailures : public DispatchOrchestrations {
 protected:
  using Await = orchestration::Await;
  using Commit = orchestration::Commit;
  using Fetch = orchestration::Fetch;
  using GiveBack = orchestration::GiveBack;
  using ReadHistory = orchestration::ReadHistory;
  using Renew = orchestration::Renew;
  using RunTurn = orchestration::RunTurn;

  StoreFailures() {
    options.logger = Logger(log);
    options.metrics = Metrics(metrics);
  }
  // The decision of a turn that could be repeated.
  TurnCommit run_turn() {
    auto [id, body] = take<RunTurn>();
    TurnCommit commit;
    commit.token = body.task.item.token;
    commit.commit_id = body.task.commit_id;
    commit.events.resize(1);
    TurnDecision decision{.action = commit, .kept = {}, .report = TurnReport()};
    decision.messages = std::move(body.task.item.messages);
    answer(id, std::move(decision));
    return commit;
  }
  void renew(ProviderResult<Timestamp> outcome) {
    auto [id, body] = take<Renew>();
    answer(id, std::vector<ProviderResult<Timestamp>>(body.tokens.size(), outcome));
  }
  void pass_to_next() { now = std::max(dispatcher().wake_at(), now); }
  [[nodiscard]] double available() const { return metrics->gauge_value(metric::kStoreAvailable.name).value(); }

  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  std::shared_ptr<CapturingMetrics> metrics = std::make_shared<CapturingMetrics>();
};

}  // namespace perdure::test
