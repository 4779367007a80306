#include "providers/postgres/messages.h"

#include <algorithm>
#include <limits>

#include "providers/postgres/sql.h"

namespace perdure::postgres {

void MessageLists::add(const MessageRecord& message) {
  targets_.add(message.instance);
  kinds_.add(static_cast<std::int64_t>(message.kind));
  executions_.add(message.execution);
  names_.add(message.name);
  visible_.add(message.visible_at);
  bodies_.add(message.body);
  topics_.instances = true;
  const auto [known, is_new] = places_.try_emplace(message.instance, ends_.size());
  if (is_new) {
    instances_.add(message.instance);
    ends_.push_back(ends_instance(message.kind));
  } else if (ends_instance(message.kind)) {
    ends_[known->second] = true;
  }
}

Call MessageLists::insertion() const {
  return {sql::kInsertMessages, Parameters(targets_, kinds_, executions_, names_, visible_, bodies_)};
}

Call MessageLists::scheduling(Milliseconds retention) const {
  List ends = booleans();
  for (const bool ends_it : ends_) ends.add(ends_it);
  return {sql::kNoteMessages, Parameters(instances_, ends, retention)};
}

void MessageLists::append_calls(std::vector<Call>& calls, Milliseconds retention) const {
  calls.push_back(insertion());
  calls.push_back(scheduling(retention));
}

std::string lane_of(const std::optional<std::string>& tag) {
  return tag ? ":" + *tag : std::string();
}

std::optional<std::string> tag_of(std::string_view lane) {
  if (lane.empty()) return std::nullopt;
  return std::string(lane.substr(1));
}

std::optional<List> lanes_of(const TagFilter& filter) {
  if (filter.takes_any()) return std::nullopt;
  std::vector<std::string> lanes;
  if (filter.takes_untagged()) lanes.emplace_back();
  for (const std::string& tag : filter.listed()) lanes.push_back(lane_of(tag));
  std::sort(lanes.begin(), lanes.end());
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  return texts(lanes);
}

std::int64_t bounded(std::size_t number) noexcept {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, kMost));
}

std::int64_t one_more_than(std::size_t limit) noexcept {
  return bounded(limit == std::numeric_limits<std::size_t>::max() ? limit : limit + 1);
}

}  // namespace perdure::postgres
