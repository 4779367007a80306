#include "providers/sqlite/ready.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "providers/commit_rules.h"
#include "providers/sqlite/sql.h"

namespace perdure::sqlite {

namespace {

bool fits_code(const CapabilityFilter& filter, const InstanceRow::Identity& identity) {
  if (identity.name && !lists(filter.orchestrations, *identity.name)) return false;
  if (filter.engine_versions.empty()) return true;
  const std::optional<SemanticVersion> version = stored_version(identity.pin);
  return !version || std::any_of(filter.engine_versions.begin(), filter.engine_versions.end(),
                                 [&version](const VersionRange& range) { return range.contains(*version); });
}

bool fits(Connection& connection, const CapabilityFilter& filter, const InstanceRow& row, Timestamp now) {
  if (row.is_instance() && ends_instance(row.identity.status)) return true;  // its messages need no code
  if (fits_code(filter, row.identity)) return true;
  // Any node can refuse the start of a child whose id is taken.
  return row.is_instance() && row.identity.status == ExecutionStatus::kRunning && row.progress.starts > 0 &&
         connection.query(sql::kHasChildStart, row.key, now).step();
}

// Applies the rule for suspects to candidates that come in order. True: take it.
class SuspectGate {
 public:
  explicit SuspectGate(const SuspectRule& rule) : rule_(rule) {}

  [[nodiscard]] bool admits(std::uint32_t attempts) {
    const bool is_suspect = attempts >= rule_.from_attempts;
    if (is_suspect && (!rule_.admit || any_)) return false;
    any_ = true;
    alone_ = is_suspect;
    return true;
  }
  // A suspect was taken: nothing may follow.
  [[nodiscard]] bool closed() const noexcept { return alone_; }

 private:
  const SuspectRule& rule_;
  bool any_ = false;
  bool alone_ = false;
};

std::optional<InstanceRow> next_row(Query& query) {
  if (!query.step()) return std::nullopt;
  return read_instance(query);
}

std::optional<Timestamp> earlier(std::optional<Timestamp> a, std::optional<Timestamp> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

template <class... Arguments>
std::optional<Timestamp> time_of(Connection& connection, const char* sql, const Arguments&... arguments) {
  Query query = connection.query(sql, arguments...);
  query.step();
  return query.optional_time(0);
}

}  // namespace

std::vector<InstanceRow> ready_instances(Connection& connection, const OrchestrationFetch& fetch, Timestamp now) {
  std::vector<InstanceRow> rows;
  if (fetch.limit == 0) return rows;
  SuspectGate suspects(fetch.suspects);
  Query ready_query = connection.query(sql::kReadyInstances, now);
  // An empty owner holds nothing.
  Query held_query = connection.query(sql::kHeldInstances, fetch.owner, now);
  // Whose lock has ended is nobody's any more: it is among the others, at the time that it ended.
  const auto next_held = [&] {
    std::optional<InstanceRow> row;
    do {
      row = next_row(held_query);
    } while (row && !row->locked_at(now));
    return row;
  };
  std::optional<InstanceRow> ready = next_row(ready_query);
  std::optional<InstanceRow> held = fetch.owner.empty() ? std::nullopt : next_held();
  const auto comes_first = [](const InstanceRow& held_row, const InstanceRow& ready_row) {
    return std::pair(held_row.schedule.held_ready_at, held_row.key) <=
           std::pair(ready_row.schedule.ready_at, ready_row.key);
  };
  while ((ready || held) && rows.size() < fetch.limit && !suspects.closed()) {
    const bool take_held = held && (!ready || comes_first(*held, *ready));
    InstanceRow& next = take_held ? *held : *ready;
    if (fits(connection, fetch.filter, next, now) && suspects.admits(next.progress.attempts)) {
      rows.push_back(std::move(next));
    }
    if (take_held) {
      held = next_held();
    } else {
      ready = next_row(ready_query);
    }
  }
  return rows;
}

std::optional<Timestamp> next_ready_instance(Connection& connection, const OrchestrationFetch& fetch, Timestamp now) {
  std::optional<Timestamp> next = time_of(connection, sql::kNextReadyInstance, now);
  if (!fetch.owner.empty()) next = earlier(next, time_of(connection, sql::kNextHeldInstance, fetch.owner, now));
  return next;
}

bool SessionGate::admits(const std::optional<std::string>& session) {
  is_new_ = false;
  if (!session) return true;
  if (!fetch_) return false;
  if (!held_) held_ = count_held();
  if (std::find(claimed_.begin(), claimed_.end(), *session) != claimed_.end()) return true;
  Query query = connection_.query(sql::kLoadSession, *session);
  if (query.step() && query.time(1) > now_) {
    if (query.bytes(0) == fetch_->owner) return true;
    blocked_until_ = earlier(blocked_until_, query.time(1));
    return false;
  }
  is_new_ = held_->sessions + claimed_.size() < fetch_->max_sessions;
  if (!is_new_) blocked_until_ = earlier(blocked_until_, held_->first_end);
  return is_new_;
}

SessionGate::Holding SessionGate::count_held() const {
  if (fetch_->max_sessions == SessionFetch{}.max_sessions) return {};  // without a bound nobody needs to count
  Query query = connection_.query(sql::kHeldSessions, fetch_->owner, now_);
  query.step();
  return {.sessions = static_cast<std::size_t>(query.unsigned_integer(0)), .first_end = query.optional_time(1)};
}

void SessionGate::take(const std::optional<std::string>& session) {
  if (std::exchange(is_new_, false)) claimed_.push_back(*session);
}

namespace {

using Position = std::pair<Timestamp, std::int64_t>;

struct DueActivity {
  std::int64_t id = 0;
  Timestamp due;
  std::uint32_t attempts = 0;
  std::string name;
  std::optional<std::string> session;
  bool expired = false;

