// What SQLite allows for the rows, indexes, fences and batches of the provider, with nothing else around it: no
// threads, no checks of input, no answers to build.
#include <cinttypes>
#include <random>
#include <stdexcept>
#include <vector>

#include <sqlite3.h>

#include "ceiling/ceiling.h"
#include "ceiling/sqlite_file.h"
#include "ceiling/sqlite_statement.h"

namespace ceiling {

namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE instances(key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, version TEXT, parent TEXT,
  status INTEGER NOT NULL DEFAULT 0, execution INTEGER NOT NULL DEFAULT 1, last_event INTEGER NOT NULL DEFAULT 0, pin TEXT,
  commit_id INTEGER NOT NULL DEFAULT 0, starts INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  token INTEGER, locked_until INTEGER, process INTEGER, holder TEXT, not_before INTEGER, ready_at INTEGER,
  held_ready_at INTEGER, sweep_at INTEGER, created_at INTEGER, updated_at INTEGER, completed_at INTEGER);
CREATE INDEX instances_ready ON instances(ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX instances_held ON instances(holder, held_ready_at) WHERE held_ready_at IS NOT NULL;
CREATE INDEX instances_sweep ON instances(sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX instances_parent ON instances(parent) WHERE parent IS NOT NULL;
CREATE TABLE history(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, execution INTEGER NOT NULL, first_event INTEGER NOT NULL,
  events INTEGER NOT NULL, body_bytes INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX history_turns ON history(key, execution, first_event);
CREATE TABLE messages(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, kind INTEGER NOT NULL, execution INTEGER, name TEXT,
  visible_at INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX messages_of ON messages(key, visible_at);
CREATE TABLE activities(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, execution INTEGER NOT NULL, activity_id INTEGER NOT NULL,
  name TEXT NOT NULL, tag TEXT, session TEXT, ready_at INTEGER NOT NULL, token INTEGER, process INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0, scheduled_at INTEGER NOT NULL, expires_at INTEGER, start_to_close INTEGER,
  schedule_to_start INTEGER, heartbeat INTEGER, details BLOB, body BLOB NOT NULL);
CREATE UNIQUE INDEX activities_identity ON activities(key, execution, activity_id);
CREATE INDEX activities_ready ON activities(tag, ready_at);
CREATE INDEX activities_expiry ON activities(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX activities_session ON activities(session) WHERE session IS NOT NULL;
)sql";

constexpr const char* kPickInstances = "SELECT key FROM instances WHERE ready_at <= ?1 ORDER BY ready_at, key LIMIT ?2";
constexpr const char* kLockInstance =
    "UPDATE instances SET token = ?2, locked_until = ?3, ready_at = ?3, process = 1, attempts = attempts + 1"
    " WHERE key = ?1 RETURNING id, name, execution, last_event";
constexpr const char* kReadMessages =
    "SELECT id, body FROM messages WHERE key = ?1 AND visible_at <= ?2 ORDER BY visible_at, id";
constexpr const char* kCommitInstance =
    "UPDATE instances SET last_event = ?4, commit_id = ?5, attempts = 0, token = NULL, locked_until = NULL, process = "
    "NULL,"
    " ready_at = NULL, updated_at = ?3 WHERE key = ?1 AND token = ?2 AND locked_until > ?3";
constexpr const char* kKeepInstance =
    "UPDATE instances SET last_event = ?4, commit_id = ?5, attempts = 0, updated_at = ?3"
    " WHERE key = ?1 AND token = ?2 AND locked_until > ?3";
constexpr const char* kDeleteMessage = "DELETE FROM messages WHERE id = ?1 AND key = ?2";
constexpr const char* kInsertHistory =
    "INSERT INTO history(key, execution, first_event, events, body_bytes, data) VALUES(?1, 1, ?2, 2, ?3, ?4)";
constexpr const char* kInsertActivity =
    "INSERT INTO activities(key, execution, activity_id, name, ready_at, scheduled_at, token, process, attempts, body)"
    " VALUES(?1, 1, ?2, 'ChargePayment', ?3, ?4, ?5, ?6, ?7, ?8)";
constexpr const char* kPickActivities =
    "SELECT id FROM activities WHERE tag IS NULL AND ready_at <= ?1 ORDER BY ready_at, id LIMIT ?2";
constexpr const char* kLockActivity =
    "UPDATE activities SET token = ?2, process = 1, attempts = attempts + 1, ready_at = ?3 WHERE id = ?1"
    " RETURNING key, activity_id, body";
constexpr const char* kFinishActivity = "DELETE FROM activities WHERE id = ?1 AND token = ?2 AND ready_at > ?3";
constexpr const char* kInsertMessage =
    "INSERT INTO messages(key, kind, execution, visible_at, body) VALUES(?1, 3, 1, ?2, ?3)";
constexpr const char* kWakeInstance = "UPDATE instances SET ready_at = ?2 WHERE key = ?1 AND token IS NULL";

struct LockedInstance {
  std::int64_t key = 0;
  std::int64_t token = 0;
  std::int64_t last_event = 0;
  std::vector<std::int64_t> messages;
};

struct LockedActivity {
  std::int64_t id = 0;
  std::int64_t token = 0;
  std::int64_t key = 0;
};

class SqliteSteps {
 public:
  explicit SqliteSteps(const Load& load) : load_(load), file_(load.path, load.synced), database_(file_.database()) {
    file_.execute("PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY");
    file_.execute(kSchema);
  }

  Reached run_plain() {
    fill();
    Statement pick_instances(database_, kPickInstances), lock_instance(database_, kLockInstance),
        read_messages(database_, kReadMessages), commit(database_, kCommitInstance), consume(database_, kDeleteMessage),
        history(database_, kInsertHistory), schedule(database_, kInsertActivity),
        pick_activities(database_, kPickActivities), lock_activity(database_, kLockActivity),
        finish(database_, kFinishActivity), complete(database_, kInsertMessage), wake(database_, kWakeInstance);
    std::size_t steps = 0;
    const Stopwatch watch;
    while (watch.seconds() < load_.seconds && !load_.stopped()) {
      std::vector<LockedInstance> instances;
      transaction(false, [&] {
        std::vector<std::int64_t> keys;
        pick_instances.bind(1, now()).bind(2, batch());
        while (pick_instances.step()) keys.push_back(pick_instances.integer(0));
        pick_instances.reset();
        for (const std::int64_t key : keys) {
          LockedInstance instance{.key = key, .token = secret(), .last_event = 0, .messages = {}};
          lock_instance.bind(1, key).bind(2, instance.token).bind(3, now() + kLease).step();
          instance.last_event = lock_instance.integer(3);
          lock_instance.run();
          read_messages.bind(1, key).bind(2, now());
          while (read_messages.step()) {
            instance.messages.push_back(read_messages.integer(0));
            bytes_read_ += read_messages.bytes(1).size();
          }
          read_messages.reset();
          instances.push_back(std::move(instance));
        }
      });
      transaction(true, [&] {
        for (const LockedInstance& instance : instances) {
          const std::int64_t last = instance.last_event + 2;
          commit.bind(1, instance.key).bind(2, instance.token).bind(3, now()).bind(4, last).bind(5, secret());
          if (commit.run() != 1) die(database_, "the lock was lost");
          for (const std::int64_t id : instance.messages) consume.bind(1, id).bind(2, instance.key).run();
          write_turn(history, schedule, instance.key, last, 0);
        }
      });
      std::vector<LockedActivity> activities;
      transaction(false, [&] {
        std::vector<std::int64_t> ids;
        pick_activities.bind(1, now()).bind(2, batch());
        while (pick_activities.step()) ids.push_back(pick_activities.integer(0));
        pick_activities.reset();
        for (const std::int64_t id : ids) {
          LockedActivity activity{.id = id, .token = secret(), .key = 0};
          lock_activity.bind(1, id).bind(2, activity.token).bind(3, now() + kLease).step();
          activity.key = lock_activity.integer(0);
          bytes_read_ += lock_activity.bytes(2).size();
          lock_activity.run();
          activities.push_back(activity);
        }
      });
      transaction(true, [&] {
        for (const LockedActivity& activity : activities) {
          if (finish.bind(1, activity.id).bind(2, activity.token).bind(3, now()).run() != 1) die(database_, "lost");
          complete.bind(1, activity.key).bind(2, now()).bind(3, message_).run();
          wake.bind(1, activity.key).bind(2, now()).run();
        }
      });
      steps += activities.size();
    }
    return reached(steps, watch);
  }

  Reached run_fused() {
    fill();
    Statement lock_instance(database_, kLockInstance), keep(database_, kKeepInstance),
        history(database_, kInsertHistory), schedule(database_, kInsertActivity), finish(database_, kFinishActivity);
    struct Held {
      LockedInstance instance;
      LockedActivity activity;
    };
    std::vector<Held> held(load_.instances);
    file_.execute("DELETE FROM messages");
    transaction(true, [&] {
      for (std::size_t i = 0; i < held.size(); ++i) {
        held[i].instance = {
            .key = static_cast<std::int64_t>(i + 1), .token = secret(), .last_event = 0, .messages = {}};
        lock_instance.bind(1, held[i].instance.key).bind(2, held[i].instance.token).bind(3, now() + kLease).run();
        held[i].activity = {.id = 0, .token = secret(), .key = held[i].instance.key};
        held[i].activity.id = write_turn(history, schedule, held[i].instance.key, 2, held[i].activity.token);
        held[i].instance.last_event = 2;
      }
    });
    file_.execute("UPDATE instances SET ready_at = NULL, holder = 'bench'");
    std::size_t steps = 0;
    std::size_t next = 0;
    const Stopwatch watch;
    while (watch.seconds() < load_.seconds && !load_.stopped()) {
      transaction(true, [&] {
        for (std::size_t i = 0; i < load_.batch; ++i) {
          Held& step = held[next++ % held.size()];
          const std::int64_t last = step.instance.last_event += 2;
          keep.bind(1, step.instance.key).bind(2, step.instance.token).bind(3, now()).bind(4, last).bind(5, secret());
          if (keep.run() != 1) die(database_, "the lock was lost");
          if (finish.bind(1, step.activity.id).bind(2, step.activity.token).bind(3, now()).run() != 1) {
            die(database_, "the activity was lost");
          }
          step.activity.token = secret();
          step.activity.id = write_turn(history, schedule, step.instance.key, last, step.activity.token);
        }
      });
      steps += load_.batch;
    }
    return reached(steps, watch);
  }

 private:
  static constexpr std::int64_t kLease = 600'000;

  [[nodiscard]] static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] static Reached reached(std::size_t steps, const Stopwatch& watch) {
    Reached reached;
    reached.steps = steps;
    reached.seconds = watch.seconds();
    reached.cpu_seconds = watch.cpu_seconds();
    return reached;
  }
  [[nodiscard]] std::int64_t secret() { return static_cast<std::int64_t>(random_() >> 1); }
  [[nodiscard]] std::int64_t batch() const { return static_cast<std::int64_t>(load_.batch); }

  // Two events and the activity that the second one schedules; locked if there is a token. Answers the activity's
  // rowid.
  std::int64_t write_turn(Statement& history, Statement& schedule, std::int64_t key, std::int64_t last,
                          std::int64_t token) {
    history.bind(1, key)
        .bind(2, last - 1)
        .bind(3, static_cast<std::int64_t>(load_.events_bytes))
        .bind(4, events_)
        .run();
    const std::int64_t time = now();
    schedule.bind(1, key).bind(2, last).bind(3, token == 0 ? time : time + kLease).bind(4, time);
    if (token != 0) {
      schedule.bind(5, token).bind(6, 1).bind(7, 1);
    } else {
      schedule.bind(7, 0);
    }
    schedule.bind(8, message_).run();
    return sqlite3_last_insert_rowid(database_);
  }

  template <class Body>
  void transaction(bool durable, const Body& body) {
    file_.set_synced(durable && load_.synced);
    file_.execute("BEGIN IMMEDIATE");
    body();
    file_.execute("COMMIT");
  }

  // Instances that each have one message, in random order.
  void fill() {
    Statement instance(database_,
                       "INSERT INTO instances(key, id, name, version, pin, created_at, updated_at, ready_at)"
                       " VALUES(?1, 'order-' || ?1 || '-a8f3c1d2', 'ProcessOrder', '1.0.0', '0.1.0', ?2, ?2, ?2)");
    Statement message(database_, kInsertMessage);
    transaction(true, [&] {
      for (std::size_t i = 1; i <= load_.instances; ++i) {
        instance.bind(1, static_cast<std::int64_t>(i)).bind(2, now()).run();
        message.bind(1, static_cast<std::int64_t>(i)).bind(2, now()).bind(3, message_).run();
      }
    });
  }

  const Load& load_;
  SqliteFile file_;
  sqlite3* database_;
  std::mt19937_64 random_{42};
  std::string events_ = std::string(load_.events_bytes, 'e');
  std::string message_ = std::string(load_.message_bytes, 'm');
  std::size_t bytes_read_ = 0;
};

}  // namespace

Reached run_sqlite(const Load& load) {
  SqliteSteps steps(load);
  return load.shape == "plain" ? steps.run_plain() : steps.run_fused();
}

std::vector<std::string> sqlite_sql() {
  return {kSchema,       kPickInstances,  kLockInstance,  kReadMessages,   kCommitInstance,
          kKeepInstance, kDeleteMessage,  kInsertHistory, kInsertActivity, kPickActivities,
          kLockActivity, kFinishActivity, kInsertMessage, kWakeInstance};
}

}  // namespace ceiling
