// InstanceCache: executions kept between their turns, the least recently used given up first.
//
// A kept execution holds no lock: before it is used again its place in history is compared with the store's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <perdure/types.h>
#include "replay/turn_executor.h"

namespace perdure::runtime {

struct KeptExecution {
  std::uint64_t incarnation = 0;  // of the instance; 0 until its first commit is known to the store
  ExecutionId id = kFirstExecutionId;
  Timestamp started_at{};    // of the execution
  Timestamp last_turn_at{};  // the time of its latest turn
  std::unique_ptr<OpenExecution> code;
};

class InstanceCache {
 public:
  // Either limit 0: nothing is kept.
  InstanceCache(std::size_t max_executions, std::size_t max_bytes)
      : max_executions_(max_executions), max_bytes_(max_bytes) {}

  [[nodiscard]] bool enabled() const noexcept { return max_executions_ > 0 && max_bytes_ > 0; }
  // Takes it out; it is not in two places.
  [[nodiscard]] std::optional<KeptExecution> take(const std::string& instance);
  // What has to go for it, which may be itself, is returned: destroying it runs code of the user.
  [[nodiscard]] std::vector<KeptExecution> put(std::string instance, KeptExecution execution);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Entry {
    std::string instance;
    KeptExecution execution;
    std::size_t bytes;
  };
  using Entries = std::list<Entry>;  // the most recently used first

  std::size_t max_executions_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> by_instance_;  // keys live in the entries
};

}  // namespace perdure::runtime
