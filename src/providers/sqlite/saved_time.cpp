#include "providers/sqlite/saved_time.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace perdure::sqlite {

namespace {

constexpr const char* kLoad = "SELECT store_time, source_time, steady_time, steady_origin FROM store_clock";
constexpr const char* kSave =
    "INSERT INTO store_clock(id, store_time, source_time, steady_time, steady_origin) VALUES(0, ?1, ?2, ?3, ?4)"
    " ON CONFLICT(id) DO UPDATE SET store_time = ?1, source_time = ?2, steady_time = ?3, steady_origin = ?4";

// A lock of "forever" stays one. ready_at is the latest of three times, one of which is the end of the lock.
constexpr const char* kExtendInstances =
    "UPDATE instances SET locked_until = min(locked_until, 9223372036854775807 - ?3) + ?3,"
    " ready_at = max(ready_at, min(locked_until, 9223372036854775807 - ?3) + ?3)"
    " WHERE process = ?1 AND token IS NOT NULL AND locked_until > ?2";
constexpr const char* kExtendActivities =
    "UPDATE activities SET ready_at = min(ready_at, 9223372036854775807 - ?3) + ?3"
    " WHERE process = ?1 AND token IS NOT NULL AND ready_at > ?2";
constexpr const char* kExtendSessions =
    "UPDATE sessions SET locked_until = min(locked_until, 9223372036854775807 - ?3) + ?3"
    " WHERE process = ?1 AND locked_until > ?2";

// How old the row may be, so that a process that opens the store later knows the time.
constexpr Milliseconds kInterval{1'000};

}  // namespace

SavedTime::SavedTime(StoreTime& time, std::function<std::vector<std::int64_t>(Connection&)> live_processes)
    : time_(time), live_processes_(std::move(live_processes)), origin_(time.clock().steady_origin()) {}

std::optional<SavedTime::Row> SavedTime::load(Connection& connection) {
  Query query = connection.query(kLoad);
  if (!query.step()) return std::nullopt;
  return Row{.store_time = query.time(0),
             .source_time = query.time(1),
             .steady = Milliseconds{query.integer(2)},
             .origin = query.text(3)};
}

// A machine that was booted since then counts from zero.
bool SavedTime::is_of_this_boot(const Row& saved, Milliseconds here) const {
  return saved.origin == origin_ && saved.steady <= here;
}

// A process that only waits saves nothing, so the row may be old. If the source was set back since, that process has
// followed it until then, at an unknown moment: its time is at most that of a source that was never set. Nine tenths of
// the time since the row would be less, and timers of this process would fire early in the other one. Without another
// process there is no later time. (A store that is only read does not know whether there is one.)
void SavedTime::join(Connection& connection) {
  const std::optional<Row> saved = load(connection);
  if (!saved || live_processes_(connection).empty()) return;
  const Milliseconds here = time_.steady();
  if (is_of_this_boot(*saved, here)) time_.reach(saved->source_time + (here - saved->steady));
}

SavedTime::Comparison SavedTime::compare(const Row& saved) const {
  Comparison found;
  const Milliseconds here = time_.steady();
  found.same_boot = is_of_this_boot(saved, here);
  const auto passed_at = [&](Milliseconds steady) { return found.same_boot ? steady - saved.steady : Milliseconds(0); };
  time_.reach(saved.store_time + passed_at(here) * 9 / 10);
  found.moment = time_.moment();
  found.passed = passed_at(found.moment.steady);  // this process may have been stopped since then
  found.expected = saved.store_time + found.passed;
  found.jumped = found.same_boot && found.moment.now > found.expected + std::chrono::seconds(1) + found.passed / 1'000;
  return found;
}

Timestamp SavedTime::begin(Connection& connection) {
  const std::optional<Row> saved = load(connection);
  if (!saved) {
    must_save_ = true;
    must_save_alone_ = false;
    return use(time_.moment());
  }
  const Comparison found = compare(*saved);
  use(found.moment);
  if (found.jumped) extend_locks(connection, found.expected, moment_.now - found.expected);
  must_save_alone_ = found.same_boot && moment_.last_jump && saved->steady < *moment_.last_jump;
  must_save_ = must_save_alone_ || !found.same_boot || found.jumped || found.passed >= kInterval || time_.is_ahead();
  return moment_.now;
}

ReadTime SavedTime::peek(Connection& connection) const {
  const std::optional<Row> saved = load(connection);
  if (!saved) {
    const Timestamp now = time_.now();
    return {.now = now, .of_locks = now};
  }
  const Comparison found = compare(*saved);
  return {.now = found.moment.now, .of_locks = found.jumped ? found.expected : found.moment.now};
}

Timestamp SavedTime::use(const StoreTime::Moment& moment) noexcept {
  moment_ = moment;
  return moment_.now;
}

void SavedTime::save(Connection& connection, bool has_changes) {
  if (!(has_changes ? must_save_ : must_save_alone_)) return;
  connection.run(kSave, moment_.now, moment_.source, moment_.steady.count(), origin_);
}

void SavedTime::extend_locks(Connection& connection, Timestamp from, Milliseconds by) const {
  for (const std::int64_t process : live_processes_(connection)) {
    for (const char* sql : {kExtendInstances, kExtendActivities, kExtendSessions}) {
      connection.run(sql, process, from, by);
    }
  }
}

}  // namespace perdure::sqlite
