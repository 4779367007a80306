// Who waits in this process, and what wakes them: commits of this process at once, those of others by a notification
// from the server, and both by a look once in a while, in case a notification was lost.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <perdure/log.h>
#include <perdure/types.h>
#include "providers/postgres/connection.h"
#include "providers/postgres/pool.h"

namespace perdure::postgres {

// What somebody waits for, and what has come.
struct Topics {
  bool instances = false;    // one may be due
  bool activities = false;   // one may be due
  std::uint64_t groups = 0;  // instances that changed for their clients, a bit for each group; and kWithdrawals

  [[nodiscard]] bool any() const noexcept { return instances || activities || groups != 0; }
  [[nodiscard]] bool covers(const Topics& other) const noexcept {
    return (instances || !other.instances) && (activities || !other.activities) && (other.groups & ~groups) == 0;
  }
  void operator|=(const Topics& other) noexcept {
    instances = instances || other.instances;
    activities = activities || other.activities;
    groups |= other.groups;
  }
  void operator&=(const Topics& other) noexcept {
    instances = instances && other.instances;
    activities = activities && other.activities;
    groups &= other.groups;
  }
};
inline constexpr Topics kAllTopics{.instances = true, .activities = true, .groups = ~std::uint64_t{0}};

// The bit for activities that were removed without an outcome. A worker may still run them.
inline constexpr std::uint64_t kWithdrawals = std::uint64_t{1} << 63U;

// The bit of an instance, never kWithdrawals. All processes compute the same.
[[nodiscard]] std::uint64_t change_group(std::string_view instance) noexcept;

// The channel on which the waiters of a store are woken.
[[nodiscard]] std::string channel_of(const std::string& schema);

class Waker {
 public:
  struct Options {
    Milliseconds poll_interval{0};
    Milliseconds poll_interval_without_wake_ups{0};
    Logger logger;
  };

  // Listens when it returns; throws PostgresError if that cannot be. `pool` is for announcements.
  Waker(Pool& pool, Options options);
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  ~Waker();

  // This process has committed something.
  void changed(const Topics& topics);
  // Ends all waits.
  void interrupt() noexcept;

  struct Look {
    bool satisfied = false;
    Milliseconds until_deadline{0};            // none or less: it has passed
    std::optional<Milliseconds> until_change;  // when time alone may change the answer
  };
  // Looks until it is satisfied (true), or the deadline has passed, interrupt() was called or it is to stop (false).
  // Throws what `look` throws.
  [[nodiscard]] bool wait(const Topics& wanted, const std::function<Look()>& look, const std::stop_token& stop = {});
  // Waits in progress.
  [[nodiscard]] std::size_t waiters();

 private:
  using Time = std::chrono::steady_clock::time_point;

  class Announcing;
  class Waiting;

  // Lets every waiting thread check whether it is to stop.
  void wake_to_check() noexcept;
  struct Waiters {
    std::size_t all = 0;
    std::size_t instances = 0;
    std::size_t activities = 0;
    std::array<std::size_t, 64> groups{};
  };

  [[nodiscard]] static std::unique_ptr<Connection> listen(Pool& pool);
  [[nodiscard]] Deadline call_deadline() const;
  void count_waiter(const Topics& wanted, int by) noexcept;
  [[nodiscard]] Topics wanted_now() const noexcept;
  [[nodiscard]] std::uint64_t changes_seen(const Topics& wanted) const noexcept;
  void note(const Topics& topics) noexcept;
  void note_everything() noexcept;
  [[nodiscard]] bool is_announced(const Topics& wanted) const noexcept;
  [[nodiscard]] Parameters announcement(const Topics& wanted) const;
  void announce(const Topics& wanted);
  void announce_now(const Topics& wanted);
  void announced(const Topics& topics, Time at);
  void forget_announcements();

  // The thread.
  void work();
  void serve(Connection& connection);
  void lose_connection(const std::string& error, bool reported);
  [[nodiscard]] bool is_stopping();
  void sleep_until(Time time, int server_socket);
  void tell_others(Connection& connection, Deadline deadline);
  void hear(Connection& connection);
  void poll_store(Connection& connection);
  void rouse() noexcept;

  Pool& pool_;
  Options options_;
  std::int64_t id_;
  std::string channel_;
  std::array<int, 2> pipe_{-1, -1};  // wakes the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  Waiters waiters_;
  std::uint64_t instance_changes_ = 0;
  std::uint64_t activity_changes_ = 0;
  std::array<std::uint64_t, 64> group_changes_{};
  std::uint64_t interrupts_ = 0;
  bool announcing_ = false;  // one announcement at a time: the last one written knows of all waiters
  std::condition_variable announcing_ended_;
  Topics announced_;
  Time announced_until_{};
  Topics to_tell_;
  bool stopping_ = false;

  std::unique_ptr<Connection> connection_;  // the thread's
  std::thread thread_;                      // last: it uses everything above
};

}  // namespace perdure::postgres
