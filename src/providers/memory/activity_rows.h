// The worker queue: activities by position, by identity, and by the time when they are ready.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <perdure/records.h>
#include <perdure/types.h>
#include "providers/memory/tokens.h"

namespace perdure::memory {

using Position = std::uint64_t;

// Unique in the queue.
struct Identity {
  std::string instance;
  ExecutionId execution = 0;
  EventId activity_id = 0;
  auto operator<=>(const Identity&) const = default;
};
[[nodiscard]] Identity identity_of(const MessageRecord& activity);

struct Activity {
  Position position = 0;
  // As it was given; has an execution. Without schedule_to_start once its code has begun on a node that abandoned it.
  MessageRecord record;
  Timestamp visible_at{};
  Timestamp scheduled_at{};
  std::uint32_t attempts = 0;
  bool started = false;  // somebody was given it to run, not just to fail it
  Payload heartbeat_details;
  std::optional<Lock> lock;
  std::optional<LockToken> taken_over;  // the last lock that a fetch took over and whose fetch still counts
  Timestamp place{};                    // where ActivityRows::reindex put it last

  [[nodiscard]] Timestamp ready_at() const { return lock ? lock->until : visible_at; }
  // When it is too late to start it, if nobody has; Timestamp::max(): never.
  [[nodiscard]] Timestamp expires_at() const;
};

class ActivityRows {
 public:
  // Answers whether to go on.
  using Visitor = std::function<bool(const Activity&)>;

  // The identity must be free.
  Activity& add(const MessageRecord& record, Timestamp now);
  [[nodiscard]] Activity* find(Position position);
  [[nodiscard]] Activity* find(const Identity& identity);
  [[nodiscard]] bool has_any_of(const std::string& instance) const;
  [[nodiscard]] std::vector<Position> all_of(const std::string& instance) const;
  [[nodiscard]] const std::map<Position, Activity>& rows() const noexcept { return rows_; }

  // To be called after every change of visible_at or lock.
  void reindex(Activity& activity);
  void erase(Activity& activity);
  // The token of an activity is no longer valid, and its owner did not acknowledge it.
  void count_loss() noexcept { ++losses_; }
  [[nodiscard]] std::uint64_t losses() const noexcept { return losses_; }

  // Visits what is ready, the longest ready first, then by position.
  void visit_ready(Timestamp now, const Visitor& visit) const;
  // When the next one becomes ready by time alone; Timestamp::max(): none does.
  [[nodiscard]] Timestamp next_ready_after(Timestamp now) const;

 private:
  std::map<Position, Activity> rows_;
  std::map<Identity, Position> identities_;
  std::set<std::pair<Timestamp, Position>> ready_;
  Position last_position_ = 0;
  std::uint64_t losses_ = 0;
};

}  // namespace perdure::memory