  [[nodiscard]] Position position() const { return {due, id}; }
};

DueActivity read_due(const Query& query, Timestamp now) {
  const auto attempts = static_cast<std::uint32_t>(query.integer(2));
  const std::optional<Timestamp> expires_at = query.optional_time(5);
  return {.id = query.integer(0),
          .due = query.time(1),
          .attempts = attempts,
          .name = query.text(3),
          .session = query.optional_text(4),
          .expired = expires_at && *expires_at <= now};
}

// The ready activities with one tag, or without, a page at a time.
class Lane {
 public:
  Lane(Connection& connection, std::optional<std::string> tag, Timestamp now, std::size_t page)
      : connection_(connection), tag_(std::move(tag)), now_(now), page_(page) {}

  [[nodiscard]] std::optional<Position> next() {
    if (buffer_.empty() && !exhausted_) load();
    if (buffer_.empty()) return std::nullopt;
    return buffer_.front().position();
  }
  // Only where next() has answered.
  [[nodiscard]] DueActivity take() {
    DueActivity first = std::move(buffer_.front());
    buffer_.pop_front();
    return first;
  }

 private:
  void load() {
    Query query = connection_.query(sql::kReadyActivities, tag_, last_due_, now_, last_id_, page_);
    while (query.step()) buffer_.push_back(read_due(query, now_));
    exhausted_ = buffer_.size() < page_;
    if (buffer_.empty()) return;
    last_due_ = buffer_.back().due;
    last_id_ = buffer_.back().id;
  }

