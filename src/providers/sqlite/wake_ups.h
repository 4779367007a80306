// Who waits, and what wakes them: commits of this process at once, those of others when the change counter has moved.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>

#include "providers/sqlite/connection.h"
#include "providers/sqlite/store.h"
#include "providers/store_time.h"

namespace perdure::sqlite {

class WakeUps {
 public:
  // Topics: the groups of change_group(), two for those who fetch, and one for those who run activities.
  static constexpr std::size_t kDueInstances = 64;
  static constexpr std::size_t kDueActivities = 65;
  static constexpr std::size_t kWithdrawals = 66;

  // `open` makes the connection that watches for other processes; empty: there are none. `has_moved` is asked as often
  // as the connection, and may be empty with it.
  WakeUps(std::shared_ptr<StoreTime> time, std::function<std::unique_ptr<Connection>()> open,
          std::function<bool()> has_moved);
  WakeUps(const WakeUps&) = delete;
  WakeUps& operator=(const WakeUps&) = delete;
  ~WakeUps();

  void changed(const Changes& changes);
  // Anything may have changed: everybody looks again.
  void changed_all();
  // Ends all waits.
  void interrupt() noexcept;

  // Looks until `look` is satisfied (true) or the deadline has passed, interrupt() was called or it is to stop (false).
  // `look` sees the store and says when time alone may change its answer.
  struct Look {
    bool satisfied = false;
    std::optional<Timestamp> again_at;
  };
  // Throws what `look` throws.
  [[nodiscard]] bool wait(std::span<const std::size_t> topics, Timestamp deadline, const std::function<Look()>& look,
                          const std::stop_token& stop = {});
  // Waits in progress.
  [[nodiscard]] std::size_t waiters();

 private:
  class Waiting;

  // Lets every waiting thread check whether it is to stop.
  void wake_to_check() noexcept;
  struct Topic {
    std::uint64_t changes = 0;
    std::size_t waiters = 0;
    std::optional<Timestamp> due_at;  // when time alone makes something due that waiters have not seen
  };

  void bump(std::size_t topic);
  // Counts what has become due by time alone as a change.
  void pass_due(Topic& topic, Timestamp now);
  void watch();

  std::shared_ptr<StoreTime> time_;
  std::function<std::unique_ptr<Connection>()> open_;
  std::function<bool()> has_moved_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable watch_changed_;
  std::array<Topic, 67> topics_;
  std::size_t waiters_ = 0;
  std::uint64_t interrupts_ = 0;
  bool stopping_ = false;
  std::thread watcher_;  // last: it uses everything above
};

}  // namespace perdure::sqlite
