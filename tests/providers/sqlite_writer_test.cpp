// The one writer: group commit, and who pays for a sync.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>
#include <perdure/metrics.h>
#include "providers/fault_vfs.h"
#include "providers/gate.h"
#include "providers/sqlite/schema.h"
#include "providers/sqlite/sqlite_store.h"
#include "providers/sqlite/writer.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

constexpr std::size_t kMebibyteOfLog = std::size_t{1} << 20;

class SqliteWriter : public ::testing::Test {
 protected:
  [[nodiscard]] std::uint64_t syncs() const { return disk_.count(FileCall::kSync); }
  // Syncs that a call makes.
  template <class Call>
  std::uint64_t syncs_of(const Call& call) {
    const std::uint64_t before = syncs();
    call();
    return syncs() - before;
  }
  // Transactions that a call makes.
  template <class Call>
  static std::uint64_t transactions_of(Scene& scene, const Call& call) {
    const auto& store = dynamic_cast<const sqlite::SqliteStore&>(scene.store());
    const std::uint64_t before = store.write_transactions();
    call();
    return store.write_transactions() - before;
  }
  void hold_syncs() {
    disk_.set_hook([this](const FileOperation& operation) {
      if (operation.call == FileCall::kSync) gate_.pass();
      return Fault::kNone;
    });
  }

  TemporaryFolder folder_;
  FaultVfs disk_;
  SqliteFile file_{folder_.file("store.db"), disk_.name()};
  Gate gate_;
};

