// What operators look at in the queues, row by row.
#include <string_view>

#include "providers/cursors.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"

namespace perdure::postgres {

namespace {

constexpr std::string_view kActivities = "activities";
constexpr std::string_view kStarts = "starts";

constexpr const char* kListActivities =
    "SELECT a.id, i.id, a.execution, a.activity_id, a.name, a.session, a.lane, a.scheduled_at, a.ready_at,"
    " a.token IS NOT NULL AND a.ready_at > now_ms(), a.attempts, a.details FROM activities a"
    " JOIN instances i ON i.key = a.key WHERE a.id > $1::bigint AND ($2::text IS NULL OR a.key ="
    " (SELECT k.key FROM instances k WHERE k.id = $2::text)) ORDER BY a.id LIMIT $3::bigint";
// Continuations begin an execution too, but are no starts.
constexpr const char* kQueuedStarts =
    "SELECT i.id, s.name, s.head FROM instances i CROSS JOIN LATERAL ("
    "  SELECT m.name, substr(m.body, 1, $3::bigint::integer) AS head FROM messages m WHERE m.key = i.key"
    "  AND m.kind IN (1, 2) AND m.kind = 1 ORDER BY m.visible_at, m.id LIMIT 1) s"
    " WHERE i.id > $1::text AND i.created_at IS NULL ORDER BY i.id LIMIT $2::bigint";

}  // namespace

ProviderResult<ActivityPage> PostgresStore::list_activities(const ActivityQuery& query) {
  const ProviderResult<std::uint64_t> before = place_before_page(kActivities, query.limit, query.cursor);
  if (!before) return before.error();
  return guarded<ActivityPage>([&]() -> ProviderResult<ActivityPage> {
    const Rows rows =
        pool_.run(kListActivities, Parameters(*before, query.instance, one_more_than(query.limit)), Repeat::kRead);
    ActivityPage page;
    for (int row = 0; row < rows.size(); ++row) {
      if (page.activities.size() == query.limit) {
        page.next = cursor_behind(kActivities, rows.unsigned_integer(row - 1, 0));
        break;
      }
      page.activities.push_back({.instance = rows.text(row, 1),
                                 .execution = rows.unsigned_integer(row, 2),
                                 .activity_id = rows.unsigned_integer(row, 3),
                                 .name = rows.text(row, 4),
                                 .session = rows.optional_text(row, 5),
                                 .tag = tag_of(rows.bytes(row, 6)),
                                 .scheduled_at = rows.time(row, 7),
                                 .ready_at = rows.time(row, 8),
                                 .locked = rows.boolean(row, 9),
                                 .attempts = static_cast<std::uint32_t>(rows.integer(row, 10)),
                                 .heartbeat_details = rows.optional_text(row, 11)});
    }
    return page;
  });
}

ProviderResult<InstanceQueue> PostgresStore::instance_queue(const std::string& instance) {
  constexpr const char* kInstanceQueue =
      "SELECT q.messages, q.visible, q.first, i.ready_at FROM instances i CROSS JOIN LATERAL ("
      "  SELECT count(*) AS messages, count(*) FILTER (WHERE m.visible_at <= now_ms()) AS visible,"
      "  min(m.visible_at) AS first FROM messages m WHERE m.key = i.key) q WHERE i.id = $1";
  return guarded<InstanceQueue>([&]() -> ProviderResult<InstanceQueue> {
    const Rows rows = pool_.run(kInstanceQueue, Parameters(instance), Repeat::kRead);
    if (rows.size() == 0) return InstanceQueue();
    return InstanceQueue{.messages = rows.unsigned_integer(0, 0),
                         .visible_messages = rows.unsigned_integer(0, 1),
                         .first_message_at = rows.optional_time(0, 2),
                         .ready_at = rows.optional_time(0, 3)};
  });
}

ProviderResult<StartPage> PostgresStore::list_queued_starts(const StartQuery& query) {
  const ProviderResult<std::string> before = id_before_page(kStarts, query.limit, query.cursor);
  if (!before) return before.error();
  return guarded<StartPage>([&]() -> ProviderResult<StartPage> {
    const Rows rows =
        pool_.run(kQueuedStarts, Parameters(*before, one_more_than(query.limit), std::int64_t{QueuedStart::kHeadBytes}),
                  Repeat::kRead);
    StartPage page;
    for (int row = 0; row < rows.size(); ++row) {
      if (page.starts.size() == query.limit) {
        page.next = cursor_behind(kStarts, page.starts.back().instance);
        break;
      }
      page.starts.push_back({.instance = rows.text(row, 0), .name = rows.text(row, 1), .body_head = rows.text(row, 2)});
    }
    return page;
  });
}

}  // namespace perdure::postgres
