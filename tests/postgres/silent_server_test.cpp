// A server that stops responding after the connection was made, or a pooler that is paused: every call ends, and so do
// the shutdown of a runtime and the closing of a store.
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/client.h>
#include <perdure/postgres_provider.h>
#include <perdure/provider_admin.h>
#include <perdure/registry.h>
#include <perdure/runtime.h>
#include "postgres/orders.h"
#include "support/cutting_proxy.h"
#include "support/eventually.h"
#include "support/postgres_server.h"
#include "support/when_available.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

// Far more than any of the bounds below, and far less than for good.
constexpr std::chrono::seconds kHang{25};
// For calls that connect several times, or again and again, on a machine that may stand still meanwhile.
constexpr std::chrono::seconds kLongHang{60};
// Of an attempt that the machine has spoilt because it stood still.
constexpr int kMostRepetitions = 10;

class SilentServer : public ::testing::Test {
 protected:
  SilentServer() {
    options.connections = 2;
    options.connect_timeout = Milliseconds(1'000);
    options.answer_timeout = Milliseconds(1'000);
    options.poll_interval = Milliseconds(200);
    options.poll_interval_without_wake_ups = Milliseconds(20);
  }

  [[nodiscard]] std::string url() const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres?sslmode=disable";
  }
  [[nodiscard]] std::shared_ptr<Provider> connect(const std::string& to) const {
    return when_available([&] { return PostgresProvider::connect(to, options); });
  }
  [[nodiscard]] std::shared_ptr<Provider> connect() const { return connect(url()); }
  // Without the proxy and with the usual limits: for the schema, and for what is there before the server falls silent.
  [[nodiscard]] std::shared_ptr<Provider> connect_directly() const { return PostgresProvider::connect(server.url()); }
  // Empty: it connected.
  [[nodiscard]] std::optional<ProviderError> connect_error() const {
    try {
      static_cast<void>(PostgresProvider::connect(url(), options));
      return std::nullopt;
    } catch (const ProviderFailure& failure) {
      return failure.error();
    }
  }

  // Runs it in a thread of its own. If it hangs, the connections are cut, so that the test ends.
  void expect_end(const std::string& what, const std::function<void()>& call, std::chrono::seconds hang = kHang) {
    std::future<void> done = std::async(std::launch::async, call);
    if (done.wait_for(hang) == std::future_status::timeout) {
      ADD_FAILURE() << what << " hangs";
      proxy.pass_everything();
      proxy.cut_all();
    }
    done.get();
  }
  // A session that was cut may still have its locks.
  void expect_sessions_end() const {
    EXPECT_TRUE(eventually([&] {
      return server.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perdure'") == "0";
    }));
  }

  PostgresServer server;
  CuttingProxy proxy{static_cast<std::uint16_t>(server.port())};
  PostgresOptions options;
};

TEST_F(SilentServer, OpeningFailsAtWhicheverRequestTheServerFallsSilent) {
  connect_directly().reset();  // makes the schema
  std::size_t request = 1;
  int too_late = 0;
  for (bool opened = false; !opened;) {
    proxy.go_silent_at_request(request);
    const auto open = [&] {
      const std::optional<ProviderError> error = connect_error();
      if (!proxy.is_silent()) {  // there is no such request, or the machine stood still before it: then the same again
        opened = !error;
        too_late += opened ? 0 : 1;
        ASSERT_LT(too_late, kMostRepetitions) << error->to_string();
        return;
      }
      ++request;
      if (!error) return;
      EXPECT_EQ(error->kind(), ProviderErrorKind::kUnavailable) << error->to_string();
      EXPECT_THAT(error->message(), HasSubstr("in time"));
    };
    expect_end("opening, silent at request " + std::to_string(request), open, kLongHang);
    proxy.pass_everything();
    ASSERT_FALSE(HasFailure()) << "before request " << request;
  }
  EXPECT_GE(request, 8U) << "the proxy saw the requests";
  EXPECT_TRUE(eventually([&] { return !connect_error(); }));
}

TEST_F(SilentServer, OpeningTakesTheNextHostOfAList) {
  proxy.go_silent();
  const auto open = [&] {
    const std::string both = "postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) +
                             ",127.0.0.1:" + std::to_string(server.port()) + "/postgres?sslmode=disable";
    options.connect_timeout = Milliseconds(500);
    options.answer_timeout = Milliseconds(10'000);
    const std::shared_ptr<Provider> store = connect(both);
    EXPECT_TRUE(eventually([&] { return store->read_status("a").has_value(); }));
  };
  expect_end("opening", open, kLongHang);
}

TEST_F(SilentServer, MigrationFailsWhereverTheServerFallsSilent) {
  for (const char* const part : {"pg_advisory_xact_lock", "CREATE SCHEMA", "perdure_store(version", "CREATE FUNCTION",
                                 "UPDATE perdure_store", "COMMIT"}) {
    const auto open = [&] {
      const std::optional<ProviderError> error = connect_error();
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->kind(), ProviderErrorKind::kUnavailable);
    };
    bool reached = false;
    // Again if the machine stood still before the part was sent.
    for (int tries = 0; !reached && tries < kMostRepetitions && !HasFailure(); ++tries) {
      proxy.go_silent_at(part);
      expect_end("the migration at " + std::string(part), open, kLongHang);
      reached = proxy.is_silent();
      proxy.cut_all();
      proxy.pass_everything();
      expect_sessions_end();
      EXPECT_EQ(server.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'perdure'"), "0");
    }
    EXPECT_TRUE(reached) << part << " was never sent";
  }
  EXPECT_TRUE(eventually([&] { return !connect_error(); }));
}

InstanceChange ended() {
  InstanceChange change;
  change.ended = true;
  return change;
}

NodeInfo node_called(const std::string& id) {
  NodeInfo node;
  node.id = id;
  return node;
}

using Calls = std::vector<std::pair<std::string, std::function<bool()>>>;

// Each says whether it succeeded.
Calls calls_of(Provider& store) {
  return {
      {"enqueue_start", [&] { return store.enqueue_start(start_of("b"), StartPolicy::kFail).has_value(); }},
      {"fetch", [&] { return store.fetch_orchestration_item().has_value(); }},
      {"read_status", [&] { return store.read_status("a").has_value(); }},
      {"cleanup_sessions", [&] { return store.cleanup_sessions().has_value(); }},
      {"register_node", [&] { return store.register_node(node_called("n")).has_value(); }},
      {"remove_node", [&] { return store.remove_node("n").has_value(); }},
      {"list_nodes", [&] { return store.admin()->list_nodes().has_value(); }},
      {"system_metrics", [&] { return store.admin()->system_metrics().has_value(); }},
      {"wait_for_work",
       [&] {
         WorkWait wait;
         wait.activities.emplace();
         return store.wait_for_work(wait, store.now() + Milliseconds(10)).has_value();
       }},
      {"wait_for_work for a loss",
       [&] {
         WorkWait wait;
         wait.held = {LockToken{"a1-1"}};
         return store.wait_for_work(wait, store.now() + Milliseconds(10)).has_value();
       }},
      {"wait_for_change",
       [&] { return store.wait_for_change("a", ended(), store.now() + Milliseconds(10)).has_value(); }},
  };
}

TEST_F(SilentServer, CallsFailWhenItFallsSilentWhileIdle) {
  ASSERT_TRUE(connect_directly()->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const std::shared_ptr<Provider> store = connect();
  for (const auto& [name, call] : calls_of(*store)) {
    ASSERT_TRUE(eventually([&] { return store->read_status("a").has_value(); }));
    proxy.go_silent();
    expect_end(name, [&] { EXPECT_FALSE(call()) << name << " succeeded without a server"; });
    proxy.pass_everything();
  }
  expect_end("now", [&] {
    proxy.go_silent();
    const Timestamp before = store->now();
    EXPECT_GE(store->now(), before);
  });
  proxy.pass_everything();
  EXPECT_TRUE(eventually([&] { return store->fetch_orchestration_item().has_value(); }));
}

TEST_F(SilentServer, ACallFailsWhenItFallsSilentDuringIt) {
  const std::shared_ptr<Provider> direct = connect_directly();
  ASSERT_TRUE(direct->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  OrchestrationFetch fetch;
  fetch.lock_timeout = Milliseconds(600'000);
  const OrchestrationItem item = direct->fetch_orchestration_item(fetch).value().value();
  const std::shared_ptr<Provider> store = connect();
  proxy.go_silent_at("INSERT INTO history");
  const TurnCommit commit = first_turn_of(item, 77);
  const auto commit_it = [&] {
    std::optional<ProviderResult<CommitAnswer>> answer;
    EXPECT_TRUE(eventually([&] {  // again if the machine stood still before it was sent
      answer.emplace(store->ack_orchestration_item(commit));
      return proxy.is_silent() || answer->has_value();
    }));
    ASSERT_FALSE(answer->has_value());
    EXPECT_EQ(answer->error().kind(), ProviderErrorKind::kUnavailable);
    EXPECT_THAT(answer->error().message(), HasSubstr("effect of the last call is unknown"));
  };
  expect_end("the commit", commit_it, kLongHang);
  proxy.pass_everything();
  EXPECT_TRUE(eventually([&] { return store->ack_orchestration_item(commit).has_value(); }));
}

TEST_F(SilentServer, NowNeverWaitsLongAndAsksRarely) {
  options.answer_timeout = Milliseconds(600'000);
  options.connect_timeout = Milliseconds(600'000);
  options.time_tolerance = Milliseconds(1);
  const std::shared_ptr<Provider> store = connect();
  proxy.go_silent();
  expect_end("now, 1000 times", [&] {
    Timestamp last = store->now();
    for (int i = 0; i < 1'000; ++i) {
      const Timestamp now = store->now();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  // The last calls of a store may take answer_timeout; the test does not.
  proxy.pass_everything();
}

// A host name may have several addresses, each of which may cost seconds. The runtime asks for the time with its locks
// held.
TEST_F(SilentServer, NowMakesNoConnection) {
  const auto clock = std::make_shared<ManualClock>(Timestamp());
  options.clock = clock;
  options.time_tolerance = Milliseconds(1);
  options.poll_interval_without_wake_ups = Milliseconds(600'000);  // the listener makes none either
  connect_directly().reset();                                      // makes the schema
  const std::shared_ptr<Provider> store = connect();
  const Timestamp before = store->now();
  const std::size_t connections = proxy.connections();
  proxy.cut_all();
  for (int i = 1; i <= 10; ++i) {
    clock->advance(Milliseconds(1'000));
    EXPECT_GE(store->now(), before + Milliseconds(1'000) * i);
  }
  EXPECT_EQ(proxy.connections(), connections);
  std::size_t tries = 0;
  EXPECT_TRUE(eventually([&] {
    ++tries;
    return store->read_status("a").has_value();
  }));
  if (tries == 1) {  // the machine did not stand still meanwhile
    EXPECT_EQ(proxy.connections(), connections + 1);
  }
}

// One announcement after the other would cost answer_timeout for each waiter.
TEST_F(SilentServer, ManyWaitersEndTogether) {
  connect_directly().reset();  // makes the schema
  const std::shared_ptr<Provider> store = connect();
  proxy.go_silent();
  expect_end("forty waiters", [&] {
    std::vector<std::future<bool>> waits;
    waits.reserve(40);
    for (int i = 0; i < 40; ++i) {
      waits.push_back(std::async(std::launch::async, [&, id = "w" + std::to_string(i)] {
        return store->wait_for_change(id, ended(), store->now() + Milliseconds(10)).has_value();
      }));
    }
    for (std::future<bool>& wait : waits) EXPECT_FALSE(wait.get());
  });
  proxy.pass_everything();
}

TEST_F(SilentServer, TheListenerNoticesAndWakesWaitersAfterwards) {
  PostgresOptions direct;
  direct.poll_interval = Milliseconds(600'000);
  const std::shared_ptr<Provider> other = PostgresProvider::connect(server.url(), direct);
  const std::shared_ptr<Provider> store = connect();
  const auto wait = [&] {
    WorkWait work;
    work.orchestrations.emplace();
    return store->wait_for_work(work, store->now() + Milliseconds(600'000));
  };
  const auto wait_without_a_listener = [&] {
    std::future<ProviderResult<bool>> waiting = std::async(std::launch::async, wait);
    EXPECT_TRUE(eventually([&] {
      // If the machine stood still before it was announced, it has failed.
      const bool failed = waiting.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      if (failed) waiting = std::async(std::launch::async, wait);
      return server.execute("SELECT count(*) FROM perdure.waiters") != "0";
    }));
    proxy.go_silent();
    EXPECT_FALSE(waiting.get().has_value());
  };
  expect_end("a wait without a listener", wait_without_a_listener, kLongHang);
  proxy.pass_everything();
  expect_end("a wait with a listener again", [&] {
    ASSERT_TRUE(eventually([&] { return store->read_status("a").has_value(); }));
    std::future<ProviderResult<bool>> waiting = std::async(std::launch::async, wait);
    ASSERT_TRUE(other->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
    const ProviderResult<bool> woken = waiting.get();
    EXPECT_TRUE(woken.has_value() && *woken);
  });
}

TEST_F(SilentServer, ClosingAStoreEnds) {
  connect_directly().reset();  // makes the schema
  for (const bool while_listening : {true, false}) {
    std::shared_ptr<Provider> store = connect();
    if (while_listening) {
      proxy.go_silent();
    } else {
      proxy.go_silent_at("waiters");  // the listener tells others of the commit
      static_cast<void>(store->enqueue_start(start_of("a"), StartPolicy::kIgnore));
    }
    expect_end("closing", [&] { store.reset(); });
    proxy.pass_everything();
  }
}

Registry registry_with_a_loop() {
  Registry registry;
  registry.add_activity("Step", [](ActivityContext&, int number) { return number + 1; });
  registry.add_orchestration("Loop", [](OrchestrationContext context, int steps) -> Orchestration<int> {
    int number = 0;
    while (number < steps) number = co_await context.schedule_activity<int>("Step", number);
    co_return number;
  });
  return registry;
}

TEST_F(SilentServer, ShutdownOfARuntimeEnds) {
  for (const bool busy : {true, false}) {
    Client client(connect_directly());
    std::shared_ptr<Provider> store = connect();
    auto runtime = when_available([&] { return std::make_unique<Runtime>(store, registry_with_a_loop()); });
    if (busy) {
      for (int i = 0; i < 10; ++i) client.start_orchestration("loop-" + std::to_string(i), "Loop", 100'000);
    }
    EXPECT_TRUE(
        eventually([&] { return !busy || server.execute("SELECT count(*) > 100 FROM perdure.history") == "t"; }));
    proxy.go_silent();
    expect_end(busy ? "the shutdown of a busy runtime" : "the shutdown of an idle runtime", [&] {
      runtime.reset();
      store.reset();
    });
    proxy.pass_everything();
    for (int i = 0; busy && i < 10; ++i) client.terminate_instance("loop-" + std::to_string(i), "the test is over");
  }
}

}  // namespace
}  // namespace perdure::test