TEST_F(SqliteWriter, AloneACallThatIsDurableIsOneSync) {
  Scene scene(file_);
  OrchestrationItem item;
  WorkItem work;
  EXPECT_EQ(syncs_of([&] { scene.enqueue_start("a"); }), 1U);
  EXPECT_EQ(syncs_of([&] { item = scene.fetch(); }), 0U);
  EXPECT_EQ(syncs_of([&] { take(scene.store().renew_orchestration_lock(item.token, Milliseconds{9'000})); }), 0U);
  TurnCommit commit = scene.first_commit_of(item);
  commit.activities.push_back(activity("a", 2));
  EXPECT_EQ(syncs_of([&] { scene.ack(commit); }), 1U);
  EXPECT_EQ(syncs_of([&] { work = scene.fetch_work(); }), 0U);
  EXPECT_EQ(syncs_of([&] { take(scene.store().renew_work_lock(work.token, Milliseconds{9'000})); }), 0U);
  EXPECT_EQ(syncs_of([&] { scene.ack_work(work); }), 1U);
  EXPECT_EQ(syncs_of([&] { take(scene.store().abandon_orchestration_item({.token = scene.fetch().token})); }), 0U);
  EXPECT_EQ(syncs_of([&] { take(scene.store().read_status("a")); }), 0U);
  EXPECT_EQ(syncs_of([&] { take(scene.admin().delete_instance("a", true)); }), 1U);
}

TEST_F(SqliteWriter, ABatchIsOneSync) {
  Scene scene(file_);
  std::vector<MessageRecord> messages;
  for (int number = 0; number < 100; ++number) messages.push_back(start_message("i" + std::to_string(number)));
  EXPECT_EQ(syncs_of([&] {
              for (const auto& answer : scene.store().enqueue_messages(messages)) take(answer);
            }),
            1U);
}

TEST_F(SqliteWriter, NormalSynchronousSyncsNothing) {
  SqliteOptions options = file_.options();
  options.synchronous = SqliteSynchronous::kNormal;
  const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path(), options);
  EXPECT_EQ(syncs_of([&] {
              for (int number = 0; number < 20; ++number) {
                take(store->enqueue_start(start_message("i" + std::to_string(number)), StartPolicy::kFail));
              }
            }),
            0U);
}

// The writer itself, so that the test sees who waits.
class SqliteGroup : public SqliteWriter {
 protected:
  SqliteGroup() {
    auto connection = std::make_unique<sqlite::Connection>(file_.path(), sqlite::Connection::Mode::kReadWriteCreate,
                                                           Milliseconds{10'000}, disk_.name());
    connection->execute("PRAGMA journal_mode=WAL");
    sqlite::migrate(*connection, file_.path(), sqlite::migrations());
    writer_ = std::make_unique<sqlite::Writer>(
        std::move(connection), sqlite::Store::Options{},
        sqlite::Writer::Options{.sync_commits = true,
                                .begin_time = [this](sqlite::Connection&) { return file_.options().clock->now(); },
                                .save_time = [](sqlite::Connection&, bool) {},
                                .begun = {},
                                .verify = {},
                                .committed = [](const sqlite::Changes&) {},
                                .failed = [] {}});
  }

  std::future<std::optional<ProviderError>> start(std::function<void(sqlite::Store&)> run, std::size_t bytes = 0) {
    return std::async(std::launch::async, [this, run = std::move(run), bytes] {
      std::optional<ProviderError> error;
      sqlite::Job job;
      job.bytes = bytes;
      job.run = [&](sqlite::Store& store, std::size_t) { run(store); };
      job.fail = [&](std::size_t, const ProviderError& failure) { error = failure; };
      writer_->execute(job);
      return error;
    });
  }
  static void enqueue(sqlite::Store& store, int number) {
    take(store.enqueue_message(start_message("i" + std::to_string(number))));
  }
  void wait_for_callers(std::size_t count) const {
    while (writer_->waiting() < count) std::this_thread::yield();
  }
  [[nodiscard]] std::int64_t messages() const {
    return open_plainly(file_.path()).integer("SELECT count(*) FROM messages");
  }

  std::unique_ptr<sqlite::Writer> writer_;
};

constexpr int kCallers = 24;

TEST_F(SqliteGroup, WhoComesDuringACommitGoesIntoTheNextTogether) {
  hold_syncs();
  const std::uint64_t before = syncs();
  auto first = start([](sqlite::Store& store) { enqueue(store, 0); });
  gate_.wait();
  std::vector<std::future<std::optional<ProviderError>>> others;
  for (int number = 1; number <= kCallers; ++number) {
    others.push_back(start([number](sqlite::Store& store) { enqueue(store, number); }));
  }
  wait_for_callers(kCallers);
  gate_.open();
  EXPECT_FALSE(first.get());
  for (auto& other : others) EXPECT_FALSE(other.get());
  EXPECT_EQ(syncs() - before, 2U);
  EXPECT_EQ(messages(), kCallers + 1);
}

// Five callers of 7 MiB each: two, two and one share a transaction.
TEST_F(SqliteGroup, CutsAGroupByBytes) {
  hold_syncs();
  const std::uint64_t before = writer_->write_transactions();
  auto first = start([](sqlite::Store& store) { enqueue(store, 0); });
  gate_.wait();
  std::vector<std::future<std::optional<ProviderError>>> others;
  for (int number = 1; number <= 5; ++number) {
    others.push_back(start([number](sqlite::Store& store) { enqueue(store, number); }, 7 * kMebibyteOfLog));
  }
  wait_for_callers(5);
  gate_.open();
  EXPECT_FALSE(first.get());
  for (auto& other : others) EXPECT_FALSE(other.get());
  EXPECT_EQ(writer_->write_transactions() - before, 4U);
  EXPECT_EQ(messages(), 6);
}

TEST_F(SqliteGroup, WhoFailsInAGroupFailsAlone) {
  hold_syncs();
  auto first = start([](sqlite::Store& store) { enqueue(store, 0); });
  gate_.wait();
  std::vector<std::future<std::optional<ProviderError>>> others;
  for (int number = 1; number <= kCallers; ++number) {
    others.push_back(start([number](sqlite::Store& store) {
      enqueue(store, number);
      if (number == 3) store.connection().execute("INSERT INTO nowhere VALUES(1)");
      if (number == 7) throw std::runtime_error("of its own");
      if (number == 9) throw std::bad_alloc();
    }));
  }
  wait_for_callers(kCallers);
  gate_.open();
  EXPECT_FALSE(first.get());
  int failures = 0;
  for (auto& other : others) failures += other.get() ? 1 : 0;
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(messages(), kCallers + 1 - 3);
  EXPECT_FALSE(writer_->failure());
  EXPECT_FALSE(start([](sqlite::Store& store) { enqueue(store, 99); }).get());
}

// One part in two fails. A run of the whole group for each of them would take the square of their number.
TEST_F(SqliteGroup, RunsAGroupTwiceHoweverManyPartsFail) {
  constexpr std::size_t kParts = 400;
  std::size_t runs = 0;
  std::vector<bool> failed(kParts, false);
  sqlite::Job job;
  job.parts = kParts;
  job.run = [&](sqlite::Store& store, std::size_t part) {
    ++runs;
    enqueue(store, static_cast<int>(part));
    if (part % 2 == 1) throw std::runtime_error("of its own");
  };
  job.fail = [&](std::size_t part, const ProviderError&) { failed[part] = true; };
  writer_->execute(job);
  EXPECT_LE(runs, 2 * kParts);
  for (std::size_t part = 0; part < kParts; ++part) EXPECT_EQ(failed[part], part % 2 == 1) << part;
  EXPECT_EQ(messages(), static_cast<std::int64_t>(kParts) / 2);
}

// The batch, which is one call, must not become one transaction and one log of 64 MiB.
TEST_F(SqliteWriter, SplitsABatchByBytesAndBoundsTheLog) {
  Scene scene(file_);
  std::vector<MessageRecord> messages;
  for (int number = 0; number < 64; ++number) {
    messages.push_back(start_message("i" + std::to_string(number)));
    messages.back().body = std::string(kMebibyteOfLog, static_cast<char>('a' + number % 26));
  }
  EXPECT_EQ(transactions_of(scene,
                            [&] {
                              for (const auto& result : scene.store().enqueue_messages(messages)) take(result);
                            }),
            4U);
  EXPECT_LE(std::filesystem::file_size(file_.path() + "-wal"), 40 * kMebibyteOfLog);
  for (const MessageRecord& message : messages) {
    const OrchestrationItem item = scene.fetch();
    EXPECT_EQ(item.instance, message.instance);
    ASSERT_EQ(item.messages.size(), 1U);
    EXPECT_EQ(item.messages[0].record.body, message.body);
  }
}

TEST_F(SqliteWriter, AnElementAboveTheBoundHasATransactionOfItsOwn) {
  Scene scene(file_);
  std::vector<MessageRecord> messages{start_message("a"), start_message("b"), start_message("c"), start_message("d")};
  messages[1].body = std::string(17 * kMebibyteOfLog, 'x');
  EXPECT_EQ(transactions_of(scene,
                            [&] {
                              for (const auto& result : scene.store().enqueue_messages(messages)) take(result);
                            }),
            3U);
  EXPECT_EQ(open_plainly(file_.path()).integer("SELECT count(*) FROM messages"), 4);
}

TEST_F(SqliteWriter, PrunesALongPastInSeveralTransactions) {
  Scene scene(file_);
  scene.create("a");
  open_plainly(file_.path())
      .execute(
          "UPDATE instances SET execution = 2601; UPDATE executions SET execution = 2601; UPDATE history SET execution "
          "= 2601;"
          "WITH RECURSIVE past(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM past WHERE number < 2600)"
          " INSERT INTO executions(key, execution, status, carry_forward, started_at, completed_at)"
          " SELECT key, number, 5, 0, 1, 2 FROM past, instances;"
          "INSERT INTO history(key, execution, first_event, events, body_bytes, data)"
          " SELECT key, execution, 1, 3, 1048576, x'00' FROM executions WHERE execution <= 20");
  PruneResult pruned;
  PruneOptions options;
  options.keep_last = 101;
  EXPECT_EQ(transactions_of(scene, [&] { pruned = take(scene.admin().prune_executions("a", options)); }), 4U)
      << "one for the bytes of the first 16 executions, and three for the number of the others";
  EXPECT_EQ(pruned.instances, 1U);
  EXPECT_EQ(pruned.executions, 2'500U);
  EXPECT_EQ(pruned.events, 60U);
  EXPECT_EQ(take(scene.admin().list_executions("a")).size(), 101U);
  EXPECT_EQ(take(scene.admin().prune_executions("a", options)).executions, 0U);
}

TEST_F(SqliteWriter, ABatchOfGoodAndDuplicateActivitiesIsOneSyncForEachTransaction) {
  Scene scene(file_);
  std::vector<MessageRecord> activities;
  for (EventId id = 1; id <= 2'000; ++id) {
    activities.push_back(activity("a", id));
    activities.push_back(activity("a", id));
  }
  EXPECT_LE(syncs_of([&] {
              const auto results = scene.store().enqueue_activities(activities);
              for (std::size_t index = 0; index < results.size(); ++index) {
                ASSERT_EQ(results[index].has_value(), index % 2 == 0) << index;
                if (!results[index]) {
                  ASSERT_EQ(results[index].error().kind(), ProviderErrorKind::kAlreadyExists);
                }
              }
            }),
            5U);
  EXPECT_EQ(take(scene.admin().queue_depths()).activities, 2'000U);
}

// The transaction fails twice before it is committed.
TEST_F(SqliteWriter, CountsDiscardedMessagesOnceAndAfterTheCommit) {
  const auto counted = std::make_shared<InMemoryMetrics>();
  SqliteOptions options = file_.options();
  options.metrics = Metrics(counted);
  const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path(), options);
  take(store->enqueue_message(event_message("orphan", "e")));
  file_.advance(file_.orphan_retention());
  disk_.set_hook([](const FileOperation& operation) {
    return operation.call == FileCall::kWrite ? Fault::kDiskFull : Fault::kNone;
  });
  EXPECT_FALSE(store->fetch_orchestration_item());
  EXPECT_FALSE(store->fetch_orchestration_item());
  EXPECT_EQ(counted->counter_total(metric::kOrphanMessagesDropped.name), 0U);
  disk_.set_hook({});
  take(store->fetch_orchestration_item());
  EXPECT_EQ(counted->counter_total(metric::kOrphanMessagesDropped.name), 1U);
}

// A sink of the user may use the store; on the thread of the writer that would wait for itself.
TEST_F(SqliteWriter, ASinkMayCallTheStore) {
  class CallingSink final : public MetricsSink {
   public:
    void add(const MetricId&, MetricLabels, std::uint64_t) override {
      ++calls;
      take(store->enqueue_message(event_message("other", "e")));
    }
    void set(const MetricId&, MetricLabels, double) override {}
    void observe(const MetricId&, MetricLabels, double) override {}
    Provider* store = nullptr;
    int calls = 0;
  };
  const auto sink = std::make_shared<CallingSink>();
  SqliteOptions options = file_.options();
  options.metrics = Metrics(sink);
  const std::shared_ptr<Provider> store = SqliteProvider::open(file_.path(), options);
  sink->store = store.get();
  take(store->enqueue_message(event_message("orphan", "e")));
  file_.advance(file_.orphan_retention());
  take(store->fetch_orchestration_item());
  EXPECT_EQ(sink->calls, 1);
}

TEST_F(SqliteWriter, ABadElementOfABatchFailsAlone) {
  Scene scene(file_);
  open_plainly(file_.path())
      .execute(
          "CREATE TRIGGER poison BEFORE INSERT ON messages WHEN new.name = 'Poison' BEGIN"
          " SELECT RAISE(ABORT, 'poison'); END");
  const std::vector<MessageRecord> messages{start_message("a"), start_message("b", "Poison"), start_message("c")};
  const auto answers = scene.store().enqueue_messages(messages);
  EXPECT_TRUE(answers[0]);
  EXPECT_FALSE(answers[1]);
  EXPECT_TRUE(answers[2]);
  EXPECT_TRUE(take(scene.store().read_status("a")));
  EXPECT_FALSE(take(scene.store().read_status("b")));
  EXPECT_TRUE(take(scene.store().read_status("c")));
  scene.enqueue_start("d");
}

}  // namespace
}  // namespace perdure::testing
