#include "providers/postgres/pool.h"

#include <algorithm>
#include <new>
#include <string>

#include "providers/store_errors.h"
#include "providers/store_time.h"

namespace perdure::postgres {

namespace {
// Conflicts are rare and short: whoever needs more tries has met something else.
constexpr int kTries = 10;

constexpr const char* kReachTime = "SELECT reach_time($1::bigint)";
}  // namespace

std::optional<Timestamp> Pool::latest() noexcept {
  const std::scoped_lock guard(time_mutex_);
  return time_.latest();
}

Timestamp Pool::note(Timestamp reported, std::optional<Timestamp> known) noexcept {
  const std::scoped_lock guard(time_mutex_);
  estimate_until_ = {};
  const ServerTime::Report report = time_.report(reported, clock_->steady(), known);
  try {
    if (report.jump.count() != 0) jumps_.push_back(report.jump);
  } catch (const std::bad_alloc&) {
    // Only a line of the log is lost.
  }
  return report.time;
}

Timestamp Pool::see(Timestamp reported, std::optional<Timestamp> known) noexcept {
  const Timestamp time = note(reported, known);
  std::vector<Milliseconds> jumps;
  {
    const std::scoped_lock guard(time_mutex_);
    jumps.swap(jumps_);
  }
  for (const Milliseconds by : jumps) {
    log_jump(logger_, by, "the server's clock was set forward; timers that are due fire now",
             "the server's clock was set back, or the server was replaced by one whose clock is behind; store time "
             "advances at nine tenths until the clock has caught up");
  }
  return time;
}

std::optional<Timestamp> Pool::recent_now() noexcept {
  const std::scoped_lock guard(time_mutex_);
  if (std::chrono::steady_clock::now() < estimate_until_) return time_.estimate(clock_->steady());
  return time_.recent(clock_->steady());
}

Timestamp Pool::estimated_now() noexcept {
  const std::scoped_lock guard(time_mutex_);
  return time_.estimate(clock_->steady());
}

std::optional<Timestamp> Pool::proposed_time() noexcept {
  const std::scoped_lock guard(time_mutex_);
  return time_.proposal(clock_->steady());
}

void Pool::estimate_for_a_while() noexcept {
  if (tolerance_.count() == 0) return;  // only the server knows the time that a test has set
  const std::scoped_lock guard(time_mutex_);
  estimate_until_ = deadline_after(options_.answer_timeout);
}

// Returns whether the server's own clock has reached the time. If the server cannot store it, a disk may be full or a
// right missing: reads continue without it, for which this returns std::nullopt, and writes report the error.
std::optional<bool> Pool::reach(Connection& connection, Timestamp time, Repeat repeat, Deadline deadline) {
  try {
    return connection.run(kReachTime, Parameters(time), deadline).boolean(0, 0);
  } catch (const PostgresError& error) {
    if (error.connection_lost() || error.has_foreign_session()) throw;
    const std::scoped_lock guard(time_mutex_);
    time_.proposal_refused();
    if (repeat != Repeat::kRead) throw;
    return std::nullopt;
  }
}

void Pool::propose(Connection& connection, Repeat repeat, Deadline deadline) {
  const std::optional<Timestamp> time = proposed_time();
  if (!time) return;
  const std::optional<bool> caught_up = reach(connection, *time, repeat, deadline);
  if (!caught_up) return;
  const std::scoped_lock guard(time_mutex_);
  time_.proposal_stored(*caught_up);
}

std::unique_ptr<Connection> Pool::take(Repeat repeat, Deadline deadline) {
  std::unique_ptr<Connection> connection;
  {
    std::unique_lock lock(mutex_);
    if (!free_->wait_until(lock, deadline, [this] { return in_use_ < size_; })) {
      throw PostgresError("53300", "all " + std::to_string(size_) + " connections of this process are in use");
    }
    idle_.reserve(idle_.size() + in_use_ + 1);  // so that its return needs no memory
    ++in_use_;
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (connection && connection->is_usable()) return connection;
  try {
    connection.reset();
    connection = connector_.connect(options_, deadline);
    // It may be another server than before, whose clock is behind. Later calls must not see an earlier time.
    if (const std::optional<Timestamp> time = latest()) {
      static_cast<void>(reach(*connection, *time, repeat, deadline));
    }
    return connection;
  } catch (...) {
    // A deadline that is too short for a new connection must not cost other calls theirs.
    free_slot();
    throw;
  }
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::scoped_lock guard(mutex_);
    --in_use_;
    idle_.push_back(std::move(connection));
  }
  free_->notify_one();
}

void Pool::close_idle() {
  const std::scoped_lock guard(mutex_);
  idle_.clear();
}

void Pool::free_slot() {
  {
    const std::scoped_lock guard(mutex_);
    --in_use_;
  }
  free_->notify_one();
}

// Returns null if every connection is in use or none was made.
std::unique_ptr<Connection> Pool::take_idle() {
  for (;;) {
    std::unique_ptr<Connection> connection;
    {
      const std::scoped_lock guard(mutex_);
      if (idle_.empty()) return nullptr;
      connection = std::move(idle_.back());
      idle_.pop_back();
      ++in_use_;
    }
    if (connection->is_usable()) return connection;
    connection.reset();
    free_slot();
  }
}

std::vector<Rows> Pool::run(std::span<const Call> calls, Repeat repeat, Deadline deadline) {
  if (!home_.is_this()) throw ProviderFailure(used_by_child(home_));
  for (int tries = 1;; ++tries) {
    std::unique_ptr<Connection> connection = take(repeat, deadline);
    try {
      return run_on(std::move(connection), calls, repeat, deadline);
    } catch (const PostgresError& error) {
      const bool again = error.is_conflict() || (error.connection_lost() && repeat != Repeat::kNever);
      if (std::chrono::steady_clock::now() >= deadline) throw;
      if (!again || tries == kTries || (error.connection_lost() && tries > 1)) throw;
    }
  }
}

std::optional<Rows> Pool::run_at_once(const char* sql, Deadline deadline) {
  std::unique_ptr<Connection> connection = take_idle();
  if (!connection) return std::nullopt;
  const Call call{sql, Parameters()};
  return std::move(run_on(std::move(connection), std::span(&call, 1), Repeat::kRead, deadline).front());
}

// Leaves the connection to other calls, unless it is of no further use.
std::vector<Rows> Pool::run_on(std::unique_ptr<Connection> connection, std::span<const Call> calls, Repeat repeat,
                               Deadline deadline) {
  try {
    ++round_trips_;
    // In a transaction of its own: other connections that report a time wait for its end.
    propose(*connection, repeat, deadline);
    std::vector<Rows> answers = connection->run(calls, deadline);
    give_back(std::move(connection));
    return answers;
  } catch (const PostgresError& error) {
    if (error.spoils_connection()) {
      if (error.has_foreign_session()) connector_.forget();
      connection.reset();
      close_idle();
      free_slot();
    } else {
      give_back(std::move(connection));
    }
    if (error.connection_lost() && repeat == Repeat::kNever && answer_lost_) answer_lost_();
    throw;
  } catch (...) {  // no memory for the response, for example
    connection.reset();
    free_slot();
    if (repeat == Repeat::kNever && answer_lost_) answer_lost_();
    throw;
  }
}

}  // namespace perdure::postgres