  Connection& connection_;
  std::optional<std::string> tag_;
  Timestamp now_;
  std::uint64_t page_;
  std::deque<DueActivity> buffer_;
  Timestamp last_due_ = Timestamp::min();
  std::int64_t last_id_ = 0;
  bool exhausted_ = false;
};

// The tags that the filter admits and that may have activities; nullopt stands for no tag.
std::vector<std::optional<std::string>> lane_tags(Connection& connection, const TagFilter& filter) {
  std::vector<std::optional<std::string>> tags;
  if (filter.takes_untagged() || filter.takes_any()) tags.emplace_back();
  if (!filter.takes_any()) {
    tags.insert(tags.end(), filter.listed().begin(), filter.listed().end());
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    return tags;
  }
  // One seek for each tag there is, instead of a walk over all rows.
  std::optional<std::string> tag;
  {
    Query first = connection.query(sql::kFirstTag);
    first.step();
    tag = first.optional_text(0);
  }
  while (tag) {
    tags.push_back(tag);
    Query next = connection.query(sql::kNextTag, *tags.back());
    next.step();
    tag = next.optional_text(0);
  }
  return tags;
}

std::deque<DueActivity> expired_activities(Connection& connection, Timestamp now, std::size_t limit) {
  std::deque<DueActivity> expired;
  Query query = connection.query(sql::kExpiredActivities, now, std::uint64_t{limit});
  while (query.step()) expired.push_back(read_due(query, now));
  return expired;
}

// The one that is ready longest, of all that is left.
std::optional<DueActivity> take_first(std::deque<Lane>& lanes, std::deque<DueActivity>& expired) {
  std::optional<Position> first;
  if (!expired.empty()) first = expired.front().position();
  Lane* lane_of_first = nullptr;
  for (Lane& lane : lanes) {
    const std::optional<Position> next = lane.next();
    if (!next || (first && *first <= *next)) continue;
    first = next;
    lane_of_first = &lane;
  }
  if (lane_of_first != nullptr) return lane_of_first->take();
  if (!first) return std::nullopt;
  DueActivity activity = std::move(expired.front());
  expired.pop_front();
  return activity;
}

constexpr std::size_t kSmallestPage = 16;

}  // namespace

ReadyActivities ready_activities(Connection& connection, const WorkFetch& fetch, Timestamp now) {
  ReadyActivities found;
  std::vector<ReadyActivity>& taken = found.rows;
  if (fetch.tags.takes_nothing() || fetch.limit == 0) return found;
  std::deque<Lane> lanes;
  for (std::optional<std::string>& tag : lane_tags(connection, fetch.tags)) {
    lanes.emplace_back(connection, std::move(tag), now, std::max(fetch.limit, kSmallestPage));
  }
  // As many as could be taken, because every one of them may be, unless it is a suspect.
  const bool any_suspects = fetch.suspects.from_attempts != SuspectRule{}.from_attempts;
  std::deque<DueActivity> expired =
      expired_activities(connection, now, any_suspects ? std::numeric_limits<std::int64_t>::max() : fetch.limit);
  SessionGate sessions(connection, fetch.session, now);
  SuspectGate suspects(fetch.suspects);
  std::int64_t last = 0;
  while (taken.size() < fetch.limit && !suspects.closed()) {
    const std::optional<DueActivity> first = take_first(lanes, expired);
    if (!first) break;
    const DueActivity& next = *first;
    // An expired activity is in its lane too, at the same position.
    if (std::exchange(last, next.id) == next.id) continue;
    if (!next.expired && (!lists(fetch.filter.activities, next.name) || !sessions.admits(next.session))) continue;
    if (!suspects.admits(next.attempts)) continue;
    if (!next.expired) sessions.take(next.session);
    taken.push_back({.id = next.id, .expired = next.expired, .session = next.session});
  }
  found.session_ends_at = sessions.blocked_until();
  return found;
}

std::optional<Timestamp> next_ready_activity(Connection& connection, const WorkFetch& fetch, Timestamp now) {
  if (fetch.tags.takes_nothing()) return std::nullopt;
  std::optional<Timestamp> next =
      earlier(time_of(connection, sql::kNextExpiry, now), time_of(connection, sql::kNextReadyExpired, now));
  for (const std::optional<std::string>& tag : lane_tags(connection, fetch.tags)) {
    next = earlier(next, time_of(connection, sql::kNextReadyActivity, tag, now));
  }
  return next;
}

}  // namespace perdure::sqlite
