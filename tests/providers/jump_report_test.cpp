// Jumps of the clock are logged outside locks and transactions: a sink may call the store.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/memory_provider.h>
#include <perdure/provider_admin.h>
#include <perdure/sqlite_provider.h>
#include "support/calling_sink.h"
#include "support/eventually.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStart{Milliseconds{1'700'000'000'000}};

enum class Kind { kMemory, kSqliteMemory, kSqliteFile };

class JumpReports : public ::testing::TestWithParam<Kind> {
 protected:
  JumpReports() { sink->use(store); }

  std::shared_ptr<Provider> open() {
    if (GetParam() == Kind::kMemory) {
      MemoryProviderOptions options;
      options.clock = clock;
      options.logger = Logger(sink);
      return make_memory_provider(std::move(options));
    }
    SqliteOptions options;
    options.clock = clock;
    options.logger = Logger(sink);
    return SqliteProvider::open(GetParam() == Kind::kSqliteMemory ? ":memory:" : folder.file("store.db"), options);
  }

  // The call is the first that sees the jump.
  void expect_reports(const std::string& name, const std::function<void()>& call) {
    for (const Milliseconds by : {Milliseconds(1h), Milliseconds(-1h)}) {
      clock->step(by);
      call();
      EXPECT_EQ(sink->take_jumps(), std::to_string(by.count()) + " ") << name;
      ASSERT_EQ(sink->blocked(), 0) << name << ": a call of the sink waits for the store";
    }
  }

  TemporaryFolder folder;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(kStart);
  std::shared_ptr<CallingSink> sink = std::make_shared<CallingSink>();
  std::shared_ptr<Provider> store = open();
};

TEST_P(JumpReports, EveryCallReportsOutsideTheStore) {
  expect_reports("a read", [&] { EXPECT_TRUE(store->admin()->queue_depths().has_value()); });
  expect_reports("a fetch", [&] { EXPECT_TRUE(store->fetch_work_items({}).has_value()); });
  expect_reports("a change", [&] { EXPECT_TRUE(store->cleanup_sessions().has_value()); });
  const std::vector<Abandon> abandons(1);
  expect_reports("a batch", [&] { EXPECT_EQ(store->abandon_work_items(abandons).size(), 1U); });
  WorkWait wait;
  wait.activities.emplace();
  expect_reports("a wait", [&] { EXPECT_FALSE(store->wait_for_work(wait, kStart).value()); });
  const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
  expect_reports("a wait for a change", [&] { EXPECT_FALSE(store->wait_for_change("nobody", ended, kStart).value()); });
}

// The runtime asks for the time with its locks held.
TEST_P(JumpReports, TheTimeIsToldWithoutAReport) {
  clock->step(1h);
  EXPECT_EQ(store->now(), kStart + 1h);
  EXPECT_EQ(sink->take_jumps(), "");
  EXPECT_TRUE(store->fetch_work_items({}).has_value());
  EXPECT_EQ(sink->take_jumps(), "3600000 ") << "the next call reports it";
}

// The sink starts an instance while the wait goes on. That notifies no wait that is just reporting.
TEST_P(JumpReports, AWaitThatGoesOnReportsAndSeesWhatTheSinkDid) {
  WorkWait wait;
  wait.orchestrations.emplace();
  bool found = false;
  std::thread waiter([&] { found = store->wait_for_work(wait, kStart + 24h).value(); });
  clock->step(-1h);
  waiter.join();
  EXPECT_TRUE(found);
  EXPECT_EQ(sink->take_jumps(), "-3600000 ");
  EXPECT_EQ(sink->blocked(), 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, JumpReports, ::testing::Values(Kind::kMemory, Kind::kSqliteMemory, Kind::kSqliteFile),
                         [](const auto& kind) {
                           return kind.param == Kind::kMemory         ? "Memory"
                                  : kind.param == Kind::kSqliteMemory ? "SqliteInMemory"
                                                                      : "SqliteFile";
                         });

}  // namespace
}  // namespace perdure::test
