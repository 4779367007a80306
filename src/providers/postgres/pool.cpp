#include "providers/postgres/pool.h"

#include <algorithm>
#include <string>

namespace perdure::postgres {

namespace {
// Conflicts are rare and short: whoever needs more tries has met something else.
constexpr int kTries = 10;

// For this transaction.
constexpr const char* kSetFloor = "SELECT set_config('perdure.floor', ($1::bigint)::text, true)";
}  // namespace

Timestamp Pool::see(Timestamp told) noexcept {
  const std::scoped_lock guard(time_mutex_);
  if (told >= heard_) {
    heard_ = told;
    heard_at_ = std::chrono::steady_clock::now();
  }
  // Answers overtake each other by a little.
  if (told < latest_ - tolerance_) {
    floor_ = latest_.time_since_epoch().count();
    heard_ = latest_;
    heard_at_ = std::chrono::steady_clock::now();
  } else if (const Milliseconds::rep floor = floor_; floor != 0 && told.time_since_epoch().count() > floor) {
    floor_ = 0;  // the clock has caught up
  }
  latest_ = std::max(latest_, told);
  return latest_;
}

std::optional<Timestamp> Pool::recent_now() noexcept {
  const std::scoped_lock guard(time_mutex_);
  const auto passed = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - heard_at_);
  if (passed >= tolerance_) return std::nullopt;
  latest_ = std::max(latest_, heard_ + passed);
  return latest_;
}

Timestamp Pool::estimated_now() noexcept {
  const std::scoped_lock guard(time_mutex_);
  const auto passed = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - heard_at_);
  latest_ = std::max(latest_, heard_ + passed);
  return latest_;
}

std::unique_ptr<Connection> Pool::take() {
  std::unique_ptr<Connection> connection;
  {
    std::unique_lock lock(mutex_);
    if (!free_.wait_for(lock, options_.answer_timeout, [this] { return in_use_ < size_; })) {
      throw PostgresError("53300", "all " + std::to_string(size_) + " connections of this process are in use");
    }
    ++in_use_;
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (connection && connection->is_usable()) return connection;
  try {
    connection.reset();
    connection = std::make_unique<Connection>(options_);
    // It may be another server than before.
    Timestamp latest;
    {
      const std::scoped_lock guard(time_mutex_);
      latest = latest_;
    }
    connection->execute("SET perdure.floor TO '" + std::to_string(latest.time_since_epoch().count()) + "'");
    return connection;
  } catch (...) {
    give_up();
    throw;
  }
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::scoped_lock guard(mutex_);
    --in_use_;
    idle_.push_back(std::move(connection));
  }
  free_.notify_one();
}

void Pool::give_up() {
  {
    const std::scoped_lock guard(mutex_);
    --in_use_;
    idle_.clear();
  }
  free_.notify_one();
}

std::vector<Rows> Pool::run(std::span<const Call> calls, Repeat repeat) {
  for (int tries = 1;; ++tries) {
    std::unique_ptr<Connection> connection = take();
    try {
      ++round_trips_;
      std::vector<Rows> answers;
      if (const Milliseconds::rep floor = floor_; floor == 0) {
        answers = connection->run(calls);
      } else {
        std::vector<Call> with_floor{{kSetFloor, Parameters(std::int64_t{floor})}};
        with_floor.insert(with_floor.end(), calls.begin(), calls.end());
        answers = connection->run(with_floor);
        answers.erase(answers.begin());
      }
      give_back(std::move(connection));
      return answers;
    } catch (const PostgresError& error) {
      if (error.spoils_connection()) {
        connection.reset();
        give_up();
      } else {
        give_back(std::move(connection));
      }
      if (error.connection_lost() && repeat == Repeat::kNever && answer_lost_) answer_lost_();
      const bool again = error.is_conflict() || (error.connection_lost() && repeat == Repeat::kIfLost);
      if (!again || tries == kTries || (error.connection_lost() && tries > 1)) throw;
    } catch (...) {
      give_up();
      throw;
    }
  }
}

}  // namespace perdure::postgres
