// Every statement of the hot paths, in one place: a test asks SQLite for the plan of each and refuses a scan.
#pragma once

#include <array>

namespace perdure::sqlite::sql {

// ---- The instance row ----

#define PERDURE_INSTANCE_COLUMNS                                                                                   \
  "key, id, name, version, parent, parent_link, status, execution, pin, created_at, incarnation, completed_at, "   \
  "token, process, "                                                                                               \
  "holder, "                                                                                                       \
  "not_before, ready_at, held_ready_at, sweep_at, last_event, commit_id, queued, starts, attempts, locked_until, " \
  "updated_at"
inline constexpr const char* kFindInstance = "SELECT " PERDURE_INSTANCE_COLUMNS " FROM instances WHERE id = ?1";
inline constexpr const char* kLoadInstance = "SELECT " PERDURE_INSTANCE_COLUMNS " FROM instances WHERE key = ?1";
inline constexpr const char* kInsertInstance = "INSERT INTO instances(id) VALUES(?1)";
inline constexpr const char* kStoreIdentity =
    "UPDATE instances SET name = ?2, version = ?3, parent = ?4, status = ?5, execution = ?6, pin = ?7, created_at = ?8,"
    " incarnation = ?9, completed_at = ?10, parent_link = ?11 WHERE key = ?1";
inline constexpr const char* kStoreSchedule =
    "UPDATE instances SET token = ?2, process = ?3, holder = ?4, not_before = ?5, ready_at = ?6, held_ready_at = ?7,"
    " sweep_at = ?8, last_event = ?9, commit_id = ?10, queued = ?11, starts = ?12, attempts = ?13, locked_until = ?14,"
    " updated_at = ?15 WHERE key = ?1";
inline constexpr const char* kStoreProgress =
    "UPDATE instances SET last_event = ?2, commit_id = ?3, queued = ?4, starts = ?5, attempts = ?6, locked_until = ?7,"
    " updated_at = ?8 WHERE key = ?1";
inline constexpr const char* kDeleteInstanceRow = "DELETE FROM instances WHERE key = ?1";

// ---- Which instances are due ----

inline constexpr const char* kReadyInstances =
    "SELECT " PERDURE_INSTANCE_COLUMNS " FROM instances WHERE ready_at <= ?1 ORDER BY ready_at, key";
inline constexpr const char* kHeldInstances =
    "SELECT " PERDURE_INSTANCE_COLUMNS
    " FROM instances WHERE holder = ?1 AND held_ready_at <= ?2 ORDER BY held_ready_at, key";
inline constexpr const char* kNextReadyInstance = "SELECT min(ready_at) FROM instances WHERE ready_at > ?1";
inline constexpr const char* kNextHeldInstance =
    "SELECT min(held_ready_at) FROM instances WHERE holder = ?1 AND held_ready_at > ?2";
#undef PERDURE_INSTANCE_COLUMNS
inline constexpr const char* kOrphansToSweep =
    "SELECT key FROM instances WHERE sweep_at <= ?1 ORDER BY sweep_at, key LIMIT ?2";

// ---- The orchestrator queue ----

#define PERDURE_MESSAGE_COLUMNS "id, kind, execution, name, visible_at, body, parent, parent_link"

inline constexpr const char* kInsertMessage =
    "INSERT INTO messages(key, kind, execution, name, visible_at, body, parent, parent_link)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
inline constexpr const char* kFirstMessage = "SELECT min(visible_at) FROM messages WHERE key = ?1";
inline constexpr const char* kFirstStart = "SELECT min(visible_at) FROM messages WHERE key = ?1 AND kind IN (1, 2)";
inline constexpr const char* kFirstContinuation = "SELECT min(visible_at) FROM messages WHERE key = ?1 AND kind = 2";
inline constexpr const char* kFirstStartName =
    "SELECT name FROM messages WHERE key = ?1 AND kind IN (1, 2) ORDER BY visible_at, id LIMIT 1";
inline constexpr const char* kFirstStartLink =
    "SELECT parent, parent_link FROM messages WHERE key = ?1 AND kind IN (1, 2) ORDER BY visible_at, id LIMIT 1";
inline constexpr const char* kHasOldButQueueMessages =
    "SELECT 1 FROM messages WHERE key = ?1 AND kind <> 7 AND visible_at <= ?2 LIMIT 1";
inline constexpr const char* kVisibleStarts =
    "SELECT " PERDURE_MESSAGE_COLUMNS
    " FROM messages WHERE key = ?1 AND visible_at <= ?2 AND kind IN (1, 2) ORDER BY visible_at, id";
inline constexpr const char* kVisibleOthers =
    "SELECT " PERDURE_MESSAGE_COLUMNS
    " FROM messages WHERE key = ?1 AND visible_at <= ?2 AND kind NOT IN (1, 2) ORDER BY visible_at, id";
inline constexpr const char* kVisibleEnds =
    "SELECT " PERDURE_MESSAGE_COLUMNS
    " FROM messages WHERE key = ?1 AND visible_at <= ?2 AND kind IN (10, 11) ORDER BY visible_at, id";
inline constexpr const char* kLinkedMessages =
    "SELECT " PERDURE_MESSAGE_COLUMNS " FROM messages WHERE key = ?1 AND parent IS NOT NULL ORDER BY id";
#undef PERDURE_MESSAGE_COLUMNS
inline constexpr const char* kHasChildStart =
    "SELECT 1 FROM messages WHERE key = ?1 AND visible_at <= ?2 AND kind = 1 AND parent IS NOT NULL LIMIT 1";
inline constexpr const char* kRowsWithMessagesOf = "SELECT DISTINCT key FROM messages WHERE parent = ?1 ORDER BY key";
inline constexpr const char* kConsumeMessage = "DELETE FROM messages WHERE id = ?1 AND key = ?2";
inline constexpr const char* kIsStart = "SELECT 1 FROM messages WHERE id = ?1 AND key = ?2 AND kind IN (1, 2)";
inline constexpr const char* kDropQueueMessages =
    "DELETE FROM messages WHERE id IN (SELECT id FROM messages"
    " WHERE key = ?1 AND kind = 7 AND visible_at <= ?2 ORDER BY visible_at, id LIMIT ?3)";
inline constexpr const char* kDropButQueueMessages =
    "DELETE FROM messages WHERE id IN (SELECT id FROM messages"
    " WHERE key = ?1 AND kind <> 7 ORDER BY visible_at DESC, id DESC LIMIT ?2)";
inline constexpr const char* kDropMessages = "DELETE FROM messages WHERE key = ?1";

// ---- Commits ----

inline constexpr const char* kInsertHistory =
    "INSERT INTO history(key, execution, first_event, events, body_bytes, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
inline constexpr const char* kInsertExecution =
    "INSERT INTO executions(key, execution, status, pin, carry_forward, started_at) VALUES(?1, ?2, 0, ?3, ?4, ?5)";
inline constexpr const char* kStartExecution =
    "UPDATE executions SET pin = coalesce(?3, pin), carry_forward = ?4 WHERE key = ?1 AND execution = ?2";
inline constexpr const char* kEndExecution =
    "UPDATE executions SET status = ?3, output = ?4, completed_at = ?5 WHERE key = ?1 AND execution = ?2";
inline constexpr const char* kChangeCustomStatus =
    "INSERT INTO custom_statuses(key, value, version) VALUES(?1, ?2, 1)"
    " ON CONFLICT(key) DO UPDATE SET value = excluded.value, version = version + 1";
inline constexpr const char* kChangeKeyValue =
    "INSERT INTO key_value_changes(key, name, value, updated_at) VALUES(?1, ?2, ?3, ?4)"
    " ON CONFLICT(key, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at";
inline constexpr const char* kClearKeyValueChanges = "UPDATE key_value_changes SET value = NULL WHERE key = ?1";
inline constexpr const char* kClearKeyValues =
    "INSERT INTO key_value_changes(key, name, value, updated_at)"
    " SELECT key, name, NULL, ?2 FROM key_values WHERE key = ?1"
    " ON CONFLICT(key, name) DO UPDATE SET value = NULL";
inline constexpr const char* kMergeClearedKeyValues =
    "DELETE FROM key_values WHERE key = ?1 AND name IN"
    " (SELECT name FROM key_value_changes WHERE key = ?1 AND value IS NULL)";
inline constexpr const char* kMergeKeyValues =
    "INSERT OR REPLACE INTO key_values(key, name, value, updated_at)"
    " SELECT key, name, value, updated_at FROM key_value_changes WHERE key = ?1 AND value IS NOT NULL";
inline constexpr const char* kDropKeyValueChanges = "DELETE FROM key_value_changes WHERE key = ?1";
inline constexpr const char* kReadHistory =
    "SELECT first_event, events, data FROM history WHERE key = ?1 AND execution = ?2 ORDER BY first_event";
inline constexpr const char* kReadHistoryAfter =
    "SELECT first_event, events, data FROM history WHERE key = ?1 AND execution = ?2 AND first_event >="
    " (SELECT coalesce(max(first_event), 0) FROM history WHERE key = ?1 AND execution = ?2 AND first_event <= ?3)"
    " ORDER BY first_event";
inline constexpr const char* kReadKeyValueSnapshot =
    "SELECT name, value, updated_at FROM key_values WHERE key = ?1 ORDER BY name";

// ---- The worker queue ----

inline constexpr const char* kInsertActivity =
    "INSERT INTO activities(key, execution, activity_id, name, tag, session, ready_at, scheduled_at, expires_at,"
    " start_to_close, schedule_to_start, heartbeat, body, token, process, attempts)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
inline constexpr const char* kHasActivity =
    "SELECT 1 FROM activities WHERE key = ?1 AND execution = ?2 AND activity_id = ?3";
inline constexpr const char* kFindClaimed =
    "SELECT id, ready_at FROM activities WHERE key = ?1 AND execution = ?2 AND activity_id = ?3 AND token = ?4"
    " AND attempts = 1 AND ready_at > ?5";
inline constexpr const char* kHasActivities = "SELECT 1 FROM activities WHERE key = ?1 LIMIT 1";
inline constexpr const char* kCancelActivity =
    "DELETE FROM activities WHERE key = ?1 AND execution = ?2 AND activity_id = ?3";
inline constexpr const char* kReadyActivities =
    "SELECT id, ready_at, attempts, name, session, expires_at FROM activities WHERE tag IS ?1 AND ready_at >= ?2"
    " AND ready_at <= ?3 AND (ready_at > ?2 OR id > ?4) ORDER BY ready_at, id LIMIT ?5";
inline constexpr const char* kExpiredActivities =
    "SELECT id, ready_at, attempts, name, session, expires_at FROM activities WHERE expires_at <= ?1"
    " AND ready_at <= ?1 ORDER BY ready_at, id LIMIT ?2";
inline constexpr const char* kNextTag = "SELECT min(tag) FROM activities WHERE tag > ?1";
inline constexpr const char* kFirstTag = "SELECT min(tag) FROM activities WHERE tag IS NOT NULL";
inline constexpr const char* kNextReadyActivity =
    "SELECT min(ready_at) FROM activities WHERE tag IS ?1 AND ready_at > ?2";
inline constexpr const char* kNextExpiry = "SELECT min(expires_at) FROM activities WHERE expires_at > ?1";
// Expired ones that somebody has fetched to fail them, or that are to be tried later.
inline constexpr const char* kNextReadyExpired =
    "SELECT min(ready_at) FROM activities WHERE expires_at <= ?1 AND ready_at > ?1";
inline constexpr const char* kLockActivity =
    "UPDATE activities SET token = ?2, process = ?3, taken_over = coalesce(token, taken_over),"
    " attempts = attempts + 1, ready_at = ?4,"
    " expires_at = CASE WHEN ?5 THEN expires_at END WHERE id = ?1";
// Not RETURNING of the statement above: that copies every row through a table of its own.
inline constexpr const char* kReadActivity =
    "SELECT i.id, a.execution, activity_id, a.name, tag, session, a.attempts, scheduled_at, start_to_close,"
    " schedule_to_start, heartbeat, details, body FROM activities a JOIN instances i ON i.key = a.key WHERE a.id = ?1";
inline constexpr const char* kLoadActivity =
    "SELECT key, execution, activity_id, attempts, ready_at, token, session FROM activities WHERE id = ?1";
inline constexpr const char* kDeleteActivity = "DELETE FROM activities WHERE id = ?1";
inline constexpr const char* kUnlockActivity =
    "UPDATE activities SET token = NULL, process = NULL, attempts = ?2, ready_at = ?3,"
    " expires_at = CASE WHEN ?2 > 0 THEN expires_at ELSE scheduled_at + schedule_to_start END WHERE id = ?1";
inline constexpr const char* kTakeFetchBack =
    "UPDATE activities SET taken_over = NULL, attempts = max(attempts - 1, 0) WHERE id = ?1 AND taken_over = ?2";
// Its code has begun, and an abandon may take all attempts back: from now on it never expires.
inline constexpr const char* kForgetStartTimeout =
    "UPDATE activities SET expires_at = NULL, schedule_to_start = NULL WHERE id = ?1 AND schedule_to_start IS NOT NULL";
inline constexpr const char* kRenewActivity = "UPDATE activities SET ready_at = ?2 WHERE id = ?1";
inline constexpr const char* kStoreDetails = "UPDATE activities SET details = ?2 WHERE id = ?1";

// ---- Sessions ----

inline constexpr const char* kLoadSession = "SELECT owner, locked_until FROM sessions WHERE session = ?1";
inline constexpr const char* kClaimSession =
    "INSERT INTO sessions(session, owner, locked_until, last_use, process) VALUES(?1, ?2, ?3, ?4, ?5)"
    " ON CONFLICT(session) DO UPDATE SET owner = excluded.owner, locked_until = excluded.locked_until,"
    " last_use = excluded.last_use, process = excluded.process";
inline constexpr const char* kHeldSessions =
    "SELECT count(*), min(locked_until) FROM sessions WHERE owner = ?1 AND locked_until > ?2";
inline constexpr const char* kRenewSessions =
    "UPDATE sessions SET locked_until = ?3 WHERE owner = ?1 AND locked_until > ?2 AND last_use > ?4";
inline constexpr const char* kReleaseIdleSessions =
    "UPDATE sessions SET locked_until = ?2 WHERE owner = ?1 AND locked_until > ?2 AND last_use <= ?3";
inline constexpr const char* kHasLongerSession =
    "SELECT 1 FROM sessions WHERE owner = ?1 AND locked_until > ?2 AND last_use > ?3 LIMIT 1";
inline constexpr const char* kUseSession = "UPDATE sessions SET last_use = ?2 WHERE session = ?1 AND locked_until > ?2";

// ---- What clients read ----

inline constexpr const char* kReadCustomStatus = "SELECT value, version FROM custom_statuses WHERE key = ?1";
inline constexpr const char* kReadExecution =
    "SELECT status, output, pin, started_at, completed_at, carry_forward FROM executions WHERE key = ?1 AND execution "
    "= ?2";
inline constexpr const char* kReadChangedKeyValue = "SELECT value FROM key_value_changes WHERE key = ?1 AND name = ?2";
inline constexpr const char* kReadKeptKeyValue = "SELECT value FROM key_values WHERE key = ?1 AND name = ?2";

// ---- Pruning ----

// The newest ?4 executions are kept. The current one, ?2, is always kept.
inline constexpr const char* kOldExecutions =
    "SELECT execution FROM executions WHERE key = ?1 AND execution <> ?2 AND status <> 0"
    " AND (?3 IS NULL OR completed_at < ?3) AND execution NOT IN"
    " (SELECT execution FROM executions WHERE key = ?1 ORDER BY execution DESC LIMIT ?4)"
    " ORDER BY execution LIMIT ?5";

// What a test checks for scans. The rest of the statements (admin, clean-up, opening) may take their time.
inline constexpr std::array kHotStatements = {kFindInstance,
                                              kLoadInstance,
                                              kInsertInstance,
                                              kStoreIdentity,
                                              kStoreSchedule,
                                              kStoreProgress,
                                              kReadyInstances,
                                              kHeldInstances,
                                              kNextReadyInstance,
                                              kNextHeldInstance,
                                              kOrphansToSweep,
                                              kInsertMessage,
                                              kFirstMessage,
                                              kFirstStart,
                                              kFirstContinuation,
                                              kFirstStartName,
                                              kFirstStartLink,
                                              kHasOldButQueueMessages,
                                              kVisibleStarts,
                                              kVisibleOthers,
                                              kVisibleEnds,
                                              kHasChildStart,
                                              kConsumeMessage,
                                              kIsStart,
                                              kDropQueueMessages,
                                              kDropButQueueMessages,
                                              kDropMessages,
                                              kInsertHistory,
                                              kInsertExecution,
                                              kStartExecution,
                                              kEndExecution,
                                              kChangeCustomStatus,
                                              kChangeKeyValue,
                                              kClearKeyValueChanges,
                                              kClearKeyValues,
                                              kMergeClearedKeyValues,
                                              kMergeKeyValues,
                                              kDropKeyValueChanges,
                                              kReadHistory,
                                              kReadHistoryAfter,
                                              kReadKeyValueSnapshot,
                                              kInsertActivity,
                                              kHasActivity,
                                              kFindClaimed,
                                              kHasActivities,
                                              kCancelActivity,
                                              kReadyActivities,
                                              kExpiredActivities,
                                              kNextTag,
                                              kFirstTag,
                                              kNextReadyActivity,
                                              kNextExpiry,
                                              kNextReadyExpired,
                                              kLockActivity,
                                              kLoadActivity,
                                              kDeleteActivity,
                                              kReadActivity,
                                              kUnlockActivity,
                                              kForgetStartTimeout,
                                              kRenewActivity,
                                              kStoreDetails,
                                              kLoadSession,
                                              kClaimSession,
                                              kHeldSessions,
                                              kRenewSessions,
                                              kReleaseIdleSessions,
                                              kHasLongerSession,
                                              kUseSession,
                                              kReadCustomStatus,
                                              kReadExecution,
                                              kReadChangedKeyValue,
                                              kReadKeptKeyValue,
                                              kDeleteInstanceRow};

}  // namespace perdure::sqlite::sql
