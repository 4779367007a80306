// A child of fork(): it has a copy of the store and of the runtime, and none of their threads.
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include "runtime/threaded.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

enum class StoreKind : std::uint8_t { kMemory, kSqliteInMemory, kSqliteFile, kPostgres };

bool is_sentence(const std::string& text) {
  return text.find("by process") != std::string::npos && text.find("after fork(); ") != std::string::npos;
}

// Collects the calls that do not fail in the child with the sentence.
class Complaints {
 public:
  template <class T>
  void expect_error(const char* call, const ProviderResult<T>& result) {
    if (result || result.error().kind() != ProviderErrorKind::kUnsupported || !is_sentence(result.error().message())) {
      add(call, result ? "succeeded" : result.error().message());
    }
  }
  template <class T>
  void expect_error(const char* call, const std::vector<ProviderResult<T>>& results) {
    if (results.size() != 1) return add(call, "returned " + std::to_string(results.size()) + " results");
    expect_error(call, results.front());
  }
  template <class Failure>
  void expect_throw(const char* call, const std::function<void()>& made) {
    try {
      made();
      add(call, "succeeded");
    } catch (const Failure& failure) {
      if (!is_sentence(failure.what())) add(call, failure.what());
    } catch (const std::exception& other) {
      add(call, "threw another exception: " + std::string(other.what()));
    }
  }
  [[nodiscard]] bool none() const noexcept { return none_; }

 private:
  void add(const char* call, const std::string& what) {
    none_ = false;
    static_cast<void>(std::fprintf(stderr, "in the child, %s: %s\n", call, what.c_str()));
  }
  bool none_ = true;
};

