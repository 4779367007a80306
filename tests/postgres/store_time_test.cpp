// Which time a call uses: one that is not earlier than anything that the call sees, and the same for every node.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include "postgres/orders.h"
#include "support/eventually.h"
#include "support/postgres_schema.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStoreStart{Milliseconds(1'700'000'000'000)};

OrchestrationItem fetch_instance(Provider& store) {
  return store.fetch_orchestration_item().value().value();
}

MessageRecord queued_activity(const std::string& instance, const std::string& name) {
  MessageRecord activity = message_for(instance, MessageKind::kExecuteActivity);
  activity.execution = kFirstExecutionId;
  activity.activity_id = 2;
  activity.name = name;
  return activity;
}

// A call that runs in a thread of its own, because it waits for what `holder` has locked.
class WaitingCall {
 public:
  WaitingCall(PostgresSession& holder, const std::function<void()>& call)
      : holder_(holder.value("SELECT pg_backend_pid()")), session_(shared_postgres_url()) {
    thread_ = std::thread([this, call] {
      call();
      over_ = true;
    });
  }
  // Returns when it waits; false if it does not.
  [[nodiscard]] bool waits() {
    while (!over_ && session_.value("SELECT count(*) FROM pg_stat_activity WHERE " + holder_ +
                                    " = ANY(pg_blocking_pids(pid))") == "0") {
      std::this_thread::yield();
    }
    return !over_;
  }
  void finish() { thread_.join(); }

 private:
  std::string holder_;
  PostgresSession session_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

// ---- The server's own clock ----------------------------------------------------------------------------------------

class PostgresServerTime : public ::testing::Test {
 protected:
  PostgresServerTime() : session(shared_postgres_url()) {
    options.schema = "store_time_test_" + std::to_string(::getpid());
    session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
    store = PostgresProvider::connect(shared_postgres_url(), options);
  }
  ~PostgresServerTime() override {
    store.reset();
    session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
  }

  // The time of the server's clock, certainly later than at the last call.
  Timestamp later() {
    const auto clock = [this] {
      return Timestamp(Milliseconds(
          std::stoll(session.value("SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint"))));
    };
    const Timestamp before = clock();
    Timestamp now = before;
    while (now < before + 3ms) now = clock();
    return now;
  }
  // A transaction of another node, with its time.
  PostgresSession begin() const {
    PostgresSession other(shared_postgres_url());
    other.execute("SET search_path = " + options.schema + "; BEGIN");
    other.value("SELECT now()");
    return other;
  }

