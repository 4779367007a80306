// What PostgreSQL allows for the rows, indexes, fences and batches of the provider, with nothing else around it: no
// checks of input, no answers to build. Every operation is one round trip and one transaction, lists are arguments.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "ceiling/ceiling.h"
#include "ceiling/crew.h"
#include "ceiling/postgres_schema.h"
#include "postgres/server_cpu.h"

namespace ceiling {

namespace {

using bench::Answer;
using bench::Session;
using bench::Values;

constexpr const char* kTables = R"sql(
CREATE TABLE instances(
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, name text COLLATE "C",
  version text COLLATE "C", parent text COLLATE "C", status smallint NOT NULL DEFAULT 0,
  execution bigint NOT NULL DEFAULT 1, last_event bigint NOT NULL DEFAULT 0, pin text COLLATE "C",
  commit_id bigint NOT NULL DEFAULT 0, attempts bigint NOT NULL DEFAULT 0, token bigint, locked_until bigint,
  holder text COLLATE "C", not_before bigint, ready_at bigint, held_ready_at bigint, sweep_at bigint, created_at bigint,
  incarnation bigint NOT NULL DEFAULT 0, updated_at bigint, completed_at bigint
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX instances_ready ON instances(ready_at, key) WHERE ready_at IS NOT NULL;
CREATE INDEX instances_held ON instances(holder, held_ready_at, key) WHERE held_ready_at IS NOT NULL;
CREATE INDEX instances_sweep ON instances(sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX instances_parent ON instances(parent) WHERE parent IS NOT NULL;
CREATE TABLE history(
  key bigint NOT NULL, execution bigint NOT NULL, first_event bigint NOT NULL, events bigint NOT NULL,
  body_bytes bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY(key, execution, first_event));
CREATE TABLE messages(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bigint NOT NULL, kind smallint NOT NULL, execution bigint,
  name text COLLATE "C" NOT NULL, visible_at bigint NOT NULL, body bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX messages_of ON messages(key, visible_at, id);
CREATE INDEX messages_starts ON messages(key, visible_at, id) WHERE kind IN (1, 2);
CREATE TABLE activities(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bigint NOT NULL, execution bigint NOT NULL,
  activity_id bigint NOT NULL, name text COLLATE "C" NOT NULL, lane text COLLATE "C" NOT NULL, session text COLLATE "C",
  ready_at bigint NOT NULL, token bigint, attempts bigint NOT NULL DEFAULT 0, scheduled_at bigint NOT NULL,
  expires_at bigint, start_to_close bigint, schedule_to_start bigint, heartbeat bigint, details bytea,
  body bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX activities_identity ON activities(key, execution, activity_id);
CREATE INDEX activities_ready ON activities(lane, ready_at, id);
CREATE INDEX activities_expiry ON activities(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX activities_session ON activities(session) WHERE session IS NOT NULL;
)sql";

constexpr const char* kSettings =
    "SET plan_cache_mode TO force_generic_plan; SET jit TO off; SET enable_seqscan TO off; SET enable_hashjoin TO off; "
    "SET enable_mergejoin TO off;"
    " SET enable_bitmapscan TO off";

constexpr const char* kFill =
    "WITH made AS (INSERT INTO instances(id, name, version, pin, created_at, updated_at, ready_at)"
    " SELECT 'order-' || n || '-a8f3c1d2', 'ProcessOrder', '1.0.0', '0.1.0', $1::bigint, $1, $1"
    " FROM generate_series(1, $2::bigint) n RETURNING key)"
    " INSERT INTO messages(key, kind, execution, name, visible_at, body)"
    " SELECT key, 3, 1, '', $1, b.body FROM made CROSS JOIN unnest($3::bytea[]) b(body)";

struct Statement {
  const char* name;
  const char* sql;
};

// What is locked is found by when its lock ends, in a statement of its own: only that one sees the messages as they are
// once the lock is there.
constexpr Statement kLockInstances{
    "lock instances",
    "UPDATE instances i SET token = $3::bigint, locked_until = $4::bigint, ready_at = $4, attempts = i.attempts + 1"
    " WHERE i.key = ANY(ARRAY(SELECT p.key FROM instances p WHERE p.ready_at <= $1::bigint"
    "  ORDER BY p.ready_at, p.key LIMIT $2::bigint FOR UPDATE SKIP LOCKED))"
    " RETURNING i.key, i.last_event, i.id, i.name, i.execution, i.attempts"};
constexpr Statement kReadMessages{
    "read messages",
    "SELECT i.key, m.id, m.kind, m.execution, m.name, m.visible_at, m.body FROM instances i CROSS JOIN LATERAL ("
    "  SELECT * FROM messages m WHERE m.key = i.key AND m.visible_at <= $1::bigint ORDER BY m.visible_at, m.id) m"
    " WHERE i.ready_at = $2::bigint AND i.token = $3::bigint"};
// A fence that does not hold divides by zero, and nothing of the transaction is left.
constexpr Statement kCommitInstances{
    "commit instances",
    "WITH fenced AS (UPDATE instances i SET last_event = t.last_event, commit_id = t.commit_id, attempts = 0,"
    "  token = NULL, locked_until = NULL, ready_at = NULL, updated_at = $1::bigint"
    "  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) t(key, secret, last_event, commit_id)"
    "  WHERE i.key = t.key AND i.token = t.secret AND i.locked_until > $1 RETURNING 1)"
    " SELECT 1 / (count(*) = cardinality($2))::int FROM fenced"};
constexpr Statement kKeepInstances{
    "keep instances",
    "WITH fenced AS (UPDATE instances i SET last_event = t.last_event, commit_id = t.commit_id, attempts = 0,"
    "  updated_at = $1::bigint"
    "  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) t(key, secret, last_event, commit_id)"
    "  WHERE i.key = t.key AND i.token = t.secret AND i.locked_until > $1 RETURNING 1)"
    " SELECT 1 / (count(*) = cardinality($2))::int FROM fenced"};
constexpr Statement kConsumeMessages{
    "consume messages",
    "DELETE FROM messages m USING unnest($1::bigint[], $2::bigint[]) c(id, key) WHERE m.id = c.id AND m.key = c.key"};
constexpr Statement kInsertHistory{"insert history",
                                   "INSERT INTO history(key, execution, first_event, events, body_bytes, data)"
                                   " SELECT t.key, 1, t.last_event - 1, 2, $3::bigint, t.data"
                                   " FROM unnest($1::bigint[], $2::bigint[], $4::bytea[]) t(key, last_event, data)"};
constexpr Statement kScheduleActivities{
    "schedule activities",
    "INSERT INTO activities(key, execution, activity_id, name, lane, ready_at, scheduled_at, body)"
    " SELECT t.key, 1, t.activity_id, 'ChargePayment', '', $1::bigint, $1, t.body"
    " FROM unnest($2::bigint[], $3::bigint[], $4::bytea[]) t(key, activity_id, body)"};
constexpr Statement kClaimActivities{
    "claim activities",
    "INSERT INTO activities(key, execution, activity_id, name, lane, ready_at, scheduled_at, body, token, attempts)"
    " SELECT t.key, 1, t.activity_id, 'ChargePayment', '', $5::bigint, $1::bigint, t.body, t.secret, 1"
    " FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $6::bigint[]) t(key, activity_id, body, secret)"
    " RETURNING id"};
constexpr Statement kLockActivities{
    "lock activities",
    "UPDATE activities a SET token = $3::bigint, ready_at = $4::bigint, attempts = a.attempts + 1"
    " WHERE a.id = ANY(ARRAY(SELECT p.id FROM activities p WHERE p.lane = '' AND p.ready_at <= $1::bigint"
    "  ORDER BY p.ready_at, p.id LIMIT $2::bigint FOR UPDATE SKIP LOCKED))"
    " RETURNING a.id, a.key, a.activity_id, a.execution, a.name, a.attempts, a.body"};
constexpr Statement kFinishActivities{
    "finish activities",
    "WITH fenced AS (DELETE FROM activities a USING unnest($2::bigint[], $3::bigint[]) t(id, secret)"
    "  WHERE a.id = t.id AND a.token = t.secret AND a.ready_at > $1::bigint RETURNING 1)"
    " SELECT 1 / (count(*) = cardinality($2))::int FROM fenced"};
constexpr Statement kInsertMessages{
    "insert messages",
    "INSERT INTO messages(key, kind, execution, name, visible_at, body)"
    " SELECT t.key, 3, 1, '', $1::bigint, t.body FROM unnest($2::bigint[], $3::bytea[]) t(key, body)"};
constexpr Statement kWakeInstances{
    "wake instances",
    "UPDATE instances i SET ready_at = $1::bigint WHERE i.key = ANY($2::bigint[]) AND i.token IS NULL"};

constexpr Statement kStatements[] = {kLockInstances,   kReadMessages,     kCommitInstances,    kKeepInstances,
                                     kConsumeMessages, kInsertHistory,    kScheduleActivities, kClaimActivities,
                                     kLockActivities,  kFinishActivities, kInsertMessages,     kWakeInstances};

constexpr std::int64_t kLease = 600'000;

[[nodiscard]] std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What one connection does.
class Worker {
 public:
  Worker(const Load& load, const PostgresSchema& schema, std::size_t number)
      : batch_(load.batch),
        session_(load.path),
        events_bytes_(static_cast<std::int64_t>(load.events_bytes)),
        events_(load.events_bytes, 'e'),
        message_(load.message_bytes, 'm') {
    schema.enter(session_);
    session_.execute(kSettings);
    for (const Statement& statement : kStatements) session_.prepare(statement.name, statement.sql);
    random_.seed(number + 42);
  }

  [[nodiscard]] std::uint64_t round_trips() const { return session_.round_trips(); }

  std::size_t plain_step() {
    if (fetch_instances() > 0) commit_instances();
    if (fetch_activities() == 0) return 0;
    const std::int64_t time = now();
    session_.run({{kFinishActivities.name, Values().add(time).add(activities_).add(activity_secrets_)},
                  {kInsertMessages.name, Values().add(time).add(keys_).repeat(message_, keys_.size())},
                  {kWakeInstances.name, Values().add(time).add(keys_)}});
    return activities_.size();
  }

  // These instances are this connection's.
  void hold(std::int64_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) held_.push_back({.key = first + static_cast<std::int64_t>(i)});
    session_.execute("UPDATE instances SET token = 7, holder = 'bench', ready_at = NULL, locked_until = " +
                     std::to_string(now() + kLease) + " WHERE key BETWEEN " + std::to_string(first) + " AND " +
                     std::to_string(first + static_cast<std::int64_t>(count) - 1));
    for (std::size_t begin = 0; begin < count; begin += batch_) {
      commit_held(std::span(held_).subspan(begin, std::min(batch_, count - begin)), false);
    }
  }
  std::size_t fused_step() {
    if (next_ + batch_ > held_.size()) next_ = 0;
    commit_held(std::span(held_).subspan(next_, batch_), true);
    next_ += batch_;
    return batch_;
  }

 private:
  struct Held {
    std::int64_t key = 0;
    std::int64_t last_event = 0;
    std::int64_t activity = 0;
    std::int64_t activity_secret = 0;
  };

  [[nodiscard]] std::int64_t secret() { return static_cast<std::int64_t>(random_() >> 1U); }
  [[nodiscard]] std::vector<std::int64_t> secrets(std::size_t count) {
    std::vector<std::int64_t> list(count);
    for (std::int64_t& value : list) value = secret();
    return list;
  }

  std::size_t fetch_instances() {
    const std::int64_t time = now();
    const std::int64_t locked_until = time + kLease;
    const std::int64_t token = secret();
    const std::vector<Answer> answers = session_.run(
        {{kLockInstances.name, Values().add(time).add(static_cast<std::int64_t>(batch_)).add(token).add(locked_until)},
         {kReadMessages.name, Values().add(time).add(locked_until).add(token)}});
    keys_.clear();
    last_events_.clear();
    messages_.clear();
    message_keys_.clear();
    for (int row = 0; row < answers[0].rows(); ++row) {
      keys_.push_back(answers[0].integer(row, 0));
      last_events_.push_back(answers[0].integer(row, 1) + 2);
    }
    for (int row = 0; row < answers[1].rows(); ++row) {
      message_keys_.push_back(answers[1].integer(row, 0));
      messages_.push_back(answers[1].integer(row, 1));
      bytes_read_ += std::string(answers[1].bytes(row, 6)).size();
    }
    instance_secrets_.assign(keys_.size(), token);
    return keys_.size();
  }

  void commit_instances() {
    const std::int64_t time = now();
    session_.run(
        {{kCommitInstances.name,
          Values().add(time).add(keys_).add(instance_secrets_).add(last_events_).add(secrets(keys_.size()))},
         {kConsumeMessages.name, Values().add(messages_).add(message_keys_)},
         {kInsertHistory.name, history()},
         {kScheduleActivities.name, Values().add(time).add(keys_).add(last_events_).repeat(message_, keys_.size())}});
  }

  std::size_t fetch_activities() {
    const std::int64_t time = now();
    const std::int64_t token = secret();
    const std::vector<Answer> answers =
        session_.run({{kLockActivities.name,
                       Values().add(time).add(static_cast<std::int64_t>(batch_)).add(token).add(time + kLease)}});
    activities_.clear();
    keys_.clear();
    for (int row = 0; row < answers[0].rows(); ++row) {
      activities_.push_back(answers[0].integer(row, 0));
      keys_.push_back(answers[0].integer(row, 1));
      bytes_read_ += std::string(answers[0].bytes(row, 6)).size();
    }
    activity_secrets_.assign(activities_.size(), token);
    return activities_.size();
  }

  // Two events each, and the activity that the second one schedules.
  [[nodiscard]] Values history() const {
    return Values().add(keys_).add(last_events_).add(events_bytes_).repeat(events_, keys_.size());
  }

  void commit_held(std::span<Held> steps, bool finish) {
    keys_.clear();
    last_events_.clear();
    activities_.clear();
    activity_secrets_.clear();
    for (Held& step : steps) {
      keys_.push_back(step.key);
      last_events_.push_back(step.last_event += 2);
      if (!finish) continue;
      activities_.push_back(step.activity);
      activity_secrets_.push_back(step.activity_secret);
    }
    instance_secrets_.assign(keys_.size(), 7);
    const std::vector<std::int64_t> claims = secrets(keys_.size());
    const std::int64_t time = now();
    const std::vector<Answer> answers = session_.run(
        {{kKeepInstances.name,
          Values().add(time).add(keys_).add(instance_secrets_).add(last_events_).add(secrets(keys_.size()))},
         {kFinishActivities.name, Values().add(time).add(activities_).add(activity_secrets_)},
         {kInsertHistory.name, history()},
         {kClaimActivities.name, Values()
                                     .add(time)
                                     .add(keys_)
                                     .add(last_events_)
                                     .repeat(message_, keys_.size())
                                     .add(time + kLease)
                                     .add(claims)}});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].activity = answers[3].integer(static_cast<int>(i), 0);
      steps[i].activity_secret = claims[i];
    }
  }

  std::size_t batch_;
  Session session_;
  std::mt19937_64 random_;
  std::int64_t events_bytes_;
  std::string events_;
  std::string message_;
  std::size_t bytes_read_ = 0;

  // Of the step that is being taken.
  std::vector<std::int64_t> keys_, last_events_, instance_secrets_, messages_, message_keys_, activities_,
      activity_secrets_;
  std::vector<Held> held_;
  std::size_t next_ = 0;
};

}  // namespace

Reached run_postgres(const Load& load) {
  PostgresSchema schema(load);
  Session& control = schema.session();
  control.execute(kTables);
  control.prepare("fill", kFill);
  control.run({{"fill", Values()
                            .add(now())
                            .add(static_cast<std::int64_t>(load.instances))
                            .repeat(std::string(load.message_bytes, 'm'), 1)}});
  const bool plain = load.shape == "plain";
  std::vector<std::unique_ptr<Worker>> workers;
  workers.reserve(load.connections);
  const std::size_t each = load.instances / load.connections;
  for (std::size_t i = 0; i < load.connections; ++i) {
    workers.push_back(std::make_unique<Worker>(load, schema, i));
    if (!plain) workers.back()->hold(static_cast<std::int64_t>(i * each + 1), each);
  }
  const auto round_trips = [&] {
    std::uint64_t sum = 0;
    for (const auto& worker : workers) sum += worker->round_trips();
    return sum;
  };
  std::uint64_t before = 0;
  std::optional<bench::ServerCpu> server;
  std::optional<Stopwatch> watch;
  Reached reached;
  reached.steps = run_crew(
      load, [&](std::size_t thread) { return plain ? workers[thread]->plain_step() : workers[thread]->fused_step(); },
      [&] {
        before = round_trips();
        server.emplace(control.server_process());
        watch.emplace();
      });
  reached.seconds = watch->seconds();
  reached.cpu_seconds = watch->cpu_seconds();
  reached.round_trips = round_trips() - before;
  reached.server_cpu_seconds = server->seconds().value_or(0);
  return reached;
}

std::vector<std::string> postgres_sql() {
  std::vector<std::string> sql{kTables, kSettings};
  for (const Statement& statement : kStatements) sql.emplace_back(statement.sql);
  return sql;
}

}  // namespace ceiling
