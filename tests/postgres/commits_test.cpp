// Commits that meet what others do to the same rows, and commits with many bytes.
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include "postgres/orders.h"
#include "providers/postgres/commit_pipeline.h"
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

constexpr std::size_t kMiB = std::size_t{1} << 20;

postgres::InstanceLock lock_of(std::int64_t key) {
  return {.key = key, .secret = 1, .instance = "i" + std::to_string(key)};
}

TurnCommit commit_with_event(std::string body) {
  TurnCommit commit;
  commit.events = {event_of_order(2)};
  commit.events.front().body = std::move(body);
  return commit;
}

// The server refuses a statement of a gigabyte, for all turns of the batch.
TEST(PostgresCommits, ABatchHasABoundOnItsBytes) {
  const TurnCommit commit = commit_with_event(std::string(16 * kMiB, 'x'));
  std::size_t batches = 0;
  std::optional<postgres::CommitPipeline> pipeline;
  for (std::int64_t key = 1; key <= 64; ++key) {
    if (pipeline && !pipeline->fits(commit, lock_of(key))) pipeline.reset();
    if (!pipeline) {
      pipeline.emplace(Milliseconds(1));
      ++batches;
    }
    pipeline->add(commit, lock_of(key));
  }
  EXPECT_EQ(batches, 4U) << "each with 256 MiB";
}

TEST(PostgresCommits, TheBoundCountsEverythingThatATurnWrites) {
  const std::string large(160 * kMiB, 'x');
  const std::vector<std::function<void(TurnCommit&)>> parts{
      [&](TurnCommit& commit) { commit.events.front().body = large; },
      [&](TurnCommit& commit) { commit.status = StatusChange{ExecutionStatus::kCompleted, large}; },
      [&](TurnCommit& commit) { commit.custom_status = CustomStatusChange{large}; },
      [&](TurnCommit& commit) { commit.key_values = {SetKeyValue{"k", large, {}}}; },
      [&](TurnCommit& commit) {
        commit.activities = {message_for("i1", MessageKind::kExecuteActivity)};
        commit.activities.front().body = large;
      },
      [&](TurnCommit& commit) {
        commit.messages = {message_for("receiver", MessageKind::kExternalRaised)};
        commit.messages.front().body = large;
      }};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    TurnCommit commit = commit_with_event("e");
    parts[part](commit);
    postgres::CommitPipeline pipeline(Milliseconds(1));
    EXPECT_TRUE(pipeline.fits(commit, lock_of(1))) << part << ": a turn that is too large for a batch goes alone";
    pipeline.add(commit, lock_of(1));
    EXPECT_TRUE(pipeline.fits(commit_with_event("e"), lock_of(2))) << part;
    EXPECT_FALSE(pipeline.fits(commit, lock_of(2))) << part;
  }
}

TEST(PostgresCommits, ManyLargeTurnsAreCommittedInOneCall) {
  constexpr std::size_t kTurns = 7;
  const PostgresServer server;
  const std::shared_ptr<Provider> store = PostgresProvider::connect(server.url());
  for (std::size_t i = 0; i < kTurns; ++i) {
    ASSERT_TRUE(store->enqueue_start(start_of("i" + std::to_string(i)), StartPolicy::kFail));
  }
  OrchestrationFetch fetch;
  fetch.limit = kTurns;
  std::vector<TurnCommit> commits;
  for (const OrchestrationItem& item : store->fetch_orchestration_items(fetch).value().items) {
    commits.push_back(first_turn_of(item, commits.size() + 1));
    commits.back().events.front().body.assign(16 * kMiB, 'x');
  }
  ASSERT_EQ(commits.size(), kTurns);
  for (const ProviderResult<CommitAnswer>& answer : store->ack_orchestration_items(commits)) {
    EXPECT_TRUE(answer) << answer.error().to_string();
  }
}

}  // namespace
}  // namespace perdure::test