  PostgresSession session;
  PostgresOptions options;
  std::shared_ptr<Provider> store;
};

// The fetch of another node begins before a turn continues as new, and sees what the turn has committed.
TEST_F(PostgresServerTime, AFetchThatBeganBeforeACommitBringsTheContinuation) {
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const OrchestrationItem item = fetch_instance(*store);
  ASSERT_TRUE(store->enqueue_message(message_for("a", MessageKind::kQueueMessage)).has_value());
  static_cast<void>(later());
  PostgresSession other = begin();
  static_cast<void>(later());
  TurnCommit commit = first_turn_of(item, 1);
  commit.status = StatusChange{ExecutionStatus::kContinuedAsNew, std::nullopt};
  commit.messages = {message_for("a", MessageKind::kContinueAsNew)};
  ASSERT_TRUE(store->ack_orchestration_item(commit).has_value());

  const std::string kinds = other.value(
      "SELECT kinds FROM fetch_instances(10, 5000, 123, '', '{}', '{}', '{}', 5, true, false, 1000, 1000000, 1000)"
      " WHERE key IS NOT NULL");
  EXPECT_EQ(kinds, "{2,7}");
}

// A commit waits for the row of an instance that it sends a message to. What it locks is locked from then on.
TEST_F(PostgresServerTime, ALockIsCountedFromWhenItIsGranted) {
  for (const std::string id : {"a", "b"}) {
    ASSERT_TRUE(store->enqueue_start(start_of(id), StartPolicy::kFail).has_value());
    ASSERT_TRUE(store->ack_orchestration_item(first_turn_of(fetch_instance(*store), id == "a" ? 1 : 2)).has_value());
  }
  ASSERT_TRUE(store->enqueue_message(message_for("a", MessageKind::kExternalRaised)).has_value());
  OrchestrationFetch fetch;
  fetch.lock_timeout = 1min;
  const OrchestrationItem item = store->fetch_orchestration_item(fetch).value().value();
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = 3;
  commit.consumed = {item.messages.at(0).id};
  commit.events = {event_of_order(2)};
  commit.messages = {message_for("b", MessageKind::kExternalRaised)};
  commit.activities = {queued_activity("a", "Work")};
  commit.claim.emplace().lock_timeout = 30s;
  commit.keep_lock = 3min;  // less than half of it is left
  commit.owner = "node";

  PostgresSession other = begin();
  other.execute("UPDATE instances SET not_before = not_before WHERE id = 'b'");
  ProviderResult<CommitAnswer> answer = ProviderError(ProviderErrorKind::kUnavailable, "not asked");
  WaitingCall call(other, [&] { answer = store->ack_orchestration_item(commit); });
  EXPECT_TRUE(call.waits());
  const Timestamp released = later();
  other.execute("COMMIT");
  call.finish();
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  ASSERT_EQ(answer->claimed.size(), 1U);
  EXPECT_GE(answer->claimed[0].locked_until, released + 30s);
  ASSERT_TRUE(answer->locked_until.has_value());
  EXPECT_GE(*answer->locked_until, released + 3min);
  EXPECT_GE(answer->now, released);
}

// ---- A server that is behind and cannot store a time ---------------------------------------------------------------

// A full disk, and a right on the sequence that is missing.
class PostgresRefusedTime : public PostgresServerTime, public ::testing::WithParamInterface<std::string> {
 protected:
  // Sessions that can be told from those of other tests on the server.
  PostgresRefusedTime() {
    const std::string& url = shared_postgres_url();
    const char separator = url.find('?') == std::string::npos ? '?' : '&';
    store = PostgresProvider::connect(url + separator + "application_name=" + options.schema, options);
  }
  void replace(const std::string& function, const std::string& body) const {
    PostgresSession owner(shared_postgres_url());
    owner.execute("SET search_path = " + options.schema + "; CREATE OR REPLACE FUNCTION " + function + " AS $$ " +
                  body + " $$");
  }
  void expect_reads() const {
    EXPECT_TRUE(store->read_status("a").has_value());
    EXPECT_TRUE(store->admin()->system_metrics().has_value());
    const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
    EXPECT_TRUE(store->wait_for_change("a", ended, store->now()).has_value());
    const WorkWait work{.orchestrations = OrchestrationFetch{}, .activities = WorkFetch{}};
    EXPECT_TRUE(store->wait_for_work(work, store->now()).has_value());
  }
};
INSTANTIATE_TEST_SUITE_P(States, PostgresRefusedTime, ::testing::Values("53100", "42501"),
                         [](const auto& state) { return state.param; });

TEST_P(PostgresRefusedTime, FailsWritesAndNoReads) {
  const std::string reach_time =
      session.value("SELECT prosrc FROM pg_proc WHERE oid = to_regproc($1)", {options.schema + ".reach_time"});
  const Timestamp before = store->now();
  replace("server_ms() RETURNS bigint LANGUAGE sql VOLATILE", "SELECT 1000::bigint");
  replace("reach_time(seen bigint) RETURNS boolean LANGUAGE plpgsql",
          "BEGIN RAISE EXCEPTION 'the test says no' USING ERRCODE = '" + GetParam() + "'; END");
  ASSERT_TRUE(store->fetch_work_items({}).has_value()) << "shows that the server is behind";
  expect_reads();
  EXPECT_FALSE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  session.execute("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = '" +
                  options.schema + "'");
  expect_reads();  // with connections that are made now
  EXPECT_FALSE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());

  replace("reach_time(seen bigint) RETURNS boolean LANGUAGE plpgsql", reach_time);
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  EXPECT_GE(std::stoll(session.value("SELECT visible_at FROM " + options.schema + ".messages")),
            before.time_since_epoch().count());
}

// ---- A clock that the test moves while a call waits -----------------------------------------------------------------

class PostgresStoreTime : public ::testing::Test {
 protected:
  PostgresSession session_on_schema() {
    PostgresSession other(shared_postgres_url());
    other.execute("SET search_path = " + schema.name());
    return other;
  }