// Returns the exit status of the child, which is killed if it hangs.
int status_in_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(100);
    ::_exit(holds() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

void call_queues(Provider& store, Complaints& complaints) {
  const LockToken token{"token"};
  const std::span tokens(&token, 1);
  const Abandon abandon{.token = token};
  const std::span abandons(&abandon, 1);
  const TurnCommit commit;
  const WorkAck ack{.token = token, .completion = {}};
  const Heartbeat heartbeat{.token = token, .details = {}, .extend_for = {}};
  const MessageRecord message;
  const std::string owner = "owner";
  complaints.expect_error("fetch_orchestration_items", store.fetch_orchestration_items({}));
  complaints.expect_error("read_history", store.read_history(token, 0));
  complaints.expect_error("ack_orchestration_items", store.ack_orchestration_items(std::span(&commit, 1)));
  complaints.expect_error("abandon_orchestration_items", store.abandon_orchestration_items(abandons));
  complaints.expect_error("renew_orchestration_locks", store.renew_orchestration_locks(tokens, 1s));
  complaints.expect_error("enqueue_messages", store.enqueue_messages(std::span(&message, 1)));
  complaints.expect_error("enqueue_start", store.enqueue_start(message, StartPolicy::kIgnore));
  complaints.expect_error("fetch_work_items", store.fetch_work_items({}));
  complaints.expect_error("ack_work_items", store.ack_work_items(std::span(&ack, 1)));
  complaints.expect_error("abandon_work_items", store.abandon_work_items(abandons));
  complaints.expect_error("renew_work_locks", store.renew_work_locks(tokens, 1s));
  complaints.expect_error("heartbeat", store.heartbeat(std::span(&heartbeat, 1)));
  complaints.expect_error("enqueue_activities", store.enqueue_activities(std::span(&message, 1)));
  complaints.expect_error("renew_sessions", store.renew_sessions(std::span(&owner, 1), 1s, 1s));
  complaints.expect_error("cleanup_sessions", store.cleanup_sessions());
}

void call_reads(Provider& store, Complaints& complaints) {
  const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
  NodeInfo node;
  node.id = "n";
  complaints.expect_error("read_status", store.read_status("i"));
  complaints.expect_error("read_custom_status", store.read_custom_status("i", 0));
  complaints.expect_error("read_key_value", store.read_key_value("i", "k"));
  complaints.expect_error("read_key_values", store.read_key_values("i"));
  complaints.expect_error("read_stats", store.read_stats("i"));
  complaints.expect_error("wait_for_work", store.wait_for_work({}, Timestamp::max()));
  complaints.expect_error("wait_for_change", store.wait_for_change("i", ended, Timestamp::max()));
  complaints.expect_throw<ProviderFailure>("now", [&] { static_cast<void>(store.now()); });
  complaints.expect_throw<ProviderFailure>("steady", [&] { static_cast<void>(store.steady()); });
  complaints.expect_error("register_node", store.register_node(node));
  complaints.expect_error("remove_node", store.remove_node("n"));
}

void call_admin(ProviderAdmin& admin, Complaints& complaints) {
  const std::string id = "i";
  const std::span ids(&id, 1);
  complaints.expect_error("list_instances", admin.list_instances({}));
  complaints.expect_error("list_executions", admin.list_executions(id));
  complaints.expect_error("instance_info", admin.instance_info(id));
  complaints.expect_error("execution_info", admin.execution_info(id, 1));
  complaints.expect_error("read_history of admin", admin.read_history(id, std::nullopt, 0));
  complaints.expect_error("list_children", admin.list_children(id));
  complaints.expect_error("instance_tree", admin.instance_tree(id));
  complaints.expect_error("system_metrics", admin.system_metrics());
  complaints.expect_error("queue_depths", admin.queue_depths());
  complaints.expect_error("list_nodes", admin.list_nodes());
  complaints.expect_error("list_activities", admin.list_activities({}));
  complaints.expect_error("list_queued_starts", admin.list_queued_starts({}));
  complaints.expect_error("instance_queue", admin.instance_queue(id));
  complaints.expect_error("read_key_value_snapshot", admin.read_key_value_snapshot(id));
  complaints.expect_error("delete_instance", admin.delete_instance(id, true));
  complaints.expect_error("delete_instances", admin.delete_instances(ids, true));
  complaints.expect_error("delete_matching", admin.delete_matching({}, 10));
  complaints.expect_error("prune_executions", admin.prune_executions(id, {}));
  complaints.expect_error("prune_matching", admin.prune_matching({}, {}, 10));
  complaints.expect_error("append_history", admin.append_history(id, 1, {}));
}

void call_client(const Client& client, Complaints& complaints) {
  const auto expect = [&](const char* call, const std::function<void()>& made) {
    complaints.expect_throw<ClientError>(call, made);
  };
  expect("start_orchestration", [&] { client.start_orchestration("j", "Flow"); });
  expect("raise_event", [&] { client.raise_event("i", "e"); });
  expect("enqueue_event", [&] { client.enqueue_event("i", "q"); });
  expect("cancel_instance", [&] { client.cancel_instance("i"); });
  expect("terminate_instance", [&] { client.terminate_instance("i"); });
  expect("get_orchestration_status", [&] { static_cast<void>(client.get_orchestration_status("i")); });
  expect("wait_for_orchestration", [&] { client.wait_for_orchestration("i", 10s); });
  expect("wait_for_status_change", [&] { client.wait_for_status_change("i", 0, 10s); });
  expect("get_kv_value", [&] { static_cast<void>(client.get_kv_value<int>("i", "k")); });
  expect("wait_for_kv_value", [&] { static_cast<void>(client.wait_for_kv_value<int>("i", "k", 10s)); });
  expect("list_all_instances", [&] { static_cast<void>(client.list_all_instances()); });
  expect("read_execution_history", [&] { static_cast<void>(client.read_execution_history("i")); });
  expect("find_stuck_instances", [&] { static_cast<void>(client.find_stuck_instances()); });
  expect("delete_instance", [&] { static_cast<void>(client.delete_instance("i", true)); });
}

class Forked : public ::testing::TestWithParam<StoreKind> {
 protected:
  Forked() {
    registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
    store = open();
  }
  ~Forked() override {
    store.reset();
    if (!schema.empty()) PostgresSession(shared_postgres_url()).execute("DROP SCHEMA " + schema + " CASCADE");
  }
  std::shared_ptr<Provider> open() {
    switch (GetParam()) {
      case StoreKind::kMemory:
        return make_memory_provider();
      case StoreKind::kSqliteInMemory:
        return SqliteProvider::open(":memory:");
      case StoreKind::kSqliteFile:
        return SqliteProvider::open(folder.file("store.db"));
      case StoreKind::kPostgres:
        break;
    }
    schema = "perdure_forked_" + std::to_string(::getpid());
    PostgresSession(shared_postgres_url()).execute("DROP SCHEMA IF EXISTS " + schema + " CASCADE");
    PostgresOptions options;
    options.schema = schema;
    return PostgresProvider::connect(shared_postgres_url(), options);
  }

  TemporaryFolder folder;
  std::string schema;
  Registry registry;
  std::shared_ptr<Provider> store;
};
INSTANTIATE_TEST_SUITE_P(Stores, Forked,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kSqliteInMemory, StoreKind::kSqliteFile,
                                           StoreKind::kPostgres),
                         [](const auto& kind) -> std::string {
                           switch (kind.param) {
                             case StoreKind::kMemory:
                               return "Memory";
                             case StoreKind::kSqliteInMemory:
                               return "SqliteInMemory";
                             case StoreKind::kSqliteFile:
                               return "SqliteFile";
                             case StoreKind::kPostgres:
                               break;
                           }
                           return "Postgres";
                         });

