#include "providers/postgres/waker.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <new>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "providers/postgres/sql.h"
#include "providers/thread_cancellation.h"
#include "providers/unlocked.h"

namespace perdure::postgres {

namespace {

// How long the last message to others may take when the store is closed.
constexpr Milliseconds kFarewell{2'000};

// How often the thread polls before an announcement would end.
constexpr int kPollsPerAnnouncement = 3;

// Anything may have changed: what a test sends that has moved the clock.
constexpr std::string_view kEverything = "all";

// "ia:17": what has come, and the groups of instances.
Topics read_topics(std::string_view payload) {
  Topics topics;
  const std::size_t colon = payload.find(':');
  topics.instances = payload.substr(0, colon).find('i') != std::string_view::npos;
  topics.activities = payload.substr(0, colon).find('a') != std::string_view::npos;
  if (colon == std::string_view::npos) return topics;
  std::int64_t groups = 0;
  const std::string_view number = payload.substr(colon + 1);
  std::from_chars(number.data(), number.data() + number.size(), groups);
  topics.groups = static_cast<std::uint64_t>(groups);
  return topics;
}

template <class Each>
void for_each_group(std::uint64_t groups, const Each& each) {
  for (; groups != 0; groups &= groups - 1) each(static_cast<std::size_t>(std::countr_zero(groups)));
}

std::int64_t random_id() {
  std::random_device device;
  return static_cast<std::int64_t>((std::uint64_t{device()} << 31U) ^ device());
}

}  // namespace

std::uint64_t change_group(std::string_view instance) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char letter : instance) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return std::uint64_t{1} << (hash % 63);
}

std::string channel_of(const std::string& schema) {
  return "perdure:" + schema;
}

// The right to announce waiters. It is not obtained if others have it until the deadline. (Not a std::timed_mutex: the
// thread sanitizer does not see its locks.)
class Waker::Announcing {
 public:
  Announcing(Waker& waker, Deadline deadline) : waker_(waker) {
    std::unique_lock lock(waker_.mutex_);
    begun_ = waker_.announcing_ended_.wait_until(lock, deadline, [this] { return !waker_.announcing_; });
    if (begun_) waker_.announcing_ = true;
  }
  Announcing(const Announcing&) = delete;
  Announcing& operator=(const Announcing&) = delete;
  ~Announcing() {
    if (!begun_) return;
    {
      const std::scoped_lock guard(waker_.mutex_);
      waker_.announcing_ = false;
    }
    waker_.announcing_ended_.notify_one();
  }
  [[nodiscard]] bool begun() const noexcept { return begun_; }

 private:
  Waker& waker_;
  bool begun_ = false;
};