  PostgresSchema schema{kStoreStart};
};

TEST_F(PostgresStoreTime, ARenewalIsCountedFromWhenItIsGranted) {
  const auto store = schema.connect();
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  OrchestrationFetch fetch;
  fetch.lock_timeout = 1h;
  const OrchestrationItem item = store->fetch_orchestration_item(fetch).value().value();
  PostgresSession other = session_on_schema();
  other.execute("BEGIN; UPDATE instances SET not_before = not_before");
  ProviderResult<Timestamp> renewed = ProviderError(ProviderErrorKind::kUnavailable, "not asked");
  WaitingCall call(other, [&] { renewed = store->renew_orchestration_lock(item.token, 5s); });
  EXPECT_TRUE(call.waits());
  schema.advance(10s);
  other.execute("COMMIT");
  call.finish();
  ASSERT_TRUE(renewed.has_value()) << renewed.error().to_string();
  EXPECT_EQ(*renewed, kStoreStart + 15s);
}

// Fetches of one owner wait for each other where there are sessions.
TEST_F(PostgresStoreTime, AnActivityIsLockedFromWhenItIsFetched) {
  const auto store = schema.connect();
  MessageRecord activity = queued_activity("a", "Work");
  activity.session = "s";
  ASSERT_TRUE(store->enqueue_activity(activity).has_value());
  WorkFetch fetch;
  fetch.lock_timeout = 5s;
  fetch.session.emplace().owner = "store time node";
  fetch.session->lock_timeout = 7s;
  PostgresSession other = session_on_schema();
  other.execute("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('perdure sessions of store time node', 0))");
  ProviderResult<WorkBatch> batch = ProviderError(ProviderErrorKind::kUnavailable, "not asked");
  WaitingCall call(other, [&] { batch = store->fetch_work_items(fetch); });
  EXPECT_TRUE(call.waits());
  schema.advance(10s);
  other.execute("COMMIT");
  call.finish();
  ASSERT_TRUE(batch.has_value()) << batch.error().to_string();
  ASSERT_EQ(batch->items.size(), 1U);
  EXPECT_EQ(batch->items[0].locked_until, kStoreStart + 15s);
  EXPECT_EQ(other.value("SELECT locked_until FROM sessions"),
            std::to_string((kStoreStart + 17s).time_since_epoch().count()));
}

TEST_F(PostgresStoreTime, AClaimInASessionIsLockedFromWhenItIsGranted) {
  const auto store = schema.connect();
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  OrchestrationFetch fetch;
  fetch.lock_timeout = 1h;
  TurnCommit commit = first_turn_of(store->fetch_orchestration_item(fetch).value().value(), 1);
  commit.activities = {queued_activity("a", "Work")};
  commit.activities[0].session = "s";
  WorkFetch& claim = commit.claim.emplace();
  claim.lock_timeout = 5s;
  claim.session.emplace().owner = "store time node";
  PostgresSession other = session_on_schema();
  other.execute("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('perdure sessions of store time node', 0))");
  ProviderResult<CommitAnswer> answer = ProviderError(ProviderErrorKind::kUnavailable, "not asked");
  WaitingCall call(other, [&] { answer = store->ack_orchestration_item(commit); });
  EXPECT_TRUE(call.waits());
  schema.advance(10s);
  other.execute("COMMIT");
  call.finish();
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  ASSERT_EQ(answer->claimed.size(), 1U);
  EXPECT_EQ(answer->claimed[0].locked_until, kStoreStart + 15s);
}

// ---- Two nodes, after a failover to a server whose clock is behind -------------------------------------------------

class PostgresTwoNodes : public PostgresStoreTime {
 protected:
  PostgresTwoNodes() {
    EXPECT_EQ(old_node->now(), kStoreStart);
    schema.step(-5min);
    new_node = schema.connect();  // has never seen a later time
  }
  // One call shows it the server's time, and in the next it reports its own to the store.
  void let_the_old_node_notice() {
    EXPECT_EQ(old_node->now(), kStoreStart);
    EXPECT_EQ(old_node->now(), kStoreStart);
  }

  std::shared_ptr<Provider> old_node = schema.connect();
  std::shared_ptr<Provider> new_node;
};

