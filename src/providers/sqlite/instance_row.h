// The row that everything about an instance starts from: who it is, how far it is, who has it, when it is due.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <perdure/fetch.h>
#include <perdure/status.h>
#include <perdure/types.h>
#include "providers/parent_links.h"
#include "providers/sqlite/connection.h"

namespace perdure::sqlite {

// As not_before of a locked row: a cancel or terminate arrived, which a backoff must not delay. Always past.
inline constexpr Timestamp kEndRequested{};

struct InstanceRow {
  // Who it is: written when an execution begins or ends.
  struct Identity {
    std::optional<std::string> name;
    std::optional<std::string> version;
    StoredLink parent;
    ExecutionStatus status = ExecutionStatus::kRunning;
    ExecutionId execution = kFirstExecutionId;
    std::optional<std::string> pin;
    std::optional<Timestamp> created_at;  // absent: not an instance yet
    std::uint64_t incarnation = 0;        // id of the commit that made it
    std::optional<Timestamp> completed_at;
    bool operator==(const Identity&) const = default;
  };
  // Who has it and when it is due: columns with indexes.
  struct Schedule {
    std::optional<std::int64_t> token;
    std::optional<std::int64_t> process;
    std::optional<std::string> holder;
    std::optional<Timestamp> not_before;  // or kEndRequested
    std::optional<Timestamp> ready_at;
    std::optional<Timestamp> held_ready_at;
    std::optional<Timestamp> sweep_at;
    bool operator==(const Schedule&) const = default;
  };
  // How far it is: written by every turn.
  struct Progress {
    EventId last_event = 0;
    std::uint64_t commit_id = 0;
    std::int64_t queued = 0;
    std::int64_t starts = 0;
    std::uint32_t attempts = 0;
    std::optional<Timestamp> locked_until;
    std::optional<Timestamp> updated_at;
    bool operator==(const Progress&) const = default;
  };

  std::int64_t key = 0;
  std::string id;
  Identity identity;
  Schedule schedule;
  Progress progress;

  [[nodiscard]] bool is_instance() const noexcept { return identity.created_at.has_value(); }
  [[nodiscard]] bool is_orphan() const noexcept { return !is_instance() && progress.starts == 0; }
  // One execution has continued as new, and the next has not begun.
  [[nodiscard]] bool is_between_executions() const noexcept {
    return is_instance() && identity.status == ExecutionStatus::kContinuedAsNew;
  }
  [[nodiscard]] bool locked_at(Timestamp now) const noexcept {
    return schedule.token && progress.locked_until && *progress.locked_until > now;
  }
  [[nodiscard]] InstanceMetadata metadata() const;
};

// The row that the query stands on; its columns are those of sql::kLoadInstance.
[[nodiscard]] InstanceRow read_instance(const Query& query);
[[nodiscard]] std::optional<InstanceRow> find_instance(Connection& connection, const std::string& id);
[[nodiscard]] std::optional<InstanceRow> load_instance(Connection& connection, std::int64_t key);
// A new row that is not an instance yet.
[[nodiscard]] InstanceRow insert_instance(Connection& connection, const std::string& id);
// Writes what is different from `before`, and so leaves alone the indexes of what did not change.
void store_instance(Connection& connection, const InstanceRow& row, const InstanceRow& before);

// When the first continuation becomes visible. Absent if none is queued, or if the row does not wait for one.
[[nodiscard]] std::optional<Timestamp> continuation_time(Connection& connection, const InstanceRow& row);
// Computes when the row is due, from its messages.
void reschedule(Connection& connection, InstanceRow& row, Milliseconds orphan_retention);

// Versions are stored as text, "1.2.3".
[[nodiscard]] std::optional<std::string> version_text(const std::optional<SemanticVersion>& version);
[[nodiscard]] std::optional<SemanticVersion> stored_version(const std::optional<std::string>& text);

}  // namespace perdure::sqlite
