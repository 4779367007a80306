#include "providers/memory/key_row.h"

#include <algorithm>
#include <cstddef>

#include "model/planted_fault.h"

namespace perdure::memory {

void Execution::append(const EventRecord& event) {
  events.push_back(event);
  bytes += event.body.size();
}

std::vector<EventRecord> Execution::events_after(EventId after) const {
  const auto skipped = static_cast<std::ptrdiff_t>(std::min<EventId>(after, events.size()));
  return {events.begin() + skipped, events.end()};
}

std::optional<ParentLink> link_of(const KeyRow& row) {
  if (row.instance) return row.instance->parent;
  const Message* const start = row.mailbox.first_start();
  return start ? start->record.parent : std::nullopt;
}

std::optional<std::string> parent_of(const KeyRow& row) {
  const std::optional<ParentLink> link = link_of(row);
  return link ? std::optional(link->instance) : std::nullopt;
}

bool is_orphan(const KeyRow& row) {
  return !row.instance && row.mailbox.first_start() == nullptr;
}

bool runs(const KeyRow& row) {
  const bool start_queued = row.mailbox.first_start() != nullptr;
  if (!row.instance) return start_queued;
  const ExecutionStatus status = row.instance->current().status;
  return status == ExecutionStatus::kRunning || (status == ExecutionStatus::kContinuedAsNew && start_queued);
}

namespace {

// The continuation, between two executions. Null otherwise, and if it is lost.
const Message* continuation_of(const KeyRow& row) {
  const bool between = row.instance && row.instance->current().status == ExecutionStatus::kContinuedAsNew;
  return between ? row.mailbox.first_of(MessageKind::kContinueAsNew) : nullptr;
}

// Before the first commit only a start leads to a turn, and between two executions only the continuation: without it
// the other messages cannot be processed.
Timestamp time_of_messages(const KeyRow& row) {
  if (!row.instance) return row.mailbox.first_start()->visible_at;
  if (const Message* const continuation = continuation_of(row)) return continuation->visible_at;
  return *row.mailbox.first_visible_at();
}

}  // namespace

bool misses_continuation(const KeyRow& row) {
  return row.instance && row.instance->current().status == ExecutionStatus::kContinuedAsNew &&
         continuation_of(row) == nullptr;
}

Readiness readiness(const KeyRow& row) {
  if (row.mailbox.empty() || is_orphan(row)) return {};
  const Timestamp messages = time_of_messages(row);
  const bool at_once = !row.not_before || planted(PlantedFault::kBackoffIgnored);
  const Timestamp open = at_once ? messages : std::max(messages, *row.not_before);
  return {.at = row.lock ? std::max(open, row.lock->until) : open, .regardless_of_lock = open};
}

bool is_ready_for(const KeyRow& row, const std::string& owner, Timestamp now) {
  const Readiness ready = readiness(row);
  const bool keeper = !owner.empty() && is_locked(row.lock, now) && row.lock->kept_by == owner;
  const std::optional<Timestamp> at = keeper ? ready.regardless_of_lock : ready.at;
  return at && *at <= now;
}

}  // namespace perdure::memory