TEST_F(PostgresTwoNodes, HaveTheSameTime) {
  let_the_old_node_notice();
  EXPECT_EQ(new_node->now(), kStoreStart);
  EXPECT_EQ(schema.connect()->now(), kStoreStart);
  schema.advance(5min);
  EXPECT_EQ(new_node->now(), kStoreStart + 270s) << "nine tenths of the time that has passed";
  EXPECT_EQ(old_node->now(), kStoreStart + 270s);
  schema.advance(46min);
  EXPECT_EQ(new_node->now(), kStoreStart + 46min) << "the clock has caught up";
  EXPECT_EQ(old_node->now(), kStoreStart + 46min);
}

TEST_F(PostgresTwoNodes, DoNotTakeEachOthersLocks) {
  let_the_old_node_notice();
  ASSERT_TRUE(old_node->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  ASSERT_TRUE(old_node->enqueue_activity(queued_activity("a", "Work")).has_value());
  const OrchestrationBatch instances = new_node->fetch_orchestration_items({}).value();
  const WorkBatch activities = new_node->fetch_work_items({}).value();
  ASSERT_EQ(instances.items.size(), 1U) << "what the other node queues is visible at once";
  ASSERT_EQ(activities.items.size(), 1U);
  EXPECT_TRUE(old_node->fetch_orchestration_items({}).value().items.empty());
  EXPECT_TRUE(old_node->fetch_work_items({}).value().items.empty());
  EXPECT_TRUE(new_node->renew_work_lock(activities.items[0].token, 30s).has_value());
  EXPECT_TRUE(new_node->ack_orchestration_item(first_turn_of(instances.items[0], 1)).has_value());
}

// The second call begins while the first one reports the time to the store.
TEST_F(PostgresStoreTime, NoCallPassesAFirstProposal) {
  PostgresOptions options;
  options.schema = schema.name();
  options.clock = std::make_shared<ManualClock>(kStoreStart);
  const auto store = PostgresProvider::connect(shared_postgres_url(), options);
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  PostgresSession other = session_on_schema();
  {
    // Two calls at once, so that the pool has two connections. A new one would report the time first.
    other.execute("BEGIN; LOCK TABLE activities");
    WaitingCall call(other, [&] { EXPECT_TRUE(store->fetch_work_items({}).has_value()); });
    EXPECT_TRUE(call.waits());
    EXPECT_TRUE(store->read_status("a").has_value());
    other.execute("COMMIT");
    call.finish();
  }
  schema.step(-5min);
  ASSERT_TRUE(store->fetch_work_items({}).has_value()) << "shows that the server is behind";
  other.execute("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('perdure store time', 0))");
  WaitingCall first(other, [&] { EXPECT_TRUE(store->fetch_work_items({}).has_value()); });
  EXPECT_TRUE(first.waits());
  std::atomic<bool> fetched = false;
  ProviderResult<OrchestrationBatch> batch = ProviderError(ProviderErrorKind::kUnavailable, "not asked");
  std::thread second([&] {
    batch = store->fetch_orchestration_items({});
    fetched = true;
  });
  PostgresSession observer(shared_postgres_url());
  EXPECT_TRUE(eventually([&] {
    return fetched || observer.value("SELECT count(*) FROM pg_stat_activity WHERE " +
                                     other.value("SELECT pg_backend_pid()") + " = ANY(pg_blocking_pids(pid))") == "2";
  }));
  other.execute("COMMIT");
  first.finish();
  second.join();
  ASSERT_TRUE(batch.has_value()) << batch.error().to_string();
  ASSERT_EQ(batch->items.size(), 1U);
  EXPECT_GT(batch->items[0].locked_until, kStoreStart);
}

// As after a failover: the connections are lost, and the new server has another clock.
TEST(PostgresFailover, ANodeThatConnectsAgainTellsTheTimeFirst) {
  const PostgresServer server;
  const auto store = PostgresProvider::connect(server.url());
  PostgresSession on_server(server.url());
  on_server.execute(
      "CREATE OR REPLACE FUNCTION perdure.server_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT 1000::bigint'");
  const Timestamp before = store->now();
  on_server.execute(
      "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = 'perdure'");
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  EXPECT_GE(std::stoll(on_server.value("SELECT visible_at FROM perdure.messages")), before.time_since_epoch().count());
}

}  // namespace
}  // namespace perdure::test