TEST_P(Forked, EachCallOfTheStoreFailsAtOnceInAChild) {
  const Runtime runtime(store, registry);  // whose threads wait, and may hold locks at any moment
  EXPECT_EQ(status_in_child([&] {
              Complaints complaints;
              call_queues(*store, complaints);
              call_reads(*store, complaints);
              call_admin(*store->admin(), complaints);
              store->wake_waiters();
              return complaints.none();
            }),
            0);
}

TEST_P(Forked, EachCallOfAClientThrowsInAChild) {
  const Client client(store);
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(status_in_child([&] {
              Complaints complaints;
              call_client(client, complaints);
              return complaints.none();
            }),
            0);
  EXPECT_EQ(client.get_orchestration_status("i").state, OrchestrationState::kPending);
  EXPECT_EQ(client.get_orchestration_status("j").state, OrchestrationState::kNotFound);
}

TEST_P(Forked, RuntimeThrowsInAChild) {
  Runtime runtime(store, registry);
  EXPECT_EQ(status_in_child([&] {
              Complaints complaints;
              const auto expect = [&](const char* call, const std::function<void()>& made) {
                complaints.expect_throw<std::logic_error>(call, made);
              };
              expect("shutdown", [&] { runtime.shutdown(); });
              expect("idle", [&] { static_cast<void>(runtime.idle()); });
              expect("health", [&] { static_cast<void>(runtime.health()); });
              expect("set_version_policy", [&] { runtime.set_version_policy("Flow", VersionPolicy::latest()); });
              // A runtime makes its threads before it calls the store, and the thread sanitizer ends a child that does.
              if (!PERDURE_TEST_SANITIZED) {
                complaints.expect_throw<ProviderFailure>("a new runtime",
                                                         [&] { const Runtime other(store, registry); });
              }
              return complaints.none();
            }),
            0);
}

// The handles of asynchronous activities are in a container that a child destroys when it calls exit().
TEST_P(Forked, HandlesOfActivitiesDoNothingInAChild) {
  struct Handle {
    ActivityContext ctx;
    ActivityCompletion<int> done;
  };
  std::vector<Handle> handles;
  std::mutex mutex;
  registry.add_async_activity("Open", [&](ActivityContext ctx, ActivityCompletion<int> done) {
    const std::scoped_lock lock(mutex);
    handles.push_back({std::move(ctx), std::move(done)});
  });
  registry.add_orchestration("Awaits", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Open");
  });
  const Client client(store);
  client.start_orchestration("completed", "Awaits");
  client.start_orchestration("dropped", "Awaits");
  auto runtime = std::make_unique<Runtime>(store, registry);
  ASSERT_TRUE(eventually([&] {
    const std::scoped_lock lock(mutex);
    return handles.size() == 2;
  }));
  EXPECT_EQ(status_in_child([&] {
              Complaints complaints;
              const Handle& first = handles.front();
              complaints.expect_throw<std::logic_error>("heartbeat", [&] { first.ctx.heartbeat(); });
              complaints.expect_throw<std::logic_error>("heartbeat with details", [&] { first.ctx.heartbeat(1); });
              const bool any_counts = first.done.complete(1) || first.done.fail("in a child");
              runtime.reset();
              handles.clear();
              return complaints.none() && !any_counts;
            }),
            0);
  for (const Handle& handle : handles) EXPECT_TRUE(handle.done.complete(2));
  EXPECT_EQ(client.wait_for_orchestration("completed", kPatience).result<int>(), 2);
  EXPECT_EQ(client.wait_for_orchestration("dropped", kPatience).result<int>(), 2);
  runtime.reset();
}

// Threads of the parent wait in the store, for work and for an instance, when the child is made.
TEST_P(Forked, DestructorsInAChildTouchNothing) {
  auto client = std::make_unique<Client>(store);
  client->start_orchestration("waits", "Absent");
  auto runtime = std::make_unique<Runtime>(store, registry);
  const Gate ended;
  std::thread waiting([waiter = Client(store), ended] {
    static_cast<void>(waiter.wait_for_orchestration("waits", kPatience));
    ended.open();
  });
  ASSERT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_EQ(status_in_child([&] {
              runtime.reset();
              client.reset();
              // The copy of the thread that waits, and of the runtime, have one reference each.
              Provider* const last = store.get();
              store.reset();
              last->~Provider();
              return true;
            }),
            0);
  client->start_orchestration("i", "Flow");
  EXPECT_TRUE(client->wait_for_orchestration("i", kPatience).completed());
  EXPECT_EQ(client->list_nodes().size(), 1U);
  client->terminate_instance("waits");
  EXPECT_TRUE(ended.wait());
  waiting.join();
}

}  // namespace
}  // namespace perdure::test
