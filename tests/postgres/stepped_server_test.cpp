// The server's clock is set while a node runs, with the node's own steady clock and in real time.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include "support/eventually.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

class SteppedServer : public ::testing::Test {
 protected:
  SteppedServer() {
    options.schema = "stepped_server_test_" + std::to_string(::getpid());
    session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
    store = PostgresProvider::connect(shared_postgres_url(), options);
    registry.add_orchestration("Sleep", [](OrchestrationContext ctx, std::int64_t ms) -> Orchestration<int> {
      co_await ctx.schedule_timer(Milliseconds(ms));
      co_return 1;
    });
  }
  ~SteppedServer() override {
    store.reset();
    session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
  }

  void step(Milliseconds by) {
    session.execute("CREATE OR REPLACE FUNCTION " + options.schema +
                    ".server_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT (date_part('epoch', "
                    "clock_timestamp()) * 1000)::bigint + " +
                    std::to_string(by.count()) + " $$");
  }
  void start(const Client& client, const std::string& instance, Milliseconds time) {
    client.start_orchestration(instance, "Sleep", std::int64_t{time.count()});
    ++sleeping;
    EXPECT_TRUE(eventually([&] {
      return store->admin()->queue_depths().value().delayed_messages >= sleeping ||
             client.get_orchestration_status(instance).ended();  // the machine stood still until the timer fired
    }));
  }

  PostgresSession session{shared_postgres_url()};
  PostgresOptions options;
  std::shared_ptr<Provider> store;
  Registry registry;
  std::size_t sleeping = 0;  // orchestrations
};

// Far more than the times below, and less than the steps.
constexpr std::chrono::seconds kSoon{45};

TEST_F(SteppedServer, BackDelaysNeitherTimersNorWaits) {
  const Runtime runtime(store, registry);
  const Client client(store);
  start(client, "long", 1h);
  start(client, "short", 1s);
  step(-60s);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THROW(client.wait_for_orchestration("long", 1s), ClientError);
  EXPECT_TRUE(client.wait_for_orchestration("short", 30s).completed());
  EXPECT_LT(std::chrono::steady_clock::now() - before, kSoon);
}

TEST_F(SteppedServer, ForwardFiresTimersAndEndsNoWait) {
  const Runtime runtime(store, registry);
  const Client client(store);
  start(client, "never", 1'000h);
  start(client, "long", 1h);
  std::thread waiting([&] { EXPECT_TRUE(client.wait_for_orchestration("long", 30min).completed()); });
  step(2h);
  client.enqueue_event("never", "queue", 1);  // the node sees the time with its next call
  waiting.join();
  EXPECT_FALSE(client.get_orchestration_status("never").ended());
}

}  // namespace
}  // namespace perdure::test
