// Instances that were exported from one store and imported into another, and their lives there.
#include <algorithm>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "cli/instance_copies.h"
#include "cli/instance_file.h"
#include "lifecycles/programs.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Text = std::string;

// Root(n): three executions, a value, a status and in the last one a child; completes with n. Reads(id): the value "n"
// of that instance, or -1.
Registry transferred() {
  Registry registry = add_victims();
  registry.add_orchestration("Root", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    ctx.set_kv_value("n", n);
    ctx.set_custom_status("execution " + std::to_string(ctx.execution_id()));
    co_await ctx.schedule_timer(1min);
    if (ctx.execution_id() < 3) co_return ctx.continue_as_new(n);
    const auto leaf = child_id("leaf");
    co_return co_await ctx.schedule_sub_orchestration<int>("Quick", n, leaf);
  });
  registry.add_orchestration("Reads", [](OrchestrationContext ctx, Text id) -> Orchestration<int> {
    const auto value = co_await ctx.get_kv_value_from_instance<int>(id, "n");
    co_return value.value_or(-1);
  });
  return registry;
}

// The parameter is the world of the import. The export comes from a world in memory.
class Transfers : public ::testing::TestWithParam<WorldKind> {
 protected:
  Transfers() {
    source.start_node(transferred());
    source.client().start_orchestration("root", "Root", 5);
    source.wait("root");
  }
  [[nodiscard]] Text exported(const Text& root = "root") {
    std::ostringstream out;
    cli::InstanceFileWriter writer(out);
    writer.write_tree(cli::copy_tree(*source.store(), root));
    writer.finish();
    return out.str();
  }
  cli::ImportResult import(const Text& file, cli::Existing existing = cli::Existing::kRefuse) {
    std::istringstream in(file);
    return cli::import_file(*world.store(), in, "file", existing);
  }
  [[nodiscard]] std::ptrdiff_t log_count(const Text& message) const {
    const auto records = world.log().records();
    return std::count_if(records.begin(), records.end(), [&](const auto& each) { return each.message == message; });
  }
  [[nodiscard]] bool refuses_import() {
    try {
      import(exported());
    } catch (const std::exception&) {
      return true;
    }
    return false;
  }

  World source{WorldKind{}};
  World world{GetParam()};
  const Client& client = world.client();
};
INSTANTIATE_TEST_SUITE_P(Worlds, Transfers,
                         ::testing::Values(WorldKind{.store = StoreKind::kSqlite, .seed = 4},
                                           WorldKind{.store = StoreKind::kSqlite, .cache = false, .seed = 5},
                                           WorldKind{.store = StoreKind::kSqlite, .fast = true, .seed = 6},
                                           WorldKind{.store = StoreKind::kSqlite, .threads = true},
                                           WorldKind{.store = StoreKind::kSqlite, .threads = true, .cache = false},
                                           WorldKind{.store = StoreKind::kSqlite, .threads = true, .fast = true},
                                           WorldKind{.store = StoreKind::kPostgres, .threads = true},
                                           WorldKind{.store = StoreKind::kPostgres, .threads = true, .cache = false},
                                           WorldKind{.store = StoreKind::kPostgres, .threads = true, .fast = true}),
                         [](const auto& kind) { return kind.param.name(); });

// Instance file: "What was readable before is readable there: status, output, history, values, children, and all
// times".
TEST_P(Transfers, ACopyIsReadLikeTheOriginal) {
  source.client().prune_executions("root", {.keep_last = 2, .completed_before = {}});
  EXPECT_EQ(import(exported()).instances, 2U);
  for (const char* id : {"root", "leaf"}) {
    const Client& original = source.client();
    OrchestrationStatus copy = client.get_orchestration_status(id);
    EXPECT_NE(copy.incarnation, 0U);
    copy.incarnation = original.get_orchestration_status(id).incarnation;  // a copy has one of its own
    EXPECT_EQ(copy, original.get_orchestration_status(id));
    EXPECT_EQ(client.get_instance_info(id), original.get_instance_info(id));
    EXPECT_EQ(client.get_kv_all_values(id), original.get_kv_all_values(id));
    EXPECT_EQ(client.get_orchestration_stats(id), original.get_orchestration_stats(id));
    EXPECT_EQ(client.list_executions(id), original.list_executions(id));
    EXPECT_EQ(client.read_execution_history(id), original.read_execution_history(id));
  }
  EXPECT_THAT(client.list_executions("root"), ElementsAre(2, 3));
  EXPECT_EQ(client.get_instance_tree("root"), source.client().get_instance_tree("root"));
  EXPECT_EQ(exported(), [&] {
    std::ostringstream out;
    cli::InstanceFileWriter writer(out);
    writer.write_tree(cli::copy_tree(*world.store(), "root"));
    writer.finish();
    return out.str();
  }());
}

// Instance file: "It looks whether the store knows one of the instances. If it does, nothing is imported". "An id with
// a queued start is known."
TEST_P(Transfers, AKnownIdRefusesTheWholeTree) {
  client.start_orchestration("leaf", "Victim");
  EXPECT_TRUE(refuses_import());
  EXPECT_EQ(outcome_of(client, "root"), "NotFound");
  world.start_node(transferred());
  world.settle();
  EXPECT_TRUE(refuses_import());
  EXPECT_EQ(import(exported(), cli::Existing::kSkip).skipped, 1U);
  client.enqueue_event("leaf", "go");
  EXPECT_EQ(world.wait("leaf").result<int>(), 7);
  EXPECT_TRUE(refuses_import());
  client.delete_instance("leaf");
  EXPECT_EQ(import(exported()).instances, 2U);
  EXPECT_EQ(import(exported(), cli::Existing::kSkip).skipped, 1U);
}

