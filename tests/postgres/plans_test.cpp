// What an operation of the hot paths reads does not depend on how much the store holds: there is an index for
// everything.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include "postgres/orders.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

constexpr Milliseconds kLease{60'000};

MessageRecord activity(const std::string& instance, EventId id) {
  MessageRecord record = message_for(instance, MessageKind::kExecuteActivity);
  record.name = "Charge";
  record.execution = kFirstExecutionId;
  record.activity_id = id;
  return record;
}

template <class Answer>
void expect_done(const std::vector<ProviderResult<Answer>>& answers) {
  for (const ProviderResult<Answer>& answer : answers) ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
}

// Everything that nodes do all day, on one instance.
class Life {
 public:
  Life(Provider& store, std::string instance) : store_(store), instance_(std::move(instance)) {}

  void run() {
    ASSERT_TRUE(store_.enqueue_start(start_of(instance_), StartPolicy::kFail).has_value());
    commit(1, true, false);  // it starts, and schedules an activity
    work();
    commit(2, false, true);  // which has come; the next one is claimed and the lock kept
    TurnCommit held = turn(3);
    held.completed_work = {claimed_};
    const auto answers = store_.ack_orchestration_items(std::vector{held});
    expect_done(answers);
    wait(answers.at(0)->claimed.at(0).token);
    TurnCommit last = turn(4);
    last.completed_work = {answers.at(0)->claimed.at(0).token};
    last.activities.clear();
    last.claim.reset();
    last.keep_lock.reset();
    last.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "y"};
    expect_done(store_.ack_orchestration_items(std::vector{last}));
    ASSERT_TRUE(store_.read_status(instance_).value().has_value());
  }

 private:
  TurnCommit turn(EventId event) {
    TurnCommit commit;
    commit.token = token_;
    commit.commit_id = event;
    commit.events = {event_of_order(event)};
    commit.activities = {activity(instance_, event)};
    commit.claim = WorkFetch{};
    commit.keep_lock = kLease;
    commit.owner = "node";
    return commit;
  }

  void commit(EventId event, bool starts, bool keeps) {
    OrchestrationFetch fetch;
    fetch.owner = "node";
    fetch.lock_timeout = kLease;
    const auto batch = store_.fetch_orchestration_items(fetch);
    ASSERT_TRUE(batch.has_value()) << batch.error().to_string();
    ASSERT_EQ(batch->items.size(), 1U);
    token_ = batch->items.at(0).token;
    expect_done(store_.renew_orchestration_locks(std::vector{token_}, kLease));
    TurnCommit commit = turn(event);
    for (const QueuedMessage& fetched : batch->items.at(0).messages) commit.consumed.push_back(fetched.id);
    if (starts) commit.started = started_order();
    if (!keeps) {
      commit.claim.reset();
      commit.keep_lock.reset();
    }
    const auto answers = store_.ack_orchestration_items(std::vector{commit});
    expect_done(answers);
    if (keeps) claimed_ = answers.at(0)->claimed.at(0).token;
  }

  void work() {
    const auto batch = store_.fetch_work_items({});
    ASSERT_TRUE(batch.has_value()) << batch.error().to_string();
    ASSERT_EQ(batch->items.size(), 1U);
    const LockToken token = batch->items.at(0).token;
    expect_done(store_.renew_work_locks(std::vector{token}, kLease));
    expect_done(store_.ack_work_items(
        std::vector{WorkAck{.token = token, .completion = message_for(instance_, MessageKind::kActivityCompleted)}}));
  }

  // For what is not there, and for the loss of an activity that is not lost.
  void wait(const LockToken& claimed) {
    WorkWait wait;
    wait.held = {claimed};
    wait.orchestrations = OrchestrationFetch{};
    wait.activities = WorkFetch{};
    ASSERT_FALSE(store_.wait_for_work(wait, store_.now()).value());
    ASSERT_FALSE(
        store_.wait_for_change(instance_, {.ended = true, .custom_status_after = {}, .key_value = {}}, store_.now())
            .value());
  }

  Provider& store_;
  std::string instance_;
  LockToken token_;
  LockToken claimed_;
};

// Instances that wait for a timer, with an activity that is not due yet either.
void fill(const PostgresServer& server, int instances) {
  const std::string later = "9000000000000000";
  const std::string some = " FROM generate_series(1, " + std::to_string(instances) + ") n";
  server.execute(
      "INSERT INTO perdure.instances(id, name, holder, token, locked_until, created_at, updated_at, ready_at)"
      " SELECT 'other-' || n, 'Order', 'other', 1, 1, 1, 1, " +
      later + some);
  server.execute("INSERT INTO perdure.messages(key, kind, name, visible_at, body) SELECT i.key, 4, '', " + later +
                 ", 'x' FROM perdure.instances i WHERE i.id LIKE 'other-%'");
  server.execute(
      "INSERT INTO perdure.activities(key, execution, activity_id, name, lane, ready_at, scheduled_at, body)"
      " SELECT i.key, 1, 1, 'Charge', '', " +
      later + ", 1, 'x' FROM perdure.instances i WHERE i.id LIKE 'other-%'");
  server.execute(
      "INSERT INTO perdure.history(key, execution, first_event, events, body_bytes, data)"
      " SELECT i.key, 1, 1, 1, 1, 'x' FROM perdure.instances i WHERE i.id LIKE 'other-%'");
  server.execute(
      "INSERT INTO perdure.executions(key, execution, started_at)"
      " SELECT i.key, 1, 1 FROM perdure.instances i WHERE i.id LIKE 'other-%'");
}

std::int64_t rows_read(const PostgresServer& server) {
  return std::stoll(
      server.execute("SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'perdure')"
                     " + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'perdure')"));
}

// What the life of an instance reads in a store with so many others.
std::int64_t rows_read_beside(int others) {
  const PostgresServer server;
  {
    const std::shared_ptr<Provider> store = PostgresProvider::connect(server.url());
    fill(server, others);
  }
  const auto wait_for_sessions = [&server] {  // which report what they have read when they end
    while (server.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perdure'") != "0") {
    }
  };
  wait_for_sessions();
  const std::int64_t before = rows_read(server);
  {
    const std::shared_ptr<Provider> store = PostgresProvider::connect(server.url());
    for (const char* const instance : {"a", "b", "c"}) Life(*store, instance).run();
  }
  wait_for_sessions();
  return rows_read(server) - before;
}

TEST(PostgresPlans, WhatIsReadDoesNotGrowWithTheStore) {
  const std::int64_t few = rows_read_beside(5);
  const std::int64_t many = rows_read_beside(2'000);
  EXPECT_GT(few, 0);
  EXPECT_LT(many, few + 1'000) << "of 2,000 rows in each table; beside 5 it reads " << few;
}

}  // namespace
}  // namespace perdure::test
