// Replayer: recorded histories as tests. A change of the code that would break what is under way fails in the test run
// instead of in production.
//
//   const perdure::testing::Replayer replayer(registry);
//   const auto outcome = replayer.replay_text(file, {.instance = "order-42"});
//   EXPECT_TRUE(outcome) << outcome;
//
// A file is made with Client::read_execution_history and write_history_text (<perdure/history_text.h>). To replay what
// a store holds there is check_histories (<perdure/history_check.h>).
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/event.h>
#include <perdure/fetch.h>
#include <perdure/history_check.h>
#include <perdure/history_text.h>
#include <perdure/limits.h>
#include <perdure/registry.h>
#include <perdure/types.h>

namespace perdure::testing {

// What a history does not say of itself, for code that asks for it.
struct RecordedExecution {
  std::string instance = "recorded";
  ExecutionId execution = kFirstExecutionId;
  std::vector<KeyValue> key_values = {};  // that it began with; the first execution begins without any
};

// Whether the history fits the code; true if it does.
class ReplayOutcome {
 public:
  ReplayOutcome() = default;  // it fits
  ReplayOutcome(HistoryFindingKind problem, std::string report) : problem_(problem), report_(std::move(report)) {}

  [[nodiscard]] bool ok() const noexcept { return !problem_; }
  explicit operator bool() const noexcept { return ok(); }
  // Absent if it fits; never kCannotTell.
  [[nodiscard]] const std::optional<HistoryFindingKind>& problem() const noexcept { return problem_; }
  // The reason; of a divergence: what history recorded and what the code did, like a diff. Empty if it fits.
  [[nodiscard]] const std::string& report() const noexcept { return report_; }

  friend std::ostream& operator<<(std::ostream& out, const ReplayOutcome& outcome) {
    if (outcome.ok()) return out << "the history fits the code";
    return out << to_string(*outcome.problem_) << ": " << outcome.report_;
  }

 private:
  std::optional<HistoryFindingKind> problem_;
  std::string report_;
};

// Orchestration code runs in the calling thread, activities do not run at all, and nothing is written. Thread-safe as
// far as the registered functions are.
class Replayer {
 public:
  // Throws std::invalid_argument for a registry with errors().
  explicit Replayer(Registry registry, Limits limits = {});

  // An execution that has ended or one that goes on: whole turns, from its start. No events at all are kCorrupt.
  [[nodiscard]] ReplayOutcome replay(std::span<const Event> history, const RecordedExecution& execution = {}) const;
  // Text that is no history is kUndecodable.
  [[nodiscard]] ReplayOutcome replay_text(std::string_view text, const RecordedExecution& execution = {}) const;

 private:
  Registry registry_;
  Limits limits_;
};

}  // namespace perdure::testing
