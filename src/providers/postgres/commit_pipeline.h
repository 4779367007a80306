// Turns as the calls that commit them together: lists that grow with each turn, then one pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <perdure/turn_commit.h>
#include "providers/postgres/connection.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/tokens.h"
#include "providers/postgres/waker.h"

namespace perdure::postgres {

// Whether a commit can be sent as it is. If not, there is something wrong that shows without the store.
[[nodiscard]] bool is_sound(const TurnCommit& commit);
// What it does depends on what stands before it in its batch: then nothing does.
[[nodiscard]] bool must_be_alone(const TurnCommit& commit);

// One that a commit has claimed: the activity with this id, in this row.
[[nodiscard]] ClaimedActivity claimed_activity(const TurnCommit& commit, std::int64_t row, EventId id,
                                               Timestamp locked_until);

class CommitPipeline {
 public:
  // Most turns only go on with an execution. Their rows can be looked at, locked and written in one go behind
  // everything else, because whoever holds the lease of an instance is alone with what belongs to it.
  enum class LockRows { kLastIfPossible, kFirst };
  explicit CommitPipeline(Milliseconds retention, LockRows when = LockRows::kLastIfPossible)
      : retention_(retention), is_simple_(when == LockRows::kLastIfPossible) {}

  // False: it does not fit to the turns before it.
  [[nodiscard]] bool fits(const TurnCommit& commit, const InstanceLock& lock) const;
  void add(const TurnCommit& commit, const InstanceLock& lock);

  // The calls, of which `answers` later are the answers.
  [[nodiscard]] std::vector<Call> calls();
  // Of each turn, in their order.
  [[nodiscard]] std::vector<CommitAnswer> read(const std::vector<Rows>& answers) const;
  [[nodiscard]] std::vector<DiscardedMessages> discarded(const std::vector<Rows>& answers) const {
    return messages_.discarded(answers);
  }
  // Whom to wake once it is committed. After read().
  [[nodiscard]] Topics topics(const std::vector<Rows>& answers) const;

 private:
  void add_events(const TurnCommit& commit, std::int64_t key);
  void add_values(const TurnCommit& commit, std::int64_t key);
  void add_activities(const TurnCommit& commit, std::int64_t key);
  [[nodiscard]] bool claims(const TurnCommit& commit) const;
  void append_execution_calls(std::vector<Call>& calls) const;
  void append_activity_calls(std::vector<Call>& calls);
  struct TurnRow {
    std::int64_t key = 0;
    std::optional<Timestamp> locked_until;
    bool more_messages = false;
    bool sooner = false;  // due before those who wait would look again
    Timestamp now;
  };
  [[nodiscard]] std::vector<TurnRow> turn_rows(const Rows& answer) const;

  Milliseconds retention_;
  bool is_simple_;  // every turn goes on with an execution, and withdraws nothing
  std::vector<const TurnCommit*> turns_;
  std::size_t bytes_ = 0;  // of them together
  std::vector<std::int64_t> row_keys_;
  std::set<std::string> instances_;

  // The turns themselves.
  struct {
    List keys = bigints(), secrets = bigints(), ids = bigints(), executions = bigints(), first_events = bigints(),
         last_events = bigints(), may_be_first = booleans(), schedulers = texts(), keep = bigints(), owners = texts(),
         statuses = smallints(), started = booleans(), names = texts(), versions = texts(), parents = texts(),
         links = texts(), pins = texts(), carried = bigints();
  } turn_;
  bool begins_execution_ = false;
  List maybe_empty_ = bigints();

  struct {
    List keys = bigints(), executions = bigints(), first = bigints(), counts = bigints(), bytes = bigints(),
         data = byte_strings();
  } history_;
  struct {
    List ids = bigints(), secrets = bigints(), keys = bigints();
  } done_;
  struct {
    List ids = bigints(), keys = bigints();
  } consumed_;
  struct {
    List keys = bigints(), values = byte_strings();
  } custom_;
  List cleared_ = bigints();
  struct {
    List keys = bigints(), names = byte_strings(), values = byte_strings(), times = bigints();
  } values_;
  struct {
    List keys = bigints(), executions = bigints(), statuses = smallints(), outputs = byte_strings();
  } ended_;
  List ended_for_good_ = bigints();
  struct {
    List keys = bigints(), executions = bigints(), ids = bigints();
  } absent_, cancelled_;
  struct {
    List keys = bigints(), executions = bigints(), ids = bigints(), names = texts(), lanes = texts(),
         sessions = texts(), visible = bigints(), start_to_close = bigints(), schedule_to_start = bigints(),
         heartbeat = bigints(), bodies = byte_strings(), claimable = booleans(), secrets = bigints();
  } work_;
  const WorkFetch* claim_ = nullptr;  // of the turns before, but for its limit
  std::optional<std::int64_t> claim_limit_;
  bool leaves_work_ = false;  // something is queued that whoever claims could take
  bool claims_any_ = false;
  std::uint64_t changed_groups_ = 0;  // of instances that look different from outside
  MessageLists messages_;

  // Where the answers of these calls are.
  std::optional<std::size_t> cancelled_answer_;
  std::optional<std::size_t> claimed_answer_;
  std::size_t turn_answer_ = 0;
  std::optional<std::size_t> forgotten_answer_;
};

}  // namespace perdure::postgres