// A wait in progress, counted until it ends, also by an exception. The mutex is locked at both times.
class Waker::Waiting {
 public:
  Waiting(Waker& waker, const Topics& wanted) noexcept : waker_(waker), wanted_(wanted) {
    waker_.count_waiter(wanted_, 1);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { waker_.count_waiter(wanted_, -1); }

 private:
  Waker& waker_;
  const Topics& wanted_;
};

Waker::Waker(Pool& pool, Options options)
    : pool_(pool), options_(std::move(options)), id_(random_id()), channel_(channel_of(pool.options().schema)) {
  if (::pipe2(pipe_.data(), O_NONBLOCK | O_CLOEXEC) != 0) {
    throw PostgresError(std::string(kOutOfDescriptors),
                        "cannot make a pipe: " + std::generic_category().message(errno));
  }
  try {
    connection_ = listen(pool_);
    thread_ = std::thread([this] { work(); });
  } catch (...) {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
    throw;
  }
}

Waker::~Waker() {
  {
    const std::scoped_lock guard(mutex_);
    stopping_ = true;
  }
  rouse();
  thread_.join();
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

std::unique_ptr<Connection> Waker::listen(Pool& pool) {
  const Deadline deadline = deadline_after(pool.options().connect_timeout + pool.options().answer_timeout);
  std::unique_ptr<Connection> connection = pool.connector().connect(pool.options(), deadline);
  connection->execute("LISTEN " + connection->quoted_name(channel_of(pool.options().schema)), deadline);
  return connection;
}

Deadline Waker::call_deadline() const {
  return deadline_after(pool_.options().answer_timeout);
}

// ---- For those who wait ----

void Waker::changed(const Topics& topics) {
  if (!topics.any()) return;
  {
    const std::scoped_lock guard(mutex_);
    note(topics);
    to_tell_ |= topics;
  }
  changed_.notify_all();
  rouse();
}

void Waker::wake_to_check() noexcept {
  {
    const std::scoped_lock guard(mutex_);
  }  // a thread that has checked already sleeps by now
  changed_.notify_all();
}

void Waker::interrupt() noexcept {
  {
    const std::scoped_lock guard(mutex_);
    ++interrupts_;
  }
  changed_.notify_all();
}

bool Waker::wait(const Topics& wanted, const std::function<Look()>& look, const std::stop_token& stop) {
  const std::stop_callback woken(stop, [this]() noexcept { wake_to_check(); });  // outlives the lock
  std::unique_lock lock(mutex_);
  const std::uint64_t interrupts = interrupts_;
  const auto interrupted = [&] { return interrupts_ != interrupts || stop.stop_requested(); };
  const Waiting waiting(*this, wanted);
  const auto look_unlocked = [&] {
    const Unlocked unlocked(lock);
    return look();
  };
  if (!is_announced(wanted)) {
    const Unlocked unlocked(lock);
    announce(wanted);
  }
  bool satisfied = false;
  for (;;) {
    // Counted before the look, so that a change during it is not missed.
    const std::uint64_t seen = changes_seen(wanted);
    const Look answer = look_unlocked();
    satisfied = answer.satisfied;
    if (satisfied || interrupted() || answer.until_deadline.count() <= 0) break;
    Milliseconds patience = answer.until_deadline;
    if (answer.until_change) patience = std::min(patience, std::max(*answer.until_change, Milliseconds(1)));
    const Time until = std::chrono::steady_clock::now() + std::min<Milliseconds>(patience, std::chrono::hours(1));
    changed_.wait_until(lock, until, [&] { return changes_seen(wanted) != seen || interrupted(); });
    if (interrupted()) break;
  }
  return satisfied;
}

std::size_t Waker::waiters() {
  const std::scoped_lock guard(mutex_);
  return waiters_.all;
}

void Waker::count_waiter(const Topics& wanted, int by) noexcept {
  const auto step = static_cast<std::size_t>(by);  // wraps, and wraps back
  waiters_.all += step;
  if (wanted.instances) waiters_.instances += step;
  if (wanted.activities) waiters_.activities += step;
  for_each_group(wanted.groups, [&](std::size_t group) { waiters_.groups[group] += step; });
}

Topics Waker::wanted_now() const noexcept {
  Topics wanted{.instances = waiters_.instances > 0, .activities = waiters_.activities > 0};
  for (std::size_t group = 0; group < waiters_.groups.size(); ++group) {
    if (waiters_.groups[group] > 0) wanted.groups |= std::uint64_t{1} << group;
  }
  return wanted;
}

std::uint64_t Waker::changes_seen(const Topics& wanted) const noexcept {
  std::uint64_t changes = 0;
  if (wanted.instances) changes += instance_changes_;
  if (wanted.activities) changes += activity_changes_;
  for_each_group(wanted.groups, [&](std::size_t group) { changes += group_changes_[group]; });
  return changes;
}

void Waker::note(const Topics& topics) noexcept {
  if (topics.instances) ++instance_changes_;
  if (topics.activities) ++activity_changes_;
  for_each_group(topics.groups, [this](std::size_t group) { ++group_changes_[group]; });
}

void Waker::note_everything() noexcept {
  {
    const std::scoped_lock guard(mutex_);
    note(kAllTopics);
  }
  changed_.notify_all();
}

bool Waker::is_announced(const Topics& wanted) const noexcept {
  return announced_.covers(wanted) && std::chrono::steady_clock::now() < announced_until_;
}

Parameters Waker::announcement(const Topics& wanted) const {
  const Milliseconds valid = options_.poll_interval * kPollsPerAnnouncement;
  const auto if_wanted = [valid](bool is_wanted) { return is_wanted ? valid : Milliseconds(0); };
  return Parameters(id_, if_wanted(wanted.instances), if_wanted(wanted.activities), if_wanted(wanted.groups != 0),
                    wanted.groups);
}

void Waker::announce(const Topics& wanted) {
  try {
    announce_now(wanted);
  } catch (const PostgresError& error) {
    // The next look of the waiter reports it. Other waiters can announce while the sink writes.
    options_.logger.debug("a waiter could not be announced", {{"error", error.what()}});
  }
}

// In a transaction of its own that is over before anybody looks: who commits behind it sees it.
void Waker::announce_now(const Topics& wanted) {
  const Deadline deadline = call_deadline();
  const Announcing announcing(*this, deadline);
  if (!announcing.begun()) return;  // the server does not respond, as the look will show
  Topics all;
  {
    const std::scoped_lock guard(mutex_);
    if (is_announced(wanted)) return;
    all = wanted_now();
    all |= announced_;  // others may come back, and an announcement costs more than a notification in vain
  }
  const Time at = std::chrono::steady_clock::now();
  static_cast<void>(pool_.run(sql::kAnnounceWaiter, announcement(all), Repeat::kIfLost, deadline));
  announced(all, at);
}

void Waker::forget_announcements() {
  const std::scoped_lock guard(mutex_);
  announced_ = {};
}

void Waker::announced(const Topics& topics, Time at) {
  const std::scoped_lock guard(mutex_);
  announced_ = topics;
  announced_until_ = at + options_.poll_interval * (kPollsPerAnnouncement - 1);
}

// ---- The thread ----

void Waker::rouse() noexcept {
  const char byte = 0;
  // A full pipe wakes as well.
  static_cast<void>(!::write(pipe_[1], &byte, 1));
}

void Waker::work() {
  disable_thread_cancellation();
  bool reported = false;
  for (;;) {
    try {
      if (!connection_) {
        connection_ = listen(pool_);
        forget_announcements();  // a server that crashed does not have them any more
        poll_store(*connection_);
        note_everything();  // who knows what was missed
      }
      if (std::exchange(reported, false)) options_.logger.info("the store wakes its waiters again");
      serve(*connection_);
      return;
    } catch (const PostgresError& error) {
      lose_connection(as_provider_error(error).message(), std::exchange(reported, true));
    } catch (const std::bad_alloc& error) {
      lose_connection(error.what(), std::exchange(reported, true));
    }
    if (is_stopping()) return;
    note_everything();
    // To the end, whatever this process commits meanwhile: the server may be short of connections.
    const Time until = std::chrono::steady_clock::now() + options_.poll_interval_without_wake_ups;
    while (!is_stopping() && std::chrono::steady_clock::now() < until) sleep_until(until, -1);
    if (is_stopping()) return;
  }
}

void Waker::lose_connection(const std::string& error, bool reported) {
  connection_.reset();
  if (reported) return;
  options_.logger.warn("the connection that wakes waiters is lost; they look for themselves until it is back",
                       {{"error", error}});
}

void Waker::serve(Connection& connection) {
  Time next_poll = std::chrono::steady_clock::now() + options_.poll_interval;
  for (;;) {
    const bool last = is_stopping();  // asked first: others are told of all that was committed before
    tell_others(connection, last ? std::min(call_deadline(), deadline_after(kFarewell)) : call_deadline());
    if (last) return;
    if (std::chrono::steady_clock::now() >= next_poll) {
      poll_store(connection);
      next_poll = std::chrono::steady_clock::now() + options_.poll_interval;
    }
    hear(connection);  // the calls above may have received notifications as well, which the socket does not show
    sleep_until(next_poll, connection.socket());
  }
}

bool Waker::is_stopping() {
  const std::scoped_lock guard(mutex_);
  return stopping_;
}

void Waker::sleep_until(Time time, int server_socket) {
  std::array<pollfd, 2> sources = {pollfd{.fd = pipe_[0], .events = POLLIN, .revents = 0},
                                   pollfd{.fd = server_socket, .events = POLLIN, .revents = 0}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - std::chrono::steady_clock::now());
  ::poll(sources.data(), server_socket < 0 ? 1 : 2,
         static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000)));
  std::array<char, 64> bytes{};
  while (::read(pipe_[0], bytes.data(), bytes.size()) > 0) {
  }
}

