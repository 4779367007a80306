// What the store knows of an instance id, and when that makes it worth fetching.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <perdure/records.h>
#include <perdure/status.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>
#include <perdure/version.h>
#include "providers/memory/key_values.h"
#include "providers/memory/mailbox.h"
#include "providers/memory/tokens.h"

namespace perdure::memory {

// Order of creation of key rows; the first is 1. A row that is forgotten and comes back is a new one.
using Age = std::uint64_t;

struct Execution {
  ExecutionStatus status = ExecutionStatus::kRunning;
  Payload output;
  std::optional<SemanticVersion> pinned_version;
  Timestamp started_at{};
  std::optional<Timestamp> completed_at;
  std::uint64_t carried_forward = 0;
  std::vector<EventRecord> events;  // the one with id n is at n - 1
  std::uint64_t bytes = 0;          // of the events' bodies

  void append(const EventRecord& event);
  // The events behind `after`.
  [[nodiscard]] std::vector<EventRecord> events_after(EventId after) const;
};

struct Instance {
  std::string name;
  std::optional<SemanticVersion> version;
  std::optional<ParentLink> parent;
  Timestamp created_at{};
  std::uint64_t incarnation = 0;  // id of the commit that made it
  Timestamp updated_at{};
  std::optional<std::string> custom_status;
  std::uint64_t custom_status_version = 0;
  KeyValues key_values;
  std::map<ExecutionId, Execution> executions;  // never empty; the last is the current one

  [[nodiscard]] ExecutionId current_id() const { return executions.rbegin()->first; }
  [[nodiscard]] const Execution& current() const { return executions.rbegin()->second; }
};

// As KeyRow::not_before of a locked row: a cancel or terminate arrived, which a backoff must not delay. Always past.
inline constexpr Timestamp kEndRequested{};

struct KeyRow {
  std::string id;
  Age age = 0;
  Mailbox mailbox;
  std::optional<Lock> lock;
  std::uint32_t attempts = 0;           // fetches since the last commit
  std::optional<Timestamp> not_before;  // or kEndRequested
  std::optional<CommitId> last_commit;
  std::optional<Instance> instance;  // absent before the first commit that carries `started`

  // Where KeyRows::reindex put the row last.
  struct Places {
    std::optional<Timestamp> ready;
    std::optional<Timestamp> ready_for_keeper;
    std::string keeper;
    std::optional<Timestamp> orphan;
    std::vector<std::string> parents;  // that have sent messages to a child with this id
    bool operator==(const Places&) const = default;
  };
  Places places;
};

// The link to its parent. Until the first commit it is that of the start that is delivered first.
[[nodiscard]] std::optional<ParentLink> link_of(const KeyRow& row);
// The instance id of its parent, whether the row is an instance already or only a queued start says so.
[[nodiscard]] std::optional<std::string> parent_of(const KeyRow& row);
// Neither an instance nor a message that could begin one.
[[nodiscard]] bool is_orphan(const KeyRow& row);
// Between two executions, and no continuation is queued, visible or not.
[[nodiscard]] bool misses_continuation(const KeyRow& row);
// Something will still happen here by itself: nothing that a deletion without force may take away.
[[nodiscard]] bool runs(const KeyRow& row);

// When the row is worth fetching. Absent: not before something changes.
struct Readiness {
  std::optional<Timestamp> at;                  // for everybody
  std::optional<Timestamp> regardless_of_lock;  // for the owner who kept its lock
};
[[nodiscard]] Readiness readiness(const KeyRow& row);
// Whether a fetch by this owner (empty: by nobody in particular) could take it.
[[nodiscard]] bool is_ready_for(const KeyRow& row, const std::string& owner, Timestamp now);

}  // namespace perdure::memory
