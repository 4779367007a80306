// The statements that are more than a call of a function of the schema. Those of the hot paths have an index for
// everything they look for; lists are arguments, so that a batch is one statement.
#pragma once

namespace perdure::postgres::sql {

// ---- Instances and their messages ----

inline constexpr const char* kLockOrMake = "SELECT lock_or_make_instances($1::text[], $2::bigint[])";

// In their order. The rows of their instances are there, and locked.
inline constexpr const char* kInsertMessages =
    "INSERT INTO messages(key, kind, execution, name, visible_at, body, parent, parent_link)"
    " SELECT i.key, m.kind, m.execution, m.name, coalesce(m.visible_at, c.moment), m.body, m.parent, m.parent_link"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN unnest($1::text[], $2::smallint[], $3::bigint[],"
    " $4::text[], $5::bigint[], $6::bytea[], $7::text[], $8::text[]) WITH ORDINALITY"
    " m(target, kind, execution, name, visible_at, body, parent, parent_link, place)"
    " JOIN instances i ON i.id = m.target ORDER BY m.place";

// The same, but a message with must_exist is discarded if there is neither an instance nor a queued start. Returns how
// many were discarded for which instance.
inline constexpr const char* kInsertCheckedMessages =
    "WITH sent AS MATERIALIZED ("
    "SELECT i.key, m.*, NOT m.must_exist OR is_known(i.key) AS received"
    " FROM unnest($1::text[], $2::smallint[], $3::bigint[],"
    " $4::text[], $5::bigint[], $6::bytea[], $7::text[], $8::text[], $9::boolean[]) WITH ORDINALITY"
    " m(target, kind, execution, name, visible_at, body, parent, parent_link, must_exist, place)"
    " JOIN instances i ON i.id = m.target), queued AS ("
    "INSERT INTO messages(key, kind, execution, name, visible_at, body, parent, parent_link)"
    " SELECT s.key, s.kind, s.execution, s.name, coalesce(s.visible_at, c.moment), s.body, s.parent, s.parent_link"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN sent s WHERE s.received ORDER BY s.place)"
    " SELECT s.target, count(*) FROM sent s WHERE NOT s.received GROUP BY s.target ORDER BY min(s.place)";
// Which of these ids have neither an instance nor a queued start. Their rows exist and are locked.
inline constexpr const char* kUnknownInstances =
    "SELECT i.id FROM unnest($1::text[]) u(id) JOIN instances i ON i.id = u.id WHERE NOT is_known(i.key)";
inline constexpr const char* kForgetEmptyById =
    "SELECT forget_empty(ARRAY(SELECT i.key FROM unnest($1::text[]) u(id) JOIN instances i ON i.id = u.id))";

// Schedules instances that got messages.
inline constexpr const char* kNoteMessages =
    "SELECT note_messages($1::text[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::bigint)";

inline constexpr const char* kFetchInstances =
    "SELECT * FROM fetch_instances($1::bigint, $2::bigint, $3::bigint, $4::text, $5::text[], $6::text[], $7::text[],"
    " $8::bigint, $9::boolean, $10::boolean, $11::bigint, $12::bigint, $13::bigint)";
inline constexpr const char* kAbandonInstances =
    "SELECT * FROM abandon_instances($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint)";
inline constexpr const char* kRenewInstances =
    "SELECT * FROM renew_instances($1::bigint[], $2::bigint[], $3::bigint, $4::bigint)";
inline constexpr const char* kEnqueueStart =
    "SELECT * FROM enqueue_start($1::text, $2::bigint, $3::text, $4::bigint, $5::bigint, $6::bytea, $7::text,"
    " $8::text, $9::bigint)";

// ---- Commits ----

inline constexpr const char* kCheckTurns =
    "SELECT check_turns($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[],"
    " $7::text[])";
// Commits the rows of turns that neither begin nor end an execution, which is most of them, and fails unless every one
// of them may be committed. What else the turns change is done already: what is left in the queue says when they are
// due. A statement that had to wait for a row goes on with its new version, but does not see the messages that came
// with it. So it demands the version that it has seen; whoever fails for that is tried again by himself, with a lock
// beforehand. `sooner`: what is left is due before those who wait would look again, at the end of the lock, say.
inline constexpr const char* kAdvanceTurns =
    "WITH advanced AS (UPDATE instances i"
    " SET last_event = greatest(t.last_event, i.last_event), commit_id = t.commit_id, updated_at = c.moment, attempts "
    "= 0,"
    " not_before = NULL, token = CASE WHEN t.keep IS NOT NULL THEN i.token END, holder = t.owner,"
    " locked_until = CASE WHEN t.keep IS NULL THEN NULL WHEN i.locked_until - c.moment < t.keep / 2"
    "  THEN later(c.moment, t.keep) ELSE i.locked_until END,"
    " ready_at = CASE WHEN m.due IS NULL OR t.keep IS NULL THEN m.due WHEN i.locked_until - c.moment < t.keep / 2"
    "  THEN greatest(m.due, later(c.moment, t.keep)) ELSE greatest(m.due, i.locked_until) END,"
    " held_ready_at = CASE WHEN t.owner IS NOT NULL THEN m.due END"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[],"
    "  $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::text[])"
    "  t(key, secret, commit_id, execution, first_event, last_event, scheduler, keep, owner)"
    " JOIN instances seen ON seen.key = t.key"
    " CROSS JOIN LATERAL messages_due(t.key, seen.status) m"
    " WHERE i.key = t.key AND i.xmin = seen.xmin AND i.token = t.secret AND i.locked_until > c.moment"
    " AND i.commit_id <> t.commit_id AND i.created_at IS NOT NULL AND i.execution = t.execution"
    " AND (t.scheduler IS NULL OR t.scheduler = i.id) AND (t.first_event = 0 OR t.first_event = i.last_event + 1)"
    " RETURNING i.key, i.locked_until,"
    " coalesce(CASE WHEN i.holder IS NULL THEN i.ready_at ELSE i.held_ready_at END <= c.moment, false) AS more, "
    "c.moment, coalesce(m.due <= c.moment OR m.due < coalesce("
    "  CASE WHEN t.owner IS NOT NULL THEN seen.held_ready_at END, seen.ready_at, seen.locked_until), false) AS sooner)"
    " SELECT array_agg(a.key), array_agg(a.locked_until), array_agg(a.more), max(a.moment), array_agg(a.sooner),"
    " CASE WHEN count(*) <> cardinality($1) THEN refuse('PD001', 'a turn cannot be committed') END FROM advanced a";
// Removes activities whose completion a turn has consumed, and fails unless each of them is locked with its secret for
// the first time.
inline constexpr const char* kFinishWork =
    "WITH gone AS (DELETE FROM activities a USING (SELECT now_ms() AS moment OFFSET 0) c,"
    " unnest($1::bigint[], $2::bigint[], $3::bigint[]) d(id, secret, key)"
    " WHERE a.id = d.id AND a.token = d.secret AND a.key = d.key AND a.ready_at > c.moment AND a.attempts = 1"
    " RETURNING a.session)"
    " SELECT CASE WHEN count(*) <> cardinality($1) THEN refuse('PD002', 'a completed activity is not ours any more')"
    " WHEN count(g.session) > 0 THEN use_sessions(array_agg(g.session)) END FROM gone g";
inline constexpr const char* kConsumeMessages =
    "DELETE FROM messages m USING unnest($1::bigint[], $2::bigint[]) c(id, key) WHERE m.id = c.id AND m.key = c.key";
inline constexpr const char* kBeginExecutions =
    "INSERT INTO executions AS e (key, execution, pin, carry_forward, started_at)"
    " SELECT t.key, t.execution, coalesce(t.pin, CASE WHEN t.execution = i.execution THEN i.pin END), t.carry, c.moment"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::boolean[],"
    " $4::text[], $5::bigint[]) t(key, execution, started, pin, carry) JOIN instances i ON i.key = t.key"
    " WHERE t.started OR t.execution > i.execution"
    " ON CONFLICT (key, execution) DO UPDATE SET pin = coalesce(excluded.pin, e.pin),"
    " carry_forward = excluded.carry_forward";
inline constexpr const char* kInsertHistory =
    "INSERT INTO history(key, execution, first_event, events, body_bytes, data)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])";
inline constexpr const char* kChangeCustomStatuses =
    "INSERT INTO custom_statuses AS s (key, value, version) SELECT t.key, t.value, 1"
    " FROM unnest($1::bigint[], $2::bytea[]) t(key, value)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = s.version + 1";
inline constexpr const char* kClearValues = "SELECT clear_values($1::bigint[])";
inline constexpr const char* kChangeValues =
    "INSERT INTO key_value_changes(key, name, value, updated_at)"
    " SELECT t.key, t.name, t.value, coalesce(t.updated_at, c.moment)"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN"
    " unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) t(key, name, value, updated_at)"
    " ON CONFLICT (key, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at";
inline constexpr const char* kEndExecutions =
    "UPDATE executions e SET status = t.status, output = CASE WHEN t.status <> 0 THEN t.output END,"
    " completed_at = CASE WHEN t.status <> 0 THEN c.moment END"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN"
    " unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bytea[]) t(key, execution, status, output)"
    " WHERE e.key = t.key AND e.execution = t.execution";
inline constexpr const char* kKeepValues = "SELECT keep_values($1::bigint[])";
inline constexpr const char* kRefuseQueued = "SELECT refuse_queued($1::bigint[], $2::bigint[], $3::bigint[])";
// Returns a row for each that was there.
inline constexpr const char* kCancelActivities =
    "DELETE FROM activities a USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) c(key, execution, activity_id)"
    " WHERE a.key = c.key AND a.execution = c.execution AND a.activity_id = c.activity_id RETURNING a.id";
// Nobody claims any of them.
inline constexpr const char* kQueueActivities =
    "INSERT INTO activities(key, execution, activity_id, name, lane, session, ready_at, scheduled_at, expires_at,"
    " start_to_close, schedule_to_start, heartbeat, body)"
    " SELECT n.key, n.execution, n.activity_id, n.name, n.lane, n.session, coalesce(n.visible_at, t.moment), t.moment,"
    " later(t.moment, n.schedule_to_start), n.start_to_close, n.schedule_to_start, n.heartbeat, n.body"
    " FROM (SELECT now_ms() AS moment OFFSET 0) t CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[],"
    " $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[])"
    " n(key, execution, activity_id, name, lane, session, visible_at, start_to_close, schedule_to_start, heartbeat, "
    "body)";
// A worker claims those that it may if it would find nothing else, which is quickly seen where nothing waits at all.
inline constexpr const char* kClaimActivities =
    "INSERT INTO activities AS a (key, execution, activity_id, name, lane, session, ready_at, token, attempts,"
    " scheduled_at, expires_at, start_to_close, schedule_to_start, heartbeat, body)"
    " SELECT n.key, n.execution, n.activity_id, n.name, n.lane, n.session,"
    " CASE WHEN c.claiming AND n.may_claim THEN later(c.moment, $20::bigint) ELSE coalesce(n.visible_at, c.moment) END,"
    " CASE WHEN c.claiming AND n.may_claim THEN n.secret END, CASE WHEN c.claiming AND n.may_claim THEN 1 ELSE 0 END,"
    " c.moment,"
    " CASE WHEN NOT (c.claiming AND n.may_claim) THEN later(c.moment, n.schedule_to_start) END,"
    " n.start_to_close, n.schedule_to_start, n.heartbeat, n.body"
    " FROM (SELECT t.moment, CASE WHEN"
    "  EXISTS (SELECT 1 FROM unnest(coalesce($14::text[], all_lanes())) l(lane) CROSS JOIN LATERAL ("
    "   SELECT 1 FROM activities w WHERE w.lane = l.lane AND w.ready_at <= t.moment LIMIT 1) ready)"
    "  OR EXISTS (SELECT 1 FROM activities w WHERE w.expires_at <= t.moment AND w.ready_at <= t.moment)"
    "  THEN NOT work_is_waiting($14::text[], $15::text[], $16::text, $17::bigint, $18::bigint, $19::boolean)"
    "  ELSE true END AS claiming FROM (SELECT now_ms() AS moment OFFSET 0) t OFFSET 0) c"
    " CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[],"
    "  $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], $12::boolean[], $13::bigint[])"
    "  n(key, execution, activity_id, name, lane, session, visible_at, start_to_close, schedule_to_start, heartbeat,"
    "  body, may_claim, secret)"
    " RETURNING a.id, a.key, a.activity_id, a.ready_at, a.token IS NOT NULL";
// The same, one activity after the other, because sessions and times have a say.
inline constexpr const char* kInsertActivities =
    "SELECT * FROM insert_activities($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[],"
    " $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], $12::boolean[], $13::bigint[], "
    "$14::bigint,"
    " $15::text[], $16::text[], $17::text, $18::bigint, $19::bigint, $20::bigint, $21::boolean, $22::bigint)";
inline constexpr const char* kUpdateTurns =
    "UPDATE instances i SET"
    " name = CASE WHEN t.started THEN t.name WHEN i.created_at IS NOT NULL THEN i.name ELSE coalesce("
    "  (SELECT m.name FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2) ORDER BY m.visible_at, m.id LIMIT 1),"
    "  i.name) END,"
    " version = CASE WHEN t.started THEN t.version ELSE i.version END,"
    " parent = CASE WHEN t.started THEN coalesce(i.parent, t.parent) ELSE i.parent END,"
    " parent_link = CASE WHEN t.started AND i.parent IS NULL THEN t.parent_link ELSE i.parent_link END,"
    " pin = coalesce(t.pin, CASE WHEN t.execution = i.execution THEN i.pin END),"
    " created_at = CASE WHEN t.started THEN coalesce(i.created_at, c.moment) ELSE i.created_at END,"
    " incarnation = CASE WHEN t.started AND i.created_at IS NULL THEN t.commit_id ELSE i.incarnation END,"
    " status = coalesce(t.status, CASE WHEN t.execution = i.execution THEN i.status ELSE 0 END),"
    " completed_at = CASE WHEN t.status <> 0 THEN c.moment"
    "  WHEN t.status IS NULL AND t.execution = i.execution THEN i.completed_at END,"
    " execution = t.execution,"
    " last_event = CASE WHEN t.last_event > 0 THEN t.last_event WHEN t.execution = i.execution THEN i.last_event"
    "  ELSE 0 END,"
    " commit_id = t.commit_id,"
    " updated_at = CASE WHEN t.started OR i.created_at IS NOT NULL THEN c.moment ELSE i.updated_at END,"
    " attempts = 0, not_before = NULL,"
    " token = CASE WHEN t.keep IS NOT NULL THEN i.token END, holder = t.owner,"
    " locked_until = CASE WHEN t.keep IS NULL THEN NULL"
    "  WHEN i.locked_until - c.moment < t.keep / 2 THEN later(c.moment, t.keep) ELSE i.locked_until END,"
    " (ready_at, held_ready_at, sweep_at) = (SELECT s.ready_at, s.held_ready_at, s.sweep_at FROM schedule_of("
    "  i.key, t.started OR i.created_at IS NOT NULL,"
    "  coalesce(t.status, CASE WHEN t.execution = i.execution THEN i.status ELSE 0::smallint END), NULL,"
    "  CASE WHEN t.keep IS NULL THEN NULL"
    "   WHEN i.locked_until - c.moment < t.keep / 2 THEN later(c.moment, t.keep) ELSE i.locked_until END,"
    "  t.owner, $13::bigint) s)"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[],"
    " $4::bigint[], $5::bigint[], $6::text[], $7::smallint[], $8::boolean[], $9::text[], $10::text[], $11::text[],"
    " $12::text[], $14::text[])"
    " t(key, commit_id, execution, last_event, keep, owner, status, started, name, version, parent, pin, parent_link)"
    " WHERE i.key = t.key"
    " RETURNING i.key, i.locked_until,"
    " coalesce(CASE WHEN i.holder IS NULL THEN i.ready_at ELSE i.held_ready_at END <= c.moment, false), c.moment,"
    " coalesce(i.ready_at, i.held_ready_at) IS NOT NULL";
inline constexpr const char* kForgetEmpty = "SELECT forget_empty($1::bigint[])";
// What a commit that was refused met.
inline constexpr const char* kLookAtTurn =
    "SELECT i.id, i.created_at IS NOT NULL, i.execution, i.last_event, i.commit_id, i.token, i.locked_until, i.holder,"
    " i.held_ready_at, i.ready_at, now_ms() FROM instances i WHERE i.key = $1::bigint";

// ---- The worker queue ----

inline constexpr const char* kFetchActivities =
    "SELECT * FROM fetch_activities($1::bigint, $2::bigint, $3::bigint, $4::text[], $5::text[], $6::text, $7::bigint,"
    " $8::bigint, $9::bigint, $10::boolean)";
inline constexpr const char* kRemoveWork = "SELECT remove_work($1::bigint[], $2::bigint[], $3::text[])";
inline constexpr const char* kEnqueueActivity =
    "INSERT INTO activities(key, execution, activity_id, name, lane, session, ready_at, scheduled_at, expires_at,"
    " start_to_close, schedule_to_start, heartbeat, body)"
    " SELECT i.key, $2::bigint, $3::bigint, $4::text, $5::text, $6::text, coalesce($7::bigint, c.moment), c.moment,"
    " later(c.moment, $9::bigint), $8::bigint, $9::bigint, $10::bigint, $11::bytea"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN instances i WHERE i.id = $1::text";
inline constexpr const char* kRescheduleById =
    "SELECT reschedule(array_agg(i.key), $2::bigint) FROM unnest($1::text[]) t(id) JOIN instances i ON i.id = t.id";
inline constexpr const char* kLookAtWork =
    "SELECT i.id, a.activity_id FROM activities a JOIN instances i ON i.key = a.key"
    " WHERE a.id = $1::bigint AND a.token = $2::bigint AND a.ready_at > now_ms()";
// A lock that another fetch took over: only its attempt is taken back. Code that has begun never expires.
inline constexpr const char* kAbandonWork =
    "UPDATE activities a SET token = nullif(a.token, w.secret),"
    " taken_over = CASE WHEN a.token = w.secret THEN a.taken_over END,"
    " ready_at = CASE WHEN a.token = w.secret THEN later(c.moment, w.delay) ELSE a.ready_at END,"
    " attempts = CASE WHEN w.ignore_attempt THEN greatest(a.attempts - 1, 0) ELSE a.attempts END,"
    " schedule_to_start = CASE WHEN NOT w.has_begun THEN a.schedule_to_start END,"
    " expires_at = CASE WHEN w.has_begun THEN NULL"
    "  WHEN a.token = w.secret AND (w.ignore_attempt AND a.attempts <= 1 OR a.attempts = 0)"
    "  THEN later(a.scheduled_at, a.schedule_to_start) ELSE a.expires_at END"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN"
    " unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::boolean[])"
    " w(id, secret, delay, ignore_attempt, has_begun)"
    " WHERE a.id = w.id AND (a.token = w.secret OR a.taken_over = w.secret AND w.ignore_attempt)";
inline constexpr const char* kRenewWork =
    "SELECT * FROM renew_work($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])";
inline constexpr const char* kRenewSessions =
    "WITH tended AS (UPDATE sessions s SET locked_until ="
    " CASE WHEN s.last_use > c.moment - $3::bigint THEN later(c.moment, $2::bigint) ELSE c.moment END"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c"
    " WHERE s.owner = ANY($1::text[]) AND s.locked_until > c.moment"
    " RETURNING s.last_use > c.moment - $3::bigint AS used)"
    " SELECT count(*) FILTER (WHERE t.used) FROM tended t";
inline constexpr const char* kCleanUpSessions =
    "WITH gone AS (DELETE FROM sessions s USING (SELECT now_ms() AS moment OFFSET 0) c"
    " WHERE s.locked_until <= c.moment AND NOT EXISTS"
    " (SELECT 1 FROM activities a WHERE a.session = s.session) RETURNING 1) SELECT count(*) FROM gone";

// ---- Waiting ----

inline constexpr const char* kAnnounceWaiter =
    "SELECT announce_waiter($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint)";
inline constexpr const char* kLookForInstances =
    "SELECT * FROM look_for_instances($1::text, $2::text[], $3::text[], $4::text[], $5::bigint, $6::boolean)";
inline constexpr const char* kLookForActivities =
    "SELECT * FROM look_for_activities($1::text[], $2::text[], $3::text, $4::bigint, $5::bigint, $6::boolean)";
// Whether an activity is gone, or under another lock.
inline constexpr const char* kHasLostAny =
    "SELECT now_ms(), EXISTS (SELECT 1 FROM unnest($1::bigint[], $2::bigint[]) held(id, token)"
    " WHERE NOT EXISTS (SELECT 1 FROM activities a WHERE a.id = held.id AND a.token = held.token)), NULL::bigint";
inline constexpr const char* kWakeWaiters =
    "SELECT wake_waiters($1::bigint, $2::text, $3::boolean, $4::boolean, $5::bigint)";
inline constexpr const char* kPollForWaiter =
    "SELECT * FROM poll_for_waiter($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint)";
// Status 0 runs, and 5, continued as new, goes on as long as the continuation is queued.
inline constexpr const char* kHasChanged =
    "SELECT now_ms(), EXISTS (SELECT 1 FROM instances i WHERE i.id = $1::text AND i.created_at IS NOT NULL AND ("
    " ($2::boolean AND i.status <> 0 AND NOT (i.status = 5 AND EXISTS"
    "  (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))))"
    " OR i.incarnation <> $5::bigint"
    " OR EXISTS (SELECT 1 FROM custom_statuses s WHERE s.key = i.key AND s.version > $3::bigint)"
    " OR EXISTS (SELECT 1 FROM key_value_changes c WHERE c.key = i.key AND c.name = $4::bytea AND c.value IS NOT NULL)"
    " OR EXISTS (SELECT 1 FROM key_values v WHERE v.key = i.key AND v.name = $4::bytea AND NOT EXISTS"
    "  (SELECT 1 FROM key_value_changes c WHERE c.key = v.key AND c.name = v.name))))";
inline constexpr const char* kNow = "SELECT now_ms()";

}  // namespace perdure::postgres::sql
