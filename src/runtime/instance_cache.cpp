#include "runtime/instance_cache.h"

#include <utility>

namespace perdure::runtime {

std::optional<KeptExecution> InstanceCache::take(const std::string& instance) {
  const auto found = by_instance_.find(instance);
  if (found == by_instance_.end()) return std::nullopt;
  const auto entry = found->second;
  by_instance_.erase(found);
  bytes_ -= entry->bytes;
  KeptExecution execution = std::move(entry->execution);
  entries_.erase(entry);
  return execution;
}

std::vector<KeptExecution> InstanceCache::put(std::string instance, KeptExecution execution) {
  std::vector<KeptExecution> given_up;
  if (auto earlier = take(instance)) given_up.push_back(std::move(*earlier));
  const std::size_t bytes = execution.code->memory_bytes() + instance.size() + sizeof(Entry);
  if (bytes > max_bytes_) {  // it would push out everything else first
    given_up.push_back(std::move(execution));
    return given_up;
  }
  entries_.push_front({std::move(instance), std::move(execution), bytes});
  by_instance_.emplace(entries_.front().instance, entries_.begin());
  bytes_ += bytes;
  while (!entries_.empty() && (entries_.size() > max_executions_ || bytes_ > max_bytes_)) {
    Entry& oldest = entries_.back();
    by_instance_.erase(oldest.instance);
    bytes_ -= oldest.bytes;
    given_up.push_back(std::move(oldest.execution));
    entries_.pop_back();
  }
  return given_up;
}

}  // namespace perdure::runtime
