// SavedTime: the store's time in the file, one row for all processes.
//
// The row holds a store time, and the times of the source and the steady clock at that moment. Every write transaction
// reads it first:
//
//   the source of time ...                 what the transaction does
//   was set back, or the machine booted    continues from the saved time
//   was set forward                        extends the locks of live processes by the jump: timers fire, locks hold
//   runs                                   saves its time now and then
//
// Read transactions read it too, and write nothing. A transaction that changes nothing saves the time only if its
// process has seen the source jump since the row was saved. So an idle process writes once for each jump, and a process
// that opens the store later knows the time that the idle one has.
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

  // Called before other threads use this object: continues from the time of the processes that have the store open.
  void join(Connection& connection);
  // Begins a write transaction. Returns its time.
  [[nodiscard]] Timestamp begin(Connection& connection);
  // Returns the times of a read transaction, by the row that the transaction sees. Any thread may call it.
  [[nodiscard]] ReadTime peek(Connection& connection) const;
  // Called before the end of each write transaction. `has_changes`: it has changed something.
  void save(Connection& connection, bool has_changes);

 private:
  struct Row {
    Timestamp store_time{};
    Timestamp source_time{};
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
  [[nodiscard]] bool is_of_this_boot(const Row& saved, Milliseconds here) const;
  [[nodiscard]] Comparison compare(const Row& saved) const;
  Timestamp use(const StoreTime::Moment& moment) noexcept;
  void extend_locks(Connection& connection, Timestamp from, Milliseconds by) const;

  StoreTime& time_;
  std::function<std::vector<std::int64_t>(Connection&)> live_processes_;
  std::string origin_;
  // Of the write transaction in progress:
  bool must_save_ = false;        // if it changes something
  bool must_save_alone_ = false;  // also if it changes nothing
  StoreTime::Moment moment_;
};

}  // namespace perdure::sqlite
