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
#include "lifecycles/life_ledger.h"
#include "lifecycles/random_life.h"
#include "support/child_process.h"
#include "support/dice.h"
#include "support/temporary_folder.h"

namespace perdure::test {

// Messages for an instance that never starts are discarded after this time, so that a run can wait for empty queues.
inline constexpr Milliseconds kOrphanRetention{2'000};

[[nodiscard]] std::shared_ptr<Provider> open_life_store(const StoreAddress& address, const Logger& logger = {});
// Locks of killed nodes end soon. Those of activities last if `runs_once`: no delay of the machine makes them expire.
[[nodiscard]] RuntimeOptions life_node_options(LifeNodeKind kind, bool runs_once, const Logger& logger);

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
  // Ends all nodes.
  virtual void stop() = 0;
  // The forbidden lines that the nodes have logged, and nodes that ended by themselves. After stop().
  [[nodiscard]] virtual std::vector<std::string> problems() const = 0;
};

// Runtimes of this process: a fast one, and one of the other kind. Each opens the store for itself, unless it is in
// memory.
[[nodiscard]] std::unique_ptr<LifeNodes> start_life_threads(const std::shared_ptr<Provider>& first,
                                                            const std::shared_ptr<Provider>& second, LifeNodeKind other,
                                                            const LifeLedger& ledger);
// Two processes. The second is plain or uncached, by chance at each start.
[[nodiscard]] std::unique_ptr<LifeNodes> start_life_processes(const StoreAddress& address, const LifeLedger& ledger);

}  // namespace perdure::test
