#include "testing/environment/plan.h"

#include <utility>

namespace perdure::testing {

ActivityIdentity identity_of(const perdure::detail::ActivityCall& call) {
  return {call.about.instance_id, call.about.execution_id, call.about.activity_id};
}

void Plan::add(Timestamp at, Entry entry) {
  if (entry.owner) owners_.insert(identity_of(*entry.owner));
  entries_.emplace(at, std::move(entry));
}

Timestamp Plan::next() {
  erase_void_ones_at_the_front();
  return entries_.empty() ? Timestamp::max() : entries_.begin()->first;
}

std::optional<Plan::Entry> Plan::take_due(Timestamp now) {
  erase_void_ones_at_the_front();
  if (entries_.empty() || entries_.begin()->first > now) return std::nullopt;
  Entry entry = entries_.begin()->second;
  erase(entries_.begin());
  return entry;
}

void Plan::disown() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.only_for_owner; });
  for (auto& [at, entry] : entries_) entry.owner = nullptr;
  owners_.clear();
}

void Plan::erase(Entries::iterator entry) {
  if (entry->second.owner) owners_.erase(owners_.find(identity_of(*entry->second.owner)));
  entries_.erase(entry);
}

void Plan::erase_void_ones_at_the_front() {
  const auto is_void = [](const Entry& entry) {
    return entry.only_for_owner && entry.owner->stop_token().stop_requested();
  };
  while (!entries_.empty() && is_void(entries_.begin()->second)) erase(entries_.begin());
}

}  // namespace perdure::testing
