// What operators look at in the queues, row by row.
#include <string_view>

#include "providers/cursors.h"
#include "providers/sqlite/queries.h"

namespace perdure::sqlite {

namespace {

constexpr std::string_view kActivityPages = "activities";
constexpr std::string_view kStarts = "starts";

#define PERDURE_QUEUED_ACTIVITY                                                                                   \
  "SELECT a.id, i.id, a.execution, a.activity_id, a.name, a.session, a.tag, a.scheduled_at, a.ready_at, a.token," \
  " a.attempts, a.details FROM activities a CROSS JOIN instances i ON i.key = a.key"  // CROSS: in this order
constexpr const char* kAllActivities = PERDURE_QUEUED_ACTIVITY " WHERE a.id > ?1 ORDER BY a.id";
constexpr const char* kActivitiesOf =
    PERDURE_QUEUED_ACTIVITY " WHERE a.key = (SELECT key FROM instances WHERE id = ?2) AND a.id > ?1 ORDER BY a.id";
#undef PERDURE_QUEUED_ACTIVITY

// Continuations count among `starts` too, but are none.
constexpr const char* kQueuedStarts =
    "SELECT i.id, m.name, substr(m.body, 1, ?2) FROM instances i CROSS JOIN messages m ON m.id ="
    " (SELECT id FROM messages WHERE key = i.key AND kind = 1 ORDER BY visible_at, id LIMIT 1)"
    " WHERE i.id > ?1 AND i.created_at IS NULL AND i.starts > 0 ORDER BY i.id";

QueuedActivity read_activity(const Query& query, const ReadTime& time) {
  const Timestamp ready_at = query.time(8);
  return {.instance = query.text(1),
          .execution = query.unsigned_integer(2),
          .activity_id = query.unsigned_integer(3),
          .name = query.text(4),
          .session = query.optional_text(5),
          .tag = query.optional_text(6),
          .scheduled_at = query.time(7),
          .ready_at = ready_at,
          .locked = !query.is_null(9) && ready_at > time.of_locks,
          .attempts = static_cast<std::uint32_t>(query.integer(10)),
          .heartbeat_details = query.optional_text(11)};
}

}  // namespace

ProviderResult<ActivityPage> list_activities(Connection& connection, const ActivityQuery& query, const ReadTime& time) {
  const ProviderResult<std::uint64_t> before = place_before_page(kActivityPages, query.limit, query.cursor);
  if (!before) return before.error();
  ActivityPage page;
  std::uint64_t last = 0;
  Query rows = query.instance ? connection.query(kActivitiesOf, *before, *query.instance)
                              : connection.query(kAllActivities, *before);
  while (rows.step()) {
    if (page.activities.size() == query.limit) {
      page.next = cursor_behind(kActivityPages, last);
      break;
    }
    last = rows.unsigned_integer(0);
    page.activities.push_back(read_activity(rows, time));
  }
  return page;
}

ProviderResult<StartPage> list_queued_starts(Connection& connection, const StartQuery& query) {
  const ProviderResult<std::string> before = id_before_page(kStarts, query.limit, query.cursor);
  if (!before) return before.error();
  StartPage page;
  Query rows = connection.query(kQueuedStarts, *before, std::uint64_t{QueuedStart::kHeadBytes});
  while (rows.step()) {
    if (page.starts.size() == query.limit) {
      page.next = cursor_behind(kStarts, page.starts.back().instance);
      break;
    }
    page.starts.push_back({.instance = rows.text(0), .name = rows.text(1), .body_head = rows.text(2)});
  }
  return page;
}

InstanceQueue instance_queue(Connection& connection, const std::string& instance, Timestamp now) {
  Query row = connection.query(
      "SELECT count(m.id), count(*) FILTER (WHERE m.visible_at <= ?2), min(m.visible_at), i.ready_at"
      " FROM instances i LEFT JOIN messages m ON m.key = i.key WHERE i.id = ?1 GROUP BY i.key",
      instance, now);
  if (!row.step()) return {};
  return {.messages = row.unsigned_integer(0),
          .visible_messages = row.unsigned_integer(1),
          .first_message_at = row.optional_time(2),
          .ready_at = row.optional_time(3)};
}

}  // namespace perdure::sqlite
