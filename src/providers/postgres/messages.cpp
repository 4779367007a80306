#include "providers/postgres/messages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "providers/parent_links.h"
#include "providers/postgres/sql.h"

namespace perdure::postgres {

void MessageLists::add(const MessageRecord& message, bool receiver_exists) {
  const bool must_exist = message.must_exist && !receiver_exists && !begun_.contains(message.instance);
  must_exist_.add(must_exist);
  if (must_exist && checked_.insert(message.instance).second) checked_instances_.add(message.instance);
  if (!must_exist && begins_execution(message.kind)) begun_.insert(message.instance);
  targets_.add(message.instance);
  kinds_.add(static_cast<std::int64_t>(message.kind));
  executions_.add(message.execution);
  names_.add(message.name);
  visible_.add(message.visible_at);
  bodies_.add(message.body);
  const StoredLink link = stored_link(message.parent);
  parents_.add(link.parent);
  links_.add(link.rest);
  topics_.instances = true;
  Receiver& receiver = receivers_[message.instance];
  if (ends_instance(message.kind) && message.parent) {
    cancelled_.add(message.instance);
    cancelled_parents_.add(link.parent);
    cancelled_links_.add(link.rest);
  } else {
    receiver.ends = receiver.ends || ends_instance(message.kind);
  }
  if (must_exist) {
    if (!std::exchange(receiver.sought, true)) sought_.push_back(message.instance);
  } else if (!std::exchange(receiver.made, true)) {
    made_.push_back(message.instance);
  }
}

std::vector<std::string> MessageLists::receivers() const {
  std::vector<std::string> ids = made_;
  for (const std::string& id : sought_) {
    if (!receivers_.at(id).made) ids.push_back(id);
  }
  return ids;
}

List MessageLists::instances() const {
  return texts(receivers());
}

Call MessageLists::insertion() const {
  if (!checked_.empty()) {
    return {sql::kInsertCheckedMessages,
            Parameters(targets_, kinds_, executions_, names_, visible_, bodies_, parents_, links_, must_exist_)};
  }
  return {sql::kInsertMessages, Parameters(targets_, kinds_, executions_, names_, visible_, bodies_, parents_, links_)};
}

Call MessageLists::scheduling(Milliseconds retention) const {
  List ends = booleans();
  for (const std::string& id : receivers()) ends.add(receivers_.at(id).ends);
  return {sql::kNoteMessages,
          Parameters(instances(), ends, cancelled_, cancelled_parents_, cancelled_links_, retention)};
}

void MessageLists::append_calls(std::vector<Call>& calls, Milliseconds retention) {
  if (!checked_.empty()) checked_answer_ = calls.size();
  calls.push_back(insertion());
  calls.push_back(scheduling(retention));
}

std::vector<DiscardedMessages> MessageLists::discarded(const std::vector<Rows>& answers) const {
  std::vector<DiscardedMessages> discarded;
  if (!checked_answer_) return discarded;
  const Rows& rows = answers[*checked_answer_];
  for (int row = 0; row < rows.size(); ++row) {
    discarded.push_back({.instance = rows.text(row, 0), .count = rows.unsigned_integer(row, 1)});
  }
  return discarded;
}

void MessageLists::append_forgetting(std::vector<Call>& calls) const {
  if (!checked_.empty()) calls.push_back({sql::kForgetEmptyById, Parameters(checked_instances_)});
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
