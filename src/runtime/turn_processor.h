// TurnProcessor: from a locked instance with its messages and history to what is to be done with it: a commit, or to
// give it back. No store, no thread, no clock: everything that it needs comes with the task.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider.h>
#include <perdure/runtime_options.h>
#include <perdure/turn_commit.h>
#include "providers/item_decoder.h"
#include "replay/history_facts.h"
#include "replay/turn.h"
#include "replay/turn_executor.h"
#include "runtime/instance_cache.h"
#include "runtime/local_work.h"
#include "runtime/turn_counts.h"

namespace perdure::runtime {

// A turn that is about to run.
struct TurnTask {
  OrchestrationItem item;
  Timestamp now{};  // the store's when it was fetched
  Entropy entropy;
  CommitId commit_id = 0;
  std::optional<KeptExecution> kept;  // from an earlier turn; `history` is then what was committed behind it
  StoredHistory history;
  // Behind the messages of the item. Those that the turn consumes are named in TurnCommit::completed_work; the others
  // are to go through the queue.
  std::vector<LocalCompletion> completions;
  // The store's error for the turn of this item, which therefore ends as poison, or for the read of its history.
  std::optional<std::string> refusal{};
  // Of the store, if the turn may end as poison because no node has its code.
  std::vector<NodeInfo> nodes{};
};

// What a committed turn did, for counters and logs.
struct TurnReport {
  std::string instance;
  std::string name;
  std::string version;
  ExecutionId execution = kFirstExecutionId;
  Timestamp started_at{};
  Timestamp now{};
  TurnNumber turns = 0;
  EventId events = 0;
  bool began = false;  // the first turn of the execution
  bool has_parent = false;
  bool registered = false;  // the code of this node ran
  bool poisoned = false;    // tried too often
  ExecutionStatus status = ExecutionStatus::kRunning;
  std::optional<ErrorDetails> error;
};

struct TurnDecision {
  std::variant<TurnCommit, Abandon> action;
  std::optional<KeptExecution> kept;      // to keep, if the action is a commit and succeeds
  std::optional<TurnReport> report;       // of a commit that is a turn, not a dropped batch
  TurnCounts counts{};                    // only if metrics are enabled
  std::vector<QueuedMessage> messages{};  // of the item, if there is a report: the turn may have to be done anew
};

class TurnProcessor {
 public:
  // `node` is this one's id, for the log.
  TurnProcessor(const RuntimeOptions& options, std::shared_ptr<TurnExecutor> executor, std::string node = {});

  // Any number of threads at once, each with another instance. User code runs in here. Throws nothing: what goes wrong
  // in the engine itself gives the instance back.
  [[nodiscard]] TurnDecision process(TurnTask task) const noexcept;

  // Whether the instance of this item ends as poison because it was fetched too often.
  [[nodiscard]] bool is_exhausted(const OrchestrationItem& item) const noexcept {
    return item.attempt_count > max_attempts_;
  }
  // The engine versions whose executions may be replayed here.
  [[nodiscard]] const std::vector<VersionRange>& supported_versions() const noexcept { return supported_; }

 private:
  struct Turn;

  [[nodiscard]] TurnDecision decide(Turn& turn) const;
  [[nodiscard]] TurnDecision failed_inside(const LockToken& token, const std::string& instance,
                                           std::string_view error) const;
  [[nodiscard]] TurnDecision run(Turn& turn) const;
  [[nodiscard]] TurnDecision without_handler(Turn& turn, const NotRegistered& missing) const;
  [[nodiscard]] TurnDecision poison(Turn& turn) const;
  [[nodiscard]] std::optional<NotRegistered> missing_code(const Turn& turn) const;
  [[nodiscard]] TurnDecision without_continuation(Turn& turn) const;
  [[nodiscard]] TurnDecision end(Turn& turn, ErrorDetails error) const;
  // Who sent a start is told that its id is taken, unless it is the instance's own parent. Absent: also that one, since
  // what has ended has told it already.
  // `reason` is that of every message whose link is not foreign.
  [[nodiscard]] TurnDecision drop_batch(Turn& turn, std::string_view why, IgnoreReason reason,
                                        const std::optional<ParentLink>& parent = std::nullopt) const;
  [[nodiscard]] TurnDecision drop_starts(Turn& turn) const;
  // For an instance that cannot run on this node: refuses the starts that meet it and discards the cancels of parents
  // that it does not have and the outcomes of other incarnations' children. Returns std::nullopt if there are none.
  [[nodiscard]] std::optional<TurnDecision> discard_foreign(Turn& turn) const;
  [[nodiscard]] TurnDecision give_back(const Turn& turn, Milliseconds delay) const;
  [[nodiscard]] TurnDecision commit(Turn& turn, const TurnOutcome& outcome) const;
  // Answers what the turn completes by itself.
  [[nodiscard]] std::vector<LockToken> add_completions(Turn& turn) const;
  [[nodiscard]] bool is_supported(const Turn& turn) const;
  void log_ignored(const Turn& turn, const std::vector<IgnoredMessage>& ignored) const;
  void warn(const Turn& turn, std::string_view message, std::string_view key = {}, const std::string& value = {}) const;

  std::string node_;
  std::uint32_t max_attempts_;
  UnregisteredBackoff backoff_;
  std::optional<SemanticVersion> pin_;
  std::vector<VersionRange> supported_;
  std::shared_ptr<TurnExecutor> executor_;
  Logger logger_;
  Logger traces_;
  Metrics metrics_;
};

// "0.0.0 to 0.1.0", for people.
[[nodiscard]] std::string to_text(const std::vector<VersionRange>& ranges);

}  // namespace perdure::runtime
