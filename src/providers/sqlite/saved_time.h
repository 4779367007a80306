// SavedTime: the store's time in the file, one row for all processes.
//
// The row holds a store time and the steady time of that moment. Every write transaction looks at it first:
//
//   the source of time ...                 what the transaction does
//   was set back, or the machine booted    continues from the saved time
//   was set forward                        extends the locks of live processes by the jump: timers fire, locks hold
//   runs                                   saves its time now and then
//
// Read transactions look at it too, and write nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <perdure/types.h>
#include "providers/sqlite/connection.h"
#include "providers/store_time.h"

namespace perdure::sqlite {

// The times of a read.
struct ReadTime {
  Timestamp now{};
  // Decides whether a lock has expired. It is earlier than `now` after the source was set forward, until the next write
  // transaction extends the locks.
  Timestamp of_locks{};
};

class SavedTime {
 public:
  // `live_processes` returns the numbers of those that are alive; it is called in the transaction.
  SavedTime(StoreTime& time, std::function<std::vector<std::int64_t>(Connection&)> live_processes);

  // Begins a write transaction. Returns its time.
  [[nodiscard]] Timestamp begin(Connection& connection);
  // Returns the times of a read transaction, by the row that the transaction sees. Any thread may call it.
  [[nodiscard]] ReadTime peek(Connection& connection) const;
  // Called before the end of a transaction that has changed something.
  void save(Connection& connection);

 private:
  struct Row {
    Timestamp store_time{};
    Milliseconds steady{0};
    std::string origin;
  };

  // The time of the source compared with a row.
  struct Comparison {
    StoreTime::Moment moment;
    bool same_boot = false;
    Milliseconds passed{0};
    Timestamp expected{};  // without a jump
    bool jumped = false;   // forward
  };

  [[nodiscard]] static std::optional<Row> load(Connection& connection);
  [[nodiscard]] Comparison compare(const Row& saved) const;
  Timestamp use(const StoreTime::Moment& moment) noexcept;
  void extend_locks(Connection& connection, Timestamp from, Milliseconds by) const;

  StoreTime& time_;
  std::function<std::vector<std::int64_t>(Connection&)> live_processes_;
  std::string origin_;
  bool must_save_ = false;
  Timestamp now_{};
  Milliseconds steady_{0};
};

}  // namespace perdure::sqlite
