// Waits that only a notification can end in time, because nobody polls: from other nodes, over lost connections, and
// for what was done although its answer was lost.
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include "postgres/orders.h"
#include "support/cutting_proxy.h"
#include "support/eventually.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

constexpr Milliseconds kLong{600'000};

WorkWait for_any_instance() {
  WorkWait wait;
  wait.orchestrations.emplace();
  return wait;
}

WorkWait for_any_activity() {
  WorkWait wait;
  wait.activities.emplace();
  return wait;
}

MessageRecord activity_of(const std::string& instance) {
  MessageRecord activity = message_for(instance, MessageKind::kExecuteActivity);
  activity.name = "Ship";
  activity.execution = kFirstExecutionId;
  activity.activity_id = 2;
  return activity;
}

// A server of the test's own, and two nodes.
class PostgresWakeUps : public ::testing::Test {
 protected:
  PostgresWakeUps() {
    options.connections = 2;
    options.answer_timeout = Milliseconds(5'000);
    options.poll_interval = Milliseconds(600'000);
    options.poll_interval_without_wake_ups = Milliseconds(20);
    store = connect();
    other = connect();
  }

  [[nodiscard]] std::shared_ptr<Provider> connect() const { return PostgresProvider::connect(server.url(), options); }

  // A wait of the store that has looked in vain, and that nothing ends in time but a change.
  class Wait {
   public:
    Wait(std::shared_ptr<Provider> node, const WorkWait& wait)
        : node_(std::move(node)), woken_(std::async(std::launch::async, [node = node_, wait] {
            return node->wait_for_work(wait, node->now() + kLong).value();
          })) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() { node_->wake_waiters(); }

    bool is_over() { return woken_.wait_for(kPatience) == std::future_status::ready && woken_.get(); }

   private:
    std::shared_ptr<Provider> node_;
    std::future<bool> woken_;  // whose end waits for the thread
  };
  [[nodiscard]] std::unique_ptr<Wait> begin_wait(const WorkWait& wait = for_any_instance()) const {
    const std::string looks =
        "SELECT coalesce(max(query_start)::text, '') FROM pg_stat_activity"
        " WHERE application_name = 'perdure' AND query ~ 'look_for_|held[(]' AND state = 'idle'";
    const std::string before = server.execute(looks);
    auto begun = std::make_unique<Wait>(store, wait);
    EXPECT_TRUE(eventually([&] { return server.execute(looks) != before; })) << "it does not look";
    return begun;
  }
  void cut(const std::string& which) const {
    server.execute(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = 'perdure' AND " +
        which);
  }
  // An activity of this instance that the store's node runs.
  [[nodiscard]] LockToken run_activity_of(const std::string& instance) const {
    EXPECT_TRUE(other->enqueue_start(start_of(instance), StartPolicy::kFail).has_value());
    TurnCommit turn = first_turn_of(other->fetch_orchestration_item().value().value(), 1);
    turn.activities = {activity_of(instance)};
    EXPECT_TRUE(other->ack_orchestration_item(turn).has_value());
    WorkFetch fetch;
    fetch.lock_timeout = 2 * kLong;
    return store->fetch_work_item(fetch).value().value().token;
  }
  static WorkWait for_loss_of(const LockToken& token) {
    WorkWait wait;
    wait.held = {token};
    return wait;
  }
  [[nodiscard]] std::string listeners() const {
    return server.execute(
        "SELECT coalesce(string_agg(pid::text, ','), '0') FROM pg_stat_activity"
        " WHERE application_name = 'perdure' AND query LIKE 'LISTEN%'");
  }

  PostgresServer server;
  PostgresOptions options;
  std::shared_ptr<Provider> store;
  std::shared_ptr<Provider> other;
};

TEST_F(PostgresWakeUps, ComeFromAnotherNode) {
  const auto wait = begin_wait();
  ASSERT_TRUE(other->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  EXPECT_TRUE(wait->is_over());
}

TEST_F(PostgresWakeUps, AreReplacedByLookingWhileTheListenerIsLost) {
  for (const std::string instance : {"a", "b"}) {
    const auto wait = begin_wait();
    cut("true");
    ASSERT_TRUE(other->enqueue_start(start_of(instance), StartPolicy::kFail).has_value());
    EXPECT_TRUE(wait->is_over()) << instance;
    EXPECT_TRUE(store->fetch_orchestration_item().value().has_value());
  }
}

// Those who wait have seen the end of the lock; the timer is due long before it.
TEST_F(PostgresWakeUps, ComeForATimerThatACommitLeaves) {
  ASSERT_TRUE(other->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const OrchestrationItem begun = other->fetch_orchestration_item().value().value();
  ASSERT_TRUE(other->ack_orchestration_item(first_turn_of(begun, 1)).has_value());
  MessageRecord timer = message_for("a", MessageKind::kTimerFired);
  timer.visible_at = other->now() + Milliseconds(1'500);
  ASSERT_TRUE(other->enqueue_message(timer).has_value());
  ASSERT_TRUE(other->enqueue_message(message_for("a", MessageKind::kExternalRaised)).has_value());
  OrchestrationFetch fetch;
  fetch.limit = 1;
  fetch.lock_timeout = kLong;
  const OrchestrationBatch batch = other->fetch_orchestration_items(fetch).value();
  ASSERT_EQ(batch.items.size(), 1U);
  const auto wait = begin_wait();
  TurnCommit turn;
  turn.token = batch.items.front().token;
  turn.commit_id = 2;
  for (const QueuedMessage& message : batch.items.front().messages) {
    if (message.record.kind != MessageKind::kTimerFired) turn.consumed.push_back(message.id);
  }
  turn.events = {event_of_order(kFirstEventId + 1)};
  ASSERT_TRUE(other->ack_orchestration_item(turn).has_value());
  EXPECT_TRUE(wait->is_over());
}

TEST_F(PostgresWakeUps, ComeForAnActivityThatAnotherNodeCancels) {
  const auto wait = begin_wait(for_loss_of(run_activity_of("a")));
  ASSERT_TRUE(other->enqueue_message(message_for("a", MessageKind::kExternalRaised)).has_value());
  const OrchestrationItem item = other->fetch_orchestration_item().value().value();
  TurnCommit turn;
  turn.token = item.token;
  turn.commit_id = 2;
  turn.consumed = {item.messages.at(0).id};
  turn.events = {event_of_order(kFirstEventId + 1)};
  turn.cancelled_activities = {activity_of("a").activity_id};
  ASSERT_TRUE(other->ack_orchestration_item(turn).has_value());
  EXPECT_TRUE(wait->is_over());
}

TEST_F(PostgresWakeUps, ComeForAnActivityWhoseInstanceAnotherNodeDeletes) {
  const auto wait = begin_wait(for_loss_of(run_activity_of("a")));
  ASSERT_TRUE(other->admin()->delete_instance("a", true).has_value());
  EXPECT_TRUE(wait->is_over());
}

TEST_F(PostgresWakeUps, AreSentByAProcessThatEndsAtOnce) {
  for (int round = 0; round < 10; ++round) {
    std::shared_ptr<Provider> client = connect();
    const auto wait = begin_wait();
    ASSERT_TRUE(client->enqueue_start(start_of(std::to_string(round)), StartPolicy::kFail).has_value());
    client.reset();
    ASSERT_TRUE(wait->is_over()) << round;
    ASSERT_TRUE(store->fetch_orchestration_item().value().has_value());
  }
}

TEST_F(PostgresWakeUps, AreSentBehindTheLossOfOnesOwnListener) {
  const std::string old = listeners();
  const std::shared_ptr<Provider> hurt = connect();
  const auto wait = begin_wait();
  cut("query LIKE 'LISTEN%' AND pid NOT IN (" + old + ")");
  ASSERT_TRUE(hurt->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  EXPECT_TRUE(wait->is_over());
}

// It does not know its waiters any more.
TEST_F(PostgresWakeUps, ComeAfterTheServerHasCrashed) {
  ASSERT_FALSE(store->wait_for_work(for_any_instance(), store->now() + Milliseconds(1)).value());
  server.kill();
  server.start();
  const auto wait = begin_wait();
  EXPECT_TRUE(eventually([&] { return server.execute("SELECT count(*) FROM perdure.waiters") != "0"; }));
  ASSERT_TRUE(other->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  EXPECT_TRUE(wait->is_over());
}

// ---- Answers that are lost -----------------------------------------------------------------------------------------

class PostgresLostAnswers : public PostgresWakeUps {
 protected:
  PostgresLostAnswers() {
    std::string url = server.url();
    const std::string port = ":" + std::to_string(server.port());
    url.replace(url.find(port), port.size(), ":" + std::to_string(proxy.port()));
    hurt = PostgresProvider::connect(url, options);
  }

  CuttingProxy proxy{static_cast<std::uint16_t>(server.port())};
  std::shared_ptr<Provider> hurt;
};

TEST_F(PostgresLostAnswers, AStartThatWasMadeAllTheSameWakesWhoWaitsForIt) {
  const auto wait = begin_wait();
  proxy.lose_answer_to("lost order");
  const ProviderResult<StartOutcome> started = hurt->enqueue_start(start_of("lost order"), StartPolicy::kFail);
  EXPECT_FALSE(started.has_value()) << "nobody knows";
  EXPECT_EQ(proxy.lost_answers(), 1U);
  EXPECT_TRUE(wait->is_over());
}

TEST_F(PostgresLostAnswers, ACommitThatIsFoundToBeDoneWakesWhoWaitsForItsActivities) {
  ASSERT_TRUE(hurt->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  TurnCommit commit = first_turn_of(hurt->fetch_orchestration_item().value().value(), 77);
  commit.events.front().body = "lost event";
  commit.activities = {activity_of("a")};
  const auto wait = begin_wait(for_any_activity());
  proxy.lose_answer_to("lost event");
  const ProviderResult<CommitAnswer> answer = hurt->ack_orchestration_item(commit);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_TRUE(answer->repeated);
  EXPECT_EQ(proxy.lost_answers(), 1U);
  EXPECT_TRUE(wait->is_over());
}

// Whatever it had fetched is given back as it was.
TEST_F(PostgresLostAnswers, AnActivityThatALostFetchHadCanStillExpire) {
  ASSERT_TRUE(hurt->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  TurnCommit commit = first_turn_of(hurt->fetch_orchestration_item().value().value(), 1);
  commit.activities = {activity_of("a")};
  commit.activities.front().tag = "gpu";
  commit.activities.front().timeouts.schedule_to_start = Milliseconds(1'000);
  ASSERT_TRUE(hurt->ack_orchestration_item(commit).has_value());
  WorkFetch fetch;
  fetch.limit = 1;
  fetch.tags = TagFilter::tags({"gpu"});
  fetch.filter.activities = {"Ship", "lost fetch"};
  proxy.lose_answer_to("lost fetch");
  ASSERT_FALSE(hurt->fetch_work_items(fetch).has_value());
  ASSERT_EQ(proxy.lost_answers(), 1U);
  const auto wait = begin_wait(for_any_activity());  // of a worker without its tag
  EXPECT_TRUE(wait->is_over());
  fetch.tags = TagFilter();
  const WorkBatch batch = store->fetch_work_items(fetch).value();
  ASSERT_EQ(batch.items.size(), 1U);
  EXPECT_TRUE(batch.items.front().expired);
}

}  // namespace
}  // namespace perdure::test