// Instance file: messages that wait for an id "do not stand in the way; the import discards them". The next instance of
// the id does not get them either.
TEST_P(Transfers, MessagesThatWaitForAnIdAreDiscarded) {
  client.enqueue_event("root", "go");
  client.cancel_instance("leaf", "early", {.even_if_missing = true});
  EXPECT_EQ(import(exported()).instances, 2U);
  EXPECT_EQ(client.get_queue_depths(), QueueDepths());
  EXPECT_EQ(world.metrics().counter_total(metric::kOrphanMessagesDropped.name), 2U);
  EXPECT_EQ(log_count("messages for an instance that does not exist were discarded"), 2);
  client.start_orchestration("root", "Victim", replacing());
  client.start_orchestration("leaf", "Victim");
  world.start_node(transferred());
  world.advance(1min);
  for (const char* id : {"root", "leaf"}) {
    EXPECT_EQ(outcome_of(client, id), "Running");
    client.enqueue_event(id, "go");
    EXPECT_EQ(world.wait(id).result<int>(), 7);
  }
}

// Client: a cancel is "Without effect on ended instances". A copy has ended, and all messages are taken and dropped.
TEST_P(Transfers, MessagesDoNotChangeACopy) {
  import(exported());
  const InstanceInfo before = client.get_instance_info("root");
  world.start_node(transferred());
  client.cancel_instance("root");
  client.terminate_instance("leaf");
  client.raise_event("root", "e");
  client.enqueue_event("leaf", "go");
  EXPECT_EQ(client.start_orchestration("root", "Root", 9), StartOutcome::kIgnored);
  world.settle();
  EXPECT_EQ(outcome_of(client, "root"), "Completed 5");
  EXPECT_EQ(outcome_of(client, "leaf"), "Completed 5");
  EXPECT_EQ(client.get_instance_info("root").completed_at, before.completed_at);
  EXPECT_EQ(client.get_queue_depths(), QueueDepths());
}

// StartPolicy::kReplaceIfTerminal "deletes an ended instance with its tree and starts anew". A copy is one.
TEST_P(Transfers, ACopyCanBeReplaced) {
  import(exported());
  world.start_node(transferred());
  EXPECT_EQ(refusal_kind([&] { client.start_orchestration("leaf", "Quick", 1, replacing()); }),
            ClientErrorKind::kSubOrchestration);
  EXPECT_EQ(client.start_orchestration("root", "Root", 8, replacing()), StartOutcome::kReplaced);
  EXPECT_EQ(outcome_of(client, "leaf"), "NotFound");
  EXPECT_EQ(world.wait("root").result<int>(), 8);
  EXPECT_EQ(outcome_of(client, "leaf"), "Completed 8");
  EXPECT_EQ(client.get_orchestration_status("root").custom_status_version, 3U);
  EXPECT_THAT(client.list_executions("root"), ElementsAre(1, 2, 3));
}

// provider_admin.h: delete_instance takes "The instance with its tree"; kSubOrchestration "if it has a parent".
TEST_P(Transfers, ACopyIsPrunedAndDeletedLikeAnyOther) {
  import(exported());
  EXPECT_EQ(client.prune_executions("root").executions, 2U);
  EXPECT_EQ(client.get_kv_value<int>("root", "n"), 5);
  EXPECT_EQ(refusal_kind([&] { client.delete_instance("leaf", true); }), ClientErrorKind::kSubOrchestration);
  InstanceFilter old;
  old.completed_before = source.now() + 1ms;
  const DeleteResult deleted = client.delete_instance_bulk(old);
  EXPECT_EQ(deleted.instances, 2U);
  EXPECT_EQ(deleted.executions, 2U);
  expect_nothing_left(client);
  EXPECT_EQ(import(exported()).instances, 2U);
}

// get_kv_value_from_instance "Reads another instance's key". A child under the id of a copy is refused.
TEST_P(Transfers, RunningInstancesMeetCopies) {
  import(exported());
  Registry registry = transferred();
  registry.add_orchestration("Wants", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const auto leaf = child_id("leaf");
    const auto child = co_await ctx.schedule_sub_orchestration<int>("Quick", 1, leaf).as_result();
    if (child) co_return "got the id";
    co_return child.error().message();
  });
  world.start_node(registry);
  client.start_orchestration("reader", "Reads", "root");
  EXPECT_EQ(world.wait("reader").result<int>(), 5);
  client.start_orchestration("wants", "Wants");
  EXPECT_THAT(world.wait("wants").result<Text>(), HasSubstr("is taken"));
  EXPECT_EQ(outcome_of(client, "leaf"), "Completed 5");
  EXPECT_EQ(client.get_instance_tree("root").ids.size(), 2U);
  client.delete_instance("wants");
  EXPECT_EQ(outcome_of(client, "leaf"), "Completed 5");
}

// Client::wait_for_orchestration: "An instance that does not exist yet is waited for". An import ends the wait.
TEST_P(Transfers, AnImportEndsTheWaitOfAClient) {
  const Text file = exported();
  auto waited = std::async(std::launch::async, [&] { return client.wait_for_orchestration("root", 1h).result<int>(); });
  auto value = std::async(std::launch::async, [&] { return client.wait_for_kv_value<int>("root", "n", 1h); });
  import(file);
  EXPECT_EQ(waited.get(), 5);
  EXPECT_EQ(value.get(), 5);
}

}  // namespace
}  // namespace perdure::test
