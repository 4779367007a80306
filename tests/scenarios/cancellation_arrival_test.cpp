// Cancellations reach running activities on real clocks, within one process and between two users of one store. The
// locks last so long that no renewal can be the messenger.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include "scenarios/open_calls.h"
#include "support/eventually.h"
#include "support/postgres_server.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Whether the one who cancels has opened the store by itself. That is all that two processes have in common.
struct Constellation {
  const char* name;
  const char* store;
  bool shares_provider;
};

std::ostream& operator<<(std::ostream& out, const Constellation& constellation) {
  return out << constellation.name;
}

class CancellationArrival : public ::testing::TestWithParam<Constellation> {
 protected:
  CancellationArrival() {
    if (GetParam().store == std::string("postgres")) server_ = std::make_unique<PostgresServer>();
    here_ = open();
    there_ = GetParam().shares_provider ? here_ : open();
    RuntimeOptions options;
    options.fetch_only_registered = true;
    options.worker_lock_timeout = 20min;
    options.session_idle_timeout = 1h;
    options.orchestrator_lock_timeout = 20min;
    Registry activities;
    calls.add_to(activities);
    worker_ = std::make_unique<Runtime>(here_, std::move(activities), options);
    Registry orchestrations;
    add_flow(orchestrations, ActivityOptions());
    turns_ = std::make_unique<Runtime>(there_, std::move(orchestrations), options);
    client = std::make_unique<Client>(there_);
  }

  void start() {
    client->start_orchestration("i", "Flow");
    ASSERT_TRUE(eventually([&] { return calls.size() == 1; }));
  }
  // Prints how long it took; nothing is asserted of that.
  void expect_stop(const char* after_what) {
    const auto from = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return calls.at(0).ctx.is_cancelled(); }));
    const auto took = std::chrono::steady_clock::now() - from;
    std::cout << "cancellation reached " << GetParam().name << " after " << after_what << " in "
              << std::chrono::duration_cast<Milliseconds>(took).count() << " ms\n";
  }

  OpenCalls calls;
  std::unique_ptr<Client> client;

 private:
  std::shared_ptr<Provider> open() {
    if (server_) return PostgresProvider::connect(server_->url());
    return GetParam().store == std::string("sqlite") ? SqliteProvider::open(folder_.file("store.db"))
                                                     : make_memory_provider();
  }

  TemporaryFolder folder_;
  std::unique_ptr<PostgresServer> server_;
  std::shared_ptr<Provider> here_;
  std::shared_ptr<Provider> there_;
  std::unique_ptr<Runtime> worker_;
  std::unique_ptr<Runtime> turns_;
};
INSTANTIATE_TEST_SUITE_P(Constellations, CancellationArrival,
                         ::testing::Values(Constellation{"Memory", "memory", true},
                                           Constellation{"SqliteShared", "sqlite", true},
                                           Constellation{"SqliteSeparate", "sqlite", false},
                                           Constellation{"PostgresShared", "postgres", true},
                                           Constellation{"PostgresSeparate", "postgres", false}),
                         [](const auto& constellation) { return std::string(constellation.param.name); });

TEST_P(CancellationArrival, OfAnInstance) {
  start();
  client->cancel_instance("i", "by hand");
  expect_stop("a cancel");
}

TEST_P(CancellationArrival, ByAForcedDeletion) {
  start();
  client->delete_instance("i", true);
  expect_stop("a forced deletion");
}

}  // namespace
}  // namespace perdure::test
