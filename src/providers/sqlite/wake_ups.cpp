#include "providers/sqlite/wake_ups.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "providers/thread_cancellation.h"
#include "providers/unlocked.h"

namespace perdure::sqlite {

namespace {
// Half of what a wake-up across processes may take. One look is a few microseconds, and only while somebody waits.
constexpr std::chrono::milliseconds kLookInterval{10};
}  // namespace

// A wait in progress, counted until it ends, also by an exception. The mutex is locked at both times.
class WakeUps::Waiting {
 public:
  Waiting(WakeUps& wake_ups, std::span<const std::size_t> topics) noexcept : wake_ups_(wake_ups), topics_(topics) {
    for (const std::size_t topic : topics_) ++wake_ups_.topics_[topic].waiters;
    if (++wake_ups_.waiters_ == 1) wake_ups_.watch_changed_.notify_one();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    for (const std::size_t topic : topics_) --wake_ups_.topics_[topic].waiters;
    --wake_ups_.waiters_;
  }

 private:
  WakeUps& wake_ups_;
  std::span<const std::size_t> topics_;
};

WakeUps::WakeUps(std::shared_ptr<StoreTime> time, std::function<std::unique_ptr<Connection>()> open,
                 std::function<bool()> has_moved)
    : time_(std::move(time)), open_(std::move(open)), has_moved_(std::move(has_moved)) {
  if (open_) watcher_ = std::thread([this] { watch(); });
}

WakeUps::~WakeUps() {
  {
    const std::scoped_lock guard(mutex_);
    stopping_ = true;
  }
  watch_changed_.notify_one();
  if (watcher_.joinable()) watcher_.join();
}

void WakeUps::bump(std::size_t topic) {
  ++topics_[topic].changes;
}

void WakeUps::pass_due(Topic& topic, Timestamp now) {
  if (!topic.due_at || *topic.due_at > now) return;
  topic.due_at.reset();
  ++topic.changes;
  changed_.notify_all();
}

void WakeUps::changed(const Changes& changes) {
  bool wakes = false;
  {
    const std::scoped_lock guard(mutex_);
    const auto note = [&](std::size_t topic) {
      bump(topic);
      wakes = wakes || topics_[topic].waiters > 0;
    };
    if (changes.instances) note(kDueInstances);
    if (changes.activities) note(kDueActivities);
    if (changes.withdrawals) note(kWithdrawals);
    if (changes.activity_due_at) {
      Topic& topic = topics_[kDueActivities];
      const bool is_first = !topic.due_at || *changes.activity_due_at < *topic.due_at;
      if (is_first && topic.waiters > 0) {
        topic.due_at = changes.activity_due_at;
        wakes = true;
      }
    }
    for (std::uint64_t left = changes.touched; left != 0; left &= left - 1) {
      note(static_cast<std::size_t>(std::countr_zero(left)));
    }
  }
  if (wakes) changed_.notify_all();
}

void WakeUps::changed_all() {
  {
    const std::scoped_lock guard(mutex_);
    for (std::size_t topic = 0; topic < topics_.size(); ++topic) bump(topic);
  }
  changed_.notify_all();
}

void WakeUps::wake_to_check() noexcept {
  {
    const std::scoped_lock guard(mutex_);
  }  // a thread that has checked already sleeps by now
  changed_.notify_all();
}

void WakeUps::interrupt() noexcept {
  {
    const std::scoped_lock guard(mutex_);
    ++interrupts_;
  }
  changed_.notify_all();
}

bool WakeUps::wait(std::span<const std::size_t> topics, Timestamp deadline, const std::function<Look()>& look,
                   const std::stop_token& stop) {
  const JumpReport report(*time_);
  const std::stop_callback woken(stop, [this]() noexcept { wake_to_check(); });  // outlives the lock
  std::unique_lock lock(mutex_);
  const std::uint64_t interrupts = interrupts_;
  const auto seen_changes = [&] {
    std::uint64_t changes = 0;
    for (const std::size_t topic : topics) changes += topics_[topic].changes;
    return changes;
  };
  const auto interrupted = [&] { return interrupts_ != interrupts || stop.stop_requested(); };
  const Waiting waiting(*this, topics);
  const auto look_unlocked = [&] {
    const Unlocked unlocked(lock);
    return look();
  };
  bool satisfied = false;
  const Milliseconds end = time_->end_of_wait(deadline);
  for (;;) {
    // Counted before the look, so that a change during it is not missed.
    const std::uint64_t seen = seen_changes();
    const Look answer = look_unlocked();
    satisfied = answer.satisfied;
    if (satisfied || interrupted() || time_->steady() >= end) break;
    const Timestamp again_at = answer.again_at.value_or(Timestamp::max());
    for (;;) {
      const Timestamp now = time_->now();
      Timestamp due_at = again_at;
      for (const std::size_t topic : topics) {
        pass_due(topics_[topic], now);
        due_at = std::min(due_at, topics_[topic].due_at.value_or(again_at));
      }
      if (seen_changes() != seen || interrupted() || time_->steady() >= end || now >= again_at) break;
      if (time_->has_jumps_to_report()) {
        const Unlocked unlocked(lock);
        time_->report_jumps();
        continue;  // a change in between did not wake this wait
      }
      time_->wait_until(lock, changed_, std::min(end, time_->steady_at(due_at)));
    }
    if (interrupted()) break;
  }
  return satisfied;
}

std::size_t WakeUps::waiters() {
  const std::scoped_lock guard(mutex_);
  return waiters_;
}

// Other processes do not call us: their commits show in SQLite's change counter. Nobody waits, nobody looks.
void WakeUps::watch() {
  disable_thread_cancellation();
  std::unique_ptr<Connection> connection;
  std::int64_t version = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiters_ == 0) {
      watch_changed_.wait(lock, [this] { return stopping_ || waiters_ > 0; });
      continue;
    }
    lock.unlock();
    bool moved = false;
    try {
      if (!connection) connection = open_();
      const std::int64_t now = connection->integer("PRAGMA data_version");
      moved = std::exchange(version, now) != now || has_moved_();
    } catch (const std::exception&) {  // of SQLite, ProviderFailure for a file that is another, or no memory
      // The store is in trouble; the waiters look for themselves and are told.
      connection.reset();
      moved = true;
    }
    if (moved) changed_all();
    lock.lock();
    watch_changed_.wait_for(lock, kLookInterval, [this] { return stopping_; });
  }
}

}  // namespace perdure::sqlite
