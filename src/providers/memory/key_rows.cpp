#include "providers/memory/key_rows.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "providers/times.h"

namespace perdure::memory {

KeyRow* KeyRows::find(const std::string& id) {
  const auto age = ages_.find(id);
  return age == ages_.end() ? nullptr : &rows_.at(age->second);
}

const KeyRow* KeyRows::find(const std::string& id) const {
  const auto age = ages_.find(id);
  return age == ages_.end() ? nullptr : &rows_.at(age->second);
}

KeyRow* KeyRows::find(Age age) {
  const auto row = rows_.find(age);
  return row == rows_.end() ? nullptr : &row->second;
}

KeyRow& KeyRows::obtain(const std::string& id) {
  if (KeyRow* const known = find(id)) return *known;
  const Age age = ++last_age_;
  ages_.emplace(id, age);
  KeyRow& row = rows_[age];
  row.id = id;
  row.age = age;
  return row;
}

KeyRow::Places KeyRows::places_of(const KeyRow& row) const {
  const Readiness ready = readiness(row);
  KeyRow::Places places;
  places.ready = ready.at;
  if (row.lock && !row.lock->kept_by.empty()) {
    places.ready_for_keeper = ready.regardless_of_lock;
    places.keeper = row.lock->kept_by;
  }
  if (is_orphan(row) && !row.mailbox.empty()) {
    places.orphan = shifted(*row.mailbox.first_visible_at(), orphan_retention_);
  }
  for (const auto& [parent, starts] : row.mailbox.parents()) places.parents.push_back(parent);
  return places;
}

void KeyRows::reindex(KeyRow& row) {
  KeyRow::Places places = places_of(row);
  if (places == row.places) return;
  remove_from_places(row);
  row.places = std::move(places);
  if (row.places.ready) ready_.emplace(*row.places.ready, row.age);
  if (row.places.ready_for_keeper) ready_for_keeper_[row.places.keeper].emplace(*row.places.ready_for_keeper, row.age);
  if (row.places.orphan) orphans_.emplace(*row.places.orphan, row.age);
  for (const std::string& parent : row.places.parents) messages_of_parents_[parent].insert(row.age);
}

void KeyRows::remove_from_places(const KeyRow& row) {
  const KeyRow::Places& places = row.places;
  if (places.ready) ready_.erase({*places.ready, row.age});
  if (places.orphan) orphans_.erase({*places.orphan, row.age});
  for (const std::string& parent : places.parents) {
    const auto queued = messages_of_parents_.find(parent);
    queued->second.erase(row.age);
    if (queued->second.empty()) messages_of_parents_.erase(queued);
  }
  if (places.ready_for_keeper) {
    const auto kept = ready_for_keeper_.find(places.keeper);
    kept->second.erase({*places.ready_for_keeper, row.age});
    if (kept->second.empty()) ready_for_keeper_.erase(kept);
  }
}

void KeyRows::erase(KeyRow& row) {
  remove_from_places(row);
  if (row.instance && row.instance->parent) {
    const auto siblings = children_.find(row.instance->parent->instance);
    siblings->second.erase(row.age);
    if (siblings->second.empty()) children_.erase(siblings);
  }
  ages_.erase(row.id);
  rows_.erase(rows_.find(row.age));
}

void KeyRows::set_parent(KeyRow& child, const ParentLink& parent) {
  child.instance->parent = parent;
  children_[parent.instance].insert(child.age);
}

std::vector<KeyRow*> KeyRows::with_messages_of(const std::string& parent) {
  std::vector<KeyRow*> found;
  const auto queued = messages_of_parents_.find(parent);
  if (queued == messages_of_parents_.end()) return found;
  for (const Age age : queued->second) found.push_back(&rows_.at(age));
  return found;
}

std::vector<const KeyRow*> KeyRows::with_messages_of(const std::string& parent) const {
  std::vector<const KeyRow*> found;
  const auto queued = messages_of_parents_.find(parent);
  if (queued == messages_of_parents_.end()) return found;
  for (const Age age : queued->second) found.push_back(&rows_.at(age));
  return found;
}

std::vector<const KeyRow*> KeyRows::children(const std::string& parent) const {
  std::vector<const KeyRow*> found;
  const auto children = children_.find(parent);
  if (children == children_.end()) return found;
  for (const Age age : children->second) found.push_back(&rows_.at(age));
  return found;
}

const KeyRows::Order& KeyRows::kept_by(const std::string& owner) const {
  static const Order kNone;
  const auto kept = ready_for_keeper_.find(owner);
  return kept == ready_for_keeper_.end() ? kNone : kept->second;
}

void KeyRows::visit_ready(Timestamp now, const std::string& owner, const Visitor& visit) const {
  // Two orders are merged. A row with a kept lock is in both, but due in one only: in the keeper's while it is locked,
  // in everybody's from then on.
  const Order& kept = kept_by(owner);
  auto open_next = ready_.begin();
  auto kept_next = kept.begin();
  while (true) {
    const bool open_due = open_next != ready_.end() && open_next->first <= now;
    const bool kept_due = kept_next != kept.end() && kept_next->first <= now;
    if (!open_due && !kept_due) return;
    const bool take_kept = kept_due && (!open_due || *kept_next < *open_next);
    const KeyRow& row = rows_.at(take_kept ? (kept_next++)->second : (open_next++)->second);
    if (take_kept && !is_locked(row.lock, now)) continue;
    if (!visit(row)) return;
  }
}

Timestamp KeyRows::next_ready_after(Timestamp now, const std::string& owner) const {
  Timestamp next = Timestamp::max();
  for (const Order* order : {&ready_, &kept_by(owner)}) {
    const auto later = order->upper_bound({now, std::numeric_limits<Age>::max()});
    if (later != order->end()) next = std::min(next, later->first);
  }
  return next;
}

KeyRow* KeyRows::first_lapsed_orphan(Timestamp now) {
  if (orphans_.empty() || orphans_.begin()->first > now) return nullptr;
  return &rows_.at(orphans_.begin()->second);
}

bool KeyRows::is_lapsed(const Message& message, Timestamp now) const {
  return shifted(message.visible_at, orphan_retention_) <= now;
}

}  // namespace perdure::memory
