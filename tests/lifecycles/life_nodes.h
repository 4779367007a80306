// The nodes of the random lifecycles: threads of this process, or processes that are killed.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <perdure/perdure.h>
#include "cluster/store_address.h"
#include "support/child_process.h"
#include "support/dice.h"
#include "support/temporary_folder.h"

namespace perdure::test {

// Messages for an instance that never starts are discarded after this time, so that a run can wait for empty queues.
inline constexpr Milliseconds kOrphanRetention{2'000};

[[nodiscard]] std::shared_ptr<Provider> open_life_store(const StoreAddress& address, const Logger& logger = {});
// One node of a cluster has the fast path and a large cache. The plain one has neither, and fetches only what it has
// code for. Locks of killed nodes end soon.
[[nodiscard]] RuntimeOptions life_node_options(bool plain, const Logger& logger);

// Collects log lines that no run of the random lifecycles may write: errors and violations.
class ProblemSink final : public LogSink {
 public:
  // Lines go to standard error too, where a process is read by its parent.
  explicit ProblemSink(bool to_standard_error = false) : to_standard_error_(to_standard_error) {}
  [[nodiscard]] bool enabled(LogLevel level, std::string_view target) const override;
  void write(const LogRecord& record) override;
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  bool to_standard_error_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

class LifeNodes {
 public:
  LifeNodes() = default;
  LifeNodes(const LifeNodes&) = delete;
  LifeNodes& operator=(const LifeNodes&) = delete;
  virtual ~LifeNodes() = default;
  // Ends one of the nodes in the midst of its work and starts another, where nodes can die.
  virtual void kill_one(Dice& dice) = 0;
  // The forbidden lines that the nodes have logged.
  [[nodiscard]] virtual std::vector<std::string> problems() const = 0;
};

// Two runtimes of this process; each opens the store for itself, unless it is in memory.
[[nodiscard]] std::unique_ptr<LifeNodes> start_life_threads(const std::vector<std::shared_ptr<Provider>>& stores);
// Two processes.
[[nodiscard]] std::unique_ptr<LifeNodes> start_life_processes(const StoreAddress& address);

}  // namespace perdure::test