void Waker::tell_others(Connection& connection, Deadline deadline) {
  Topics topics;
  {
    const std::scoped_lock guard(mutex_);
    topics = std::exchange(to_tell_, {});
  }
  if (!topics.any()) return;
  try {
    connection.run(sql::kWakeWaiters, Parameters(id_, channel_, topics.instances, topics.activities, topics.groups),
                   deadline);
  } catch (...) {
    const std::scoped_lock guard(mutex_);
    to_tell_ |= topics;  // others may still hear, once we can speak again
    throw;
  }
}

void Waker::hear(Connection& connection) {
  for (const std::string& payload : connection.notifications()) {
    if (payload == kEverything) {
      note_everything();
      continue;
    }
    {
      const std::scoped_lock guard(mutex_);
      note(read_topics(payload));
    }
    changed_.notify_all();
  }
}

void Waker::poll_store(Connection& connection) {
  const Announcing announcing(*this, call_deadline());
  if (!announcing.begun()) throw PostgresError("", "the server did not respond in time");
  Topics wanted;
  {
    const std::scoped_lock guard(mutex_);
    wanted = wanted_now();
    announced_ &= wanted;  // already now: who comes for something else must not rely on what is about to be withdrawn
  }
  if (!wanted.any()) return;
  const Time at = std::chrono::steady_clock::now();
  const Rows due = connection.run(sql::kPollForWaiter, announcement(wanted));
  announced(wanted, at);
  {
    const std::scoped_lock guard(mutex_);
    note({.instances = due.boolean(0, 0), .activities = due.boolean(0, 1), .groups = wanted.groups});
  }
  changed_.notify_all();
}

}  // namespace perdure::postgres
