#include "providers/memory/activity_rows.h"

#include <limits>

#include "providers/times.h"

namespace perdure::memory {

Identity identity_of(const MessageRecord& activity) {
  return {.instance = activity.instance, .execution = *activity.execution, .activity_id = activity.activity_id};
}

Timestamp Activity::expires_at() const {
  const std::optional<Milliseconds>& timeout = record.timeouts.schedule_to_start;
  if (!timeout || started) return Timestamp::max();
  return shifted(scheduled_at, *timeout);
}

Activity& ActivityRows::add(const MessageRecord& record, Timestamp now) {
  const Position position = ++last_position_;
  Activity& activity = rows_[position];
  activity.position = position;
  activity.record = record;
  activity.visible_at = record.visible_at.value_or(now);
  activity.scheduled_at = now;
  activity.place = activity.ready_at();
  ready_.emplace(activity.place, position);
  identities_.emplace(identity_of(record), position);
  return activity;
}

Activity* ActivityRows::find(Position position) {
  const auto row = rows_.find(position);
  return row == rows_.end() ? nullptr : &row->second;
}

Activity* ActivityRows::find(const Identity& identity) {
  const auto position = identities_.find(identity);
  return position == identities_.end() ? nullptr : &rows_.at(position->second);
}

bool ActivityRows::has_any_of(const std::string& instance) const {
  const auto first = identities_.lower_bound({.instance = instance});
  return first != identities_.end() && first->first.instance == instance;
}

std::vector<Position> ActivityRows::all_of(const std::string& instance) const {
  std::vector<Position> positions;
  auto next = identities_.lower_bound({.instance = instance});
  for (; next != identities_.end() && next->first.instance == instance; ++next) positions.push_back(next->second);
  return positions;
}

void ActivityRows::reindex(Activity& activity) {
  ready_.erase({activity.place, activity.position});
  activity.place = activity.ready_at();
  ready_.emplace(activity.place, activity.position);
}

void ActivityRows::erase(Activity& activity) {
  ready_.erase({activity.place, activity.position});
  identities_.erase(identity_of(activity.record));
  rows_.erase(rows_.find(activity.position));
}

void ActivityRows::visit_ready(Timestamp now, const Visitor& visit) const {
  for (const auto& [ready_at, position] : ready_) {
    if (ready_at > now || !visit(rows_.at(position))) return;
  }
}

Timestamp ActivityRows::next_ready_after(Timestamp now) const {
  const auto later = ready_.upper_bound({now, std::numeric_limits<Position>::max()});
  return later == ready_.end() ? Timestamp::max() : later->first;
}

}  // namespace perdure::memory
