#include "providers/sqlite/schema.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <sqlite3.h>

namespace perdure::sqlite {

namespace {

constexpr const char* kVersion1 = R"sql(
-- One row for every instance id that was ever addressed. It is an instance once created_at is set; until then it only
-- keeps what its messages need. ready_at is the whole scheduling: when somebody should fetch it.
CREATE TABLE instances(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT,                            -- orchestration; before the first commit that of a queued start
  version TEXT,
  parent TEXT,                          -- instance id
  parent_link TEXT,                     -- the rest of the link to the parent
  status INTEGER NOT NULL DEFAULT 0,    -- ExecutionStatus of the current execution
  execution INTEGER NOT NULL DEFAULT 1,
  last_event INTEGER NOT NULL DEFAULT 0,
  pin TEXT,                             -- engine version of the current execution
  commit_id INTEGER NOT NULL DEFAULT 0, -- of the last commit
  queued INTEGER NOT NULL DEFAULT 0,    -- messages
  starts INTEGER NOT NULL DEFAULT 0,    -- of them those that begin an execution
  attempts INTEGER NOT NULL DEFAULT 0,  -- fetches since the last commit
  token INTEGER,                        -- of the lock; kept after it expired, for a late abandon
  locked_until INTEGER,
  process INTEGER,                      -- that locked it
  holder TEXT,                          -- owner that kept the lock with a commit
  not_before INTEGER,                   -- end of a backoff; 0: a cancel or terminate arrived during the lock
  ready_at INTEGER,                     -- for everybody; NULL: nothing to do
  held_ready_at INTEGER,                -- for the holder
  sweep_at INTEGER,                     -- when to drop what an orphan has collected
  created_at INTEGER,
  incarnation INTEGER NOT NULL DEFAULT 0, -- id of the commit that created it
  updated_at INTEGER,
  completed_at INTEGER);
CREATE INDEX instances_ready ON instances(ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX instances_held ON instances(holder, held_ready_at) WHERE held_ready_at IS NOT NULL;
CREATE INDEX instances_sweep ON instances(sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX instances_parent ON instances(parent) WHERE parent IS NOT NULL;

CREATE TABLE executions(
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  status INTEGER NOT NULL,
  output BLOB,
  pin TEXT,
  carry_forward INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  PRIMARY KEY(key, execution)) WITHOUT ROWID;

-- One row for each commit that has events, all of them packed into it.
CREATE TABLE history(
  id INTEGER PRIMARY KEY,
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  first_event INTEGER NOT NULL,
  events INTEGER NOT NULL,              -- how many
  body_bytes INTEGER NOT NULL,
  data BLOB NOT NULL);
CREATE UNIQUE INDEX history_turns ON history(key, execution, first_event);

-- The orchestrator queue.
CREATE TABLE messages(
  -- Never used again: a deletion may withdraw a message of an instance whose turn is about to consume it by its id.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  execution INTEGER,
  name TEXT,
  visible_at INTEGER NOT NULL,
  parent TEXT,                          -- of starts of children, and of their parent's cancels
  parent_link TEXT,
  body BLOB NOT NULL);
CREATE INDEX messages_of ON messages(key, visible_at);
CREATE INDEX messages_ends ON messages(key, visible_at) WHERE kind IN (10, 11);  -- cancels and terminates
CREATE INDEX messages_parent ON messages(parent) WHERE parent IS NOT NULL;

-- The worker queue.
CREATE TABLE activities(
  id INTEGER PRIMARY KEY,
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  activity_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  tag TEXT,
  session TEXT,
  ready_at INTEGER NOT NULL,            -- visible_at; locked: when the lock ends
  token INTEGER,
  process INTEGER,
  taken_over INTEGER,                   -- token of the last lock that a fetch took over and whose fetch still counts
  attempts INTEGER NOT NULL DEFAULT 0,
  scheduled_at INTEGER NOT NULL,
  expires_at INTEGER,                   -- schedule-to-start; NULL once it was handed out to be run
  start_to_close INTEGER,
  schedule_to_start INTEGER,
  heartbeat INTEGER,
  details BLOB,
  body BLOB NOT NULL);
CREATE UNIQUE INDEX activities_identity ON activities(key, execution, activity_id);
CREATE INDEX activities_ready ON activities(tag, ready_at);
CREATE INDEX activities_expiry ON activities(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX activities_session ON activities(session) WHERE session IS NOT NULL;

CREATE TABLE sessions(
  session TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  locked_until INTEGER NOT NULL,
  last_use INTEGER NOT NULL,
  process INTEGER) WITHOUT ROWID;
CREATE INDEX sessions_held ON sessions(owner, locked_until);

-- What past executions left, and what the current one did (NULL: cleared).
CREATE TABLE key_values(
  key INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY(key, name)) WITHOUT ROWID;
CREATE TABLE key_value_changes(
  key INTEGER NOT NULL, name TEXT NOT NULL, value BLOB, updated_at INTEGER NOT NULL,
  PRIMARY KEY(key, name)) WITHOUT ROWID;

CREATE TABLE custom_statuses(key INTEGER PRIMARY KEY, value BLOB, version INTEGER NOT NULL);

CREATE TABLE nodes(
  id TEXT PRIMARY KEY,
  engine_version TEXT NOT NULL,
  any_tag INTEGER NOT NULL,             -- 1: takes activities whatever their tag
  untagged INTEGER NOT NULL,            -- 1: takes activities without a tag
  registered_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE node_capabilities(
  node TEXT NOT NULL, list TEXT NOT NULL, position INTEGER NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(node, list, position)) WITHOUT ROWID;

-- Open stores. Each holds a lock on the byte of its number in the file beside this one.
CREATE TABLE processes(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, opened_at INTEGER NOT NULL);

-- One row: a store time, and at that moment the time of the source and that of the steady clock, with what the steady
-- clock counts from.
CREATE TABLE store_clock(
  id INTEGER PRIMARY KEY CHECK(id = 0),
  store_time INTEGER NOT NULL, source_time INTEGER NOT NULL,
  steady_time INTEGER NOT NULL, steady_origin TEXT NOT NULL);
)sql";

constexpr std::array<const char*, 1> kMigrations = {kVersion1};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ProviderFailure({ProviderErrorKind::kIncompatibleStore, path + ": " + why + "; the file was not changed"});
}

struct Header {
  std::int64_t application_id = 0;
  std::int64_t version = 0;
  std::int64_t tables = 0;
};

Header read_header(Connection& connection) {
  return {.application_id = connection.integer("PRAGMA application_id"),
          .version = connection.integer("PRAGMA user_version"),
          .tables = connection.integer("SELECT count(*) FROM sqlite_schema")};
}

void check_header(const Header& header, const std::string& path, Migrations steps) {
  const bool is_new = header.application_id == 0 && header.version == 0 && header.tables == 0;
  if (is_new) return;
  if (header.application_id != kApplicationId) {
    refuse(path, "this is an SQLite database, but not a Perdure store; name another file");
  }
  if (header.version > static_cast<std::int64_t>(steps.size())) {
    refuse(path, "the store has format " + std::to_string(header.version) +
                     ", but this version of Perdure supports at most " + std::to_string(steps.size()) +
                     "; use the newer version that wrote it");
  }
}

// A store keeps a rollback journal only while its file is made; what a crash leaves of that is undone to nothing. The
// journal says how many pages the file had before, in the four bytes from the 17th on.
bool journal_begins_with_nothing(const std::string& path) {
  std::ifstream file(path + "-journal", std::ios::binary);
  std::array<char, 20> header{};
  if (!file.read(header.data(), header.size())) return false;
  return std::all_of(header.begin() + 16, header.end(), [](char byte) { return byte == 0; });
}

}  // namespace

Migrations migrations() {
  return kMigrations;
}

void refuse_strange_file(const std::string& path) {
  const auto refuse_to_open = [&](const std::string& why) {
    throw ProviderFailure({ProviderErrorKind::kUnavailable, path + ": " + why});
  };
  if (path.ends_with('/')) refuse_to_open("a store is a file, but this names a directory");
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(found)) return;  // made new; a path that cannot be used shows when it is opened
  if (!std::filesystem::is_regular_file(found)) refuse_to_open("this is not a regular file; name another path");
  const std::uintmax_t names = std::filesystem::hard_link_count(path, error);
  if (error || names <= 1) return;
  refuse_to_open(
      "the file has " + std::to_string(names) +
      " names (hard links), and a store under two names is damaged; remove the other names, or copy the file");
}

void refuse_foreign_file(const std::string& path, Milliseconds busy_timeout, const std::string& vfs, Migrations steps) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size == 0) return;  // made new; a path that cannot be used shows when it is opened
  constexpr const char* kNoDatabase = "this is not an SQLite database; name another file";
  if (size == 1) refuse(path, kNoDatabase);  // SQLite would take it for an empty one
  try {
    Connection connection(path, Connection::Mode::kReadOnly, busy_timeout, vfs);
    check_header(read_header(connection), path, steps);
  } catch (const SqliteError& failure) {
    const int code = failure.code() & 0xFF;
    if (code == SQLITE_NOTADB) refuse(path, kNoDatabase);
    if (code == SQLITE_CORRUPT) refuse(path, "the database is corrupt (" + std::string(failure.what()) + ")");
    if (failure.code() == SQLITE_READONLY_ROLLBACK) {
      if (journal_begins_with_nothing(path)) return;
      refuse(path, "another program has left an unfinished change in this database; name another file");
    }
    throw ProviderFailure(as_provider_error(failure));
  }
}

void check_readable(Connection& connection, const std::string& path, Migrations steps) {
  const Header header = read_header(connection);
  check_header(header, path, steps);
  if (header.version == static_cast<std::int64_t>(steps.size())) return;
  refuse(path, header.version == 0 ? "the file is empty; open it for writing to create a store"
                                   : "the store has an older format; open it for writing to convert it");
}

void migrate(Connection& connection, const std::string& path, Migrations steps) {
  for (;;) {
    connection.execute("BEGIN IMMEDIATE");
    try {
      const Header header = read_header(connection);
      check_header(header, path, steps);
      const auto version = static_cast<std::size_t>(header.version);
      if (version == steps.size()) {
        connection.execute("COMMIT");
        return;
      }
      connection.execute(steps[version]);
      connection.execute(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str());
      connection.execute(("PRAGMA user_version=" + std::to_string(version + 1)).c_str());
      connection.execute("COMMIT");
    } catch (...) {
      if (connection.in_transaction()) connection.execute("ROLLBACK");
      throw;
    }
  }
}

}  // namespace perdure::sqlite
