// Commits that meet what others do to the same rows.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include "postgres/orders.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"

namespace perdure::test {
namespace {

// A turn that goes on with an order whose start was committed.
TurnCommit second_turn_of(const OrchestrationItem& item) {
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = 2;
  commit.events = {event_of_order(2)};
  for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
  return commit;
}

OrchestrationItem fetch_one(Provider& store) {
  return store.fetch_orchestration_item().value().value();
}

// A message is being written for the instance when its turn is committed: the commit waits for the row, and must not
// overlook what has come.
TEST(PostgresCommits, AMessageThatComesWhileACommitWaitsIsSeen) {
  const PostgresServer server;
  const std::shared_ptr<Provider> store = PostgresProvider::connect(server.url());
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  ASSERT_TRUE(store->ack_orchestration_item(first_turn_of(fetch_one(*store), 1)).has_value());
  ASSERT_TRUE(store->enqueue_messages(std::vector{message_for("a", MessageKind::kExternalRaised)}).front().has_value());
  const OrchestrationItem item = fetch_one(*store);

  PostgresSession other(server.url());
  other.execute(
      "BEGIN; UPDATE perdure.instances SET not_before = not_before WHERE id = 'a';"
      " INSERT INTO perdure.messages(key, kind, name, visible_at, body)"
      " SELECT key, 6, '', 1, 'late' FROM perdure.instances WHERE id = 'a'");
  ProviderResult<CommitAnswer> answer = ProviderError(ProviderErrorKind::kUnavailable, "not asked");
  std::atomic<bool> over = false;
  std::thread committer([&] {
    answer = store->ack_orchestration_item(second_turn_of(item));
    over = true;
  });
  while (!over && server.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0") {
    std::this_thread::yield();
  }
  EXPECT_FALSE(over) << "it did not wait for the row";
  other.execute("COMMIT");
  committer.join();
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_TRUE(answer->more_messages);
  EXPECT_EQ(fetch_one(*store).messages.at(0).record.body, "late");
}

}  // namespace
}  // namespace perdure::test
