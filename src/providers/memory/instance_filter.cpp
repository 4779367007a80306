#include "providers/memory/instance_filter.h"

#include <algorithm>

namespace perdure::memory {

InstanceMatcher::InstanceMatcher(const InstanceFilter& filter) : filter_(filter) {
  if (filter.ids) ids_.emplace(filter.ids->begin(), filter.ids->end());
}

bool InstanceMatcher::operator()(const KeyRow& row) const {
  if (!row.instance) return false;
  const Instance& instance = *row.instance;
  const Execution& current = instance.current();
  if (!status_matches(current.status)) return false;
  if (ids_ && !ids_->contains(row.id)) return false;
  if (filter_.name && instance.name != *filter_.name) return false;
  if (filter_.version && instance.version != filter_.version) return false;
  if (filter_.created_from && instance.created_at < *filter_.created_from) return false;
  if (filter_.created_before && instance.created_at >= *filter_.created_before) return false;
  return !filter_.completed_before || (current.completed_at && *current.completed_at < *filter_.completed_before);
}

bool InstanceMatcher::status_matches(ExecutionStatus status) const {
  const auto& wanted = filter_.statuses;
  const auto lists = [&](ExecutionStatus one) { return std::find(wanted.begin(), wanted.end(), one) != wanted.end(); };
  if (wanted.empty() || lists(status)) return true;
  const bool failed = status == ExecutionStatus::kCancelled || status == ExecutionStatus::kTerminated;
  return failed && !filter_.exact_statuses && lists(ExecutionStatus::kFailed);
}

}  // namespace perdure::memory
