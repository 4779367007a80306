// The client's administration calls, on every store: looking, listing, deleting, pruning.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client_scene.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ClientAdmin : public ClientScene {
 protected:
  // One instance of every kind, named after it.
  void make_one_of_each() {
    start("completed", "Nothing");
    start("failed", "Fail");
    start("cancelled", "Listen");
    client->cancel_instance("cancelled");
    start("terminated", "Listen");
    client->terminate_instance("terminated");
    start("running", "Listen");
    client->start_orchestration("pending", "Nothing", StartInstanceOptions().version("9.9.9"));
  }
  // Executions 1 to rounds + 1; the last one waits.
  void make_rounds(const std::string& instance, int rounds) {
    client->start_orchestration(instance, "Rounds", rounds);
    work();
    ASSERT_EQ(client->get_orchestration_status(instance).execution_id, static_cast<ExecutionId>(rounds) + 1);
  }
};
PERDURE_ON_EVERY_STORE(ClientAdmin);

// ---- looking ----

TEST_P(ClientAdmin, InstancesAreListedNewestFirst) {
  EXPECT_TRUE(client->has_management_capability());
  EXPECT_THAT(client->list_all_instances(), IsEmpty());
  for (const char* instance : {"a", "b", "c"}) {
    start(instance, "Nothing");
    clock->advance(1s);
  }
  client->start_orchestration("queued", "Nothing");
  EXPECT_THAT(client->list_all_instances(), ElementsAre("c", "b", "a")) << "a queued start is no instance yet";
}

TEST_P(ClientAdmin, MoreInstancesThanAPageHoldsAreAllListed) {
  constexpr std::size_t kMany = 2'100;
  for (std::size_t i = 0; i < kMany; ++i) client->start_orchestration("i" + std::to_string(i), "Nothing");
  work();
  const auto all = client->list_all_instances();
  EXPECT_EQ(all.size(), kMany);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), kMany) << "each once";
  EXPECT_EQ(client->list_instances_by_status(ExecutionStatus::kCompleted).size(), kMany);
  EXPECT_THAT(client->list_instances_by_status(ExecutionStatus::kRunning), IsEmpty());

  std::vector<std::string> paged;
  InstanceQuery query{.filter = {}, .limit = 700, .cursor = {}};
  do {
    const InstancePage page = client->list_instances(query);
    EXPECT_LE(page.instances.size(), 700U);
    for (const InstanceInfo& info : page.instances) paged.push_back(info.id);
    query.cursor = page.next;
  } while (!query.cursor.empty());
  EXPECT_EQ(paged, all);
}

TEST_P(ClientAdmin, InstancesAreListedByStatus) {
  make_one_of_each();
  work();
  EXPECT_THAT(client->list_instances_by_status(ExecutionStatus::kCompleted), ElementsAre("completed"));
  EXPECT_THAT(client->list_instances_by_status(ExecutionStatus::kRunning), ElementsAre("running"));
  EXPECT_THAT(client->list_instances_by_status(ExecutionStatus::kCancelled), ElementsAre("cancelled"));
  EXPECT_THAT(client->list_instances_by_status(ExecutionStatus::kTerminated), ElementsAre("terminated"));
  EXPECT_THAT(client->list_instances_by_status(ExecutionStatus::kFailed),
              UnorderedElementsAre("failed", "cancelled", "terminated"))
      << "failed stands for every bad end";
}

TEST_P(ClientAdmin, AnInstanceIsDescribed) {
  client->start_orchestration("i", "Echo", "x");
  work();
  const InstanceInfo info = client->get_instance_info("i");
  EXPECT_EQ(info.id, "i");
  EXPECT_EQ(info.name, "Echo");
  EXPECT_EQ(info.version, (SemanticVersion{2, 0, 0}));
  EXPECT_EQ(info.execution_id, kFirstExecutionId);
  EXPECT_EQ(info.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(info.output, "\"two: x\"");
  EXPECT_EQ(info.parent, std::nullopt);
  EXPECT_EQ(info.pinned_version, engine_version());
  EXPECT_EQ(info.created_at, kStart);
  EXPECT_EQ(info.completed_at, kStart);
}

TEST_P(ClientAdmin, ExecutionsAreDescribed) {
  make_rounds("i", 2);
  EXPECT_THAT(client->list_executions("i"), ElementsAre(1U, 2U, 3U));
  const ExecutionInfo first = client->get_execution_info("i", 1);
  EXPECT_EQ(first.status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(first.events, client->read_execution_history("i", 1).size());
  const ExecutionInfo last = client->get_execution_info("i", 3);
  EXPECT_EQ(last.status, ExecutionStatus::kRunning);
  EXPECT_EQ(last.completed_at, std::nullopt);
}

TEST_P(ClientAdmin, UnknownInstancesAreTypedErrors) {
  start("i", "Nothing");
  EXPECT_EQ(refusal([&] { (void)client->get_instance_info("nobody"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { (void)client->get_execution_info("nobody", 1); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { (void)client->get_execution_info("i", 2); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { (void)client->get_instance_tree("nobody"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->delete_instance("nobody"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->delete_instance("nobody", true); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->prune_executions("nobody"); }), ClientErrorKind::kNotFound);
  EXPECT_THAT(client->list_executions("nobody"), IsEmpty());
  EXPECT_THAT(client->read_execution_history("nobody"), IsEmpty());
}

TEST_P(ClientAdmin, HistoriesAreReadAsEvents) {
  make_rounds("i", 1);
  const auto kinds = [&](std::optional<ExecutionId> execution) {
    std::vector<std::string> names;
    for (const Event& event : client->read_execution_history("i", execution)) names.emplace_back(kind_name(event.body));
    return names;
  };
  EXPECT_THAT(kinds(1), ElementsAre("OrchestrationStarted", "CustomStatusUpdated", "OrchestrationContinuedAsNew"));
  EXPECT_THAT(kinds(2), ElementsAre("OrchestrationStarted", "CustomStatusUpdated", "ExternalSubscribed"));
  EXPECT_EQ(kinds(std::nullopt), kinds(2)) << "without an execution it is the latest";
  EXPECT_THAT(kinds(3), IsEmpty());
}

TEST_P(ClientAdmin, AHistoryThatCannotBeReadIsATypedError) {
  start("i", "Listen");
  const EventId next = client->read_execution_history("i").back().id + 1;
  const std::vector<EventRecord> damage{
      {.event_id = next, .kind = 2, .turn = 2, .time = kStart, .body = "\x01 no body"}};
  ASSERT_TRUE(store->admin()->append_history("i", 1, damage));
  try {
    (void)client->read_execution_history("i");
    FAIL() << "it cannot be read";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kStore);
    ASSERT_TRUE(error.provider_error());
    EXPECT_EQ(error.provider_error()->kind(), ProviderErrorKind::kCorruptData);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'i'")) << "it names the instance";
  }
}

TEST_P(ClientAdmin, ATreeHoldsParentsBeforeTheirChildren) {
  start("root", "Parent");
  const InstanceTree tree = client->get_instance_tree("root");
  EXPECT_EQ(tree.root, "root");
  EXPECT_THAT(tree.ids, UnorderedElementsAre("root", "first", "second", "grandchild"));
  const auto place = [&](const char* id) { return std::find(tree.ids.begin(), tree.ids.end(), id) - tree.ids.begin(); };
  EXPECT_EQ(place("root"), 0);
  EXPECT_LT(place("first"), place("grandchild"));
  EXPECT_THAT(client->get_instance_tree("first").ids, ElementsAre("first", "grandchild"));
  EXPECT_EQ(client->get_instance_info("grandchild").parent, "first");
}

TEST_P(ClientAdmin, TheStoreIsCounted) {
  make_one_of_each();
  EXPECT_EQ(client->get_queue_depths().messages, 1U) << "the start that is pending";
  work();
  const SystemMetrics metrics = client->get_system_metrics();
  EXPECT_EQ(metrics.instances, 5U);
  EXPECT_EQ(metrics.executions, 5U);
  EXPECT_EQ(metrics.running, 1U);
  EXPECT_EQ(metrics.completed, 1U);
  EXPECT_EQ(metrics.failed, 3U);
  EXPECT_EQ(metrics.cancelled, 1U);
  EXPECT_EQ(metrics.terminated, 1U);
  EXPECT_GT(metrics.events, 5U);
}

TEST_P(ClientAdmin, NodesAreListed) {
  EXPECT_THAT(client->list_nodes(), IsEmpty());
  work();
  const auto nodes = client->list_nodes();
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, node->id());
  EXPECT_EQ(nodes[0].engine_version, engine_version());
  EXPECT_EQ(nodes[0].registered_at, kStart);
}

// ---- deleting ----

TEST_P(ClientAdmin, AnEndedInstanceIsDeletedWithEverythingOfIt) {
  start("i", "Talk");
  say("i", "key a");
  say("i", "end");
  const auto events = client->read_execution_history("i").size();
  const DeleteResult result = client->delete_instance("i");
  EXPECT_EQ(result, (DeleteResult{.instances = 1, .executions = 1, .events = events, .messages = 0}));
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kNotFound);
  EXPECT_EQ(client->get_kv_value<int>("i", "a"), std::nullopt);
  EXPECT_EQ(refusal([&] { client->delete_instance("i"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(client->start_orchestration("i", "Nothing"), StartOutcome::kEnqueued) << "its name is free again";
}

TEST_P(ClientAdmin, ARunningInstanceIsDeletedByForceOnly) {
  start("i", "Listen");
  client->start_orchestration("queued", "Nothing", StartInstanceOptions().version("9.9.9"));
  EXPECT_EQ(refusal([&] { client->delete_instance("i"); }), ClientErrorKind::kStillRunning);
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kRunning);
  EXPECT_EQ(client->delete_instance("i", true).instances, 1U);
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kNotFound);
}

TEST_P(ClientAdmin, AChildIsDeletedWithItsRootOnly) {
  start("root", "Parent");
  EXPECT_EQ(refusal([&] { client->delete_instance("first"); }), ClientErrorKind::kSubOrchestration);
  EXPECT_EQ(refusal([&] { client->delete_instance("first", true); }), ClientErrorKind::kSubOrchestration);
  EXPECT_EQ(refusal([&] { client->delete_instance("root"); }), ClientErrorKind::kStillRunning);
  client->cancel_instance("root");
  work();
  EXPECT_EQ(client->delete_instance("root").instances, 4U);
  EXPECT_THAT(client->list_all_instances(), IsEmpty());
}

TEST_P(ClientAdmin, BulkDeletionLeavesAloneWhatRuns) {
  make_one_of_each();
  work();
  start("root", "Parent");
  InstanceFilter nobody;
  nobody.ids.emplace();
  EXPECT_EQ(client->delete_instance_bulk(nobody), DeleteResult{}) << "an empty list of ids is nobody";
  InstanceFilter failed;
  failed.statuses = {ExecutionStatus::kFailed};
  EXPECT_EQ(client->delete_instance_bulk(failed).instances, 3U);
  EXPECT_EQ(client->delete_instance_bulk({}).instances, 1U);
  EXPECT_THAT(client->list_all_instances(), UnorderedElementsAre("running", "root", "first", "second", "grandchild"));
}

TEST_P(ClientAdmin, BulkDeletionKeepsToItsLimitAndItsTime) {
  for (const char* instance : {"a", "b", "c"}) {
    start(instance, "Nothing");
    clock->advance(1s);
  }
  InstanceFilter old;
  old.completed_before = kStart + 1s;
  EXPECT_EQ(client->delete_instance_bulk(old).instances, 1U) << "b ended at that time, not before it";
  EXPECT_EQ(client->delete_instance_bulk({}, 1).instances, 1U);
  EXPECT_THAT(client->list_all_instances(), ElementsAre("c")) << "the oldest goes first";
}

TEST_P(ClientAdmin, DeletionsAndPruningAreLoggedWithTheirCounts) {
  make_rounds("r", 3);
  start("i", "Nothing");
  log->clear();
  client->delete_instance("i");
  client->delete_instance_bulk({});
  client->prune_executions("r");
  client->prune_executions_bulk({});
  const auto records = log->records();
  ASSERT_EQ(records.size(), 4U);
  for (const auto& record : records) {
    EXPECT_EQ(record.level, LogLevel::kInfo);
    EXPECT_TRUE(record.field("instances").has_value());
    EXPECT_TRUE(record.field("executions").has_value());
  }
  EXPECT_EQ(records[0].field("instances"), "1");
  EXPECT_EQ(records[2].field("executions"), "3");
}

// ---- pruning ----

TEST_P(ClientAdmin, PastExecutionsArePruned) {
  make_rounds("i", 4);
  EXPECT_EQ(client->prune_executions("i", {.keep_last = 3, .completed_before = {}}).executions, 2U);
  EXPECT_THAT(client->list_executions("i"), ElementsAre(3U, 4U, 5U));
  EXPECT_EQ(client->prune_executions("i", {.keep_last = 1, .completed_before = kStart}).executions, 0U)
      << "nothing ended before the beginning";
  const PruneResult rest = client->prune_executions("i", {.keep_last = 0, .completed_before = {}});
  EXPECT_EQ(rest.instances, 1U);
  EXPECT_EQ(rest.executions, 2U);
  EXPECT_GT(rest.events, 0U);
  EXPECT_THAT(client->list_executions("i"), ElementsAre(5U)) << "the current one stays";
  client->raise_event("i", "go");
  work();
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kCompleted);
}

TEST_P(ClientAdmin, BulkPruningReachesRunningInstancesToo) {
  make_rounds("a", 2);
  make_rounds("b", 3);
  const PruneResult result = client->prune_executions_bulk({}, {.keep_last = 2, .completed_before = {}});
  EXPECT_EQ(result.instances, 2U);
  EXPECT_EQ(result.executions, 3U);
  EXPECT_THAT(client->list_executions("a"), ElementsAre(2U, 3U));
  EXPECT_THAT(client->list_executions("b"), ElementsAre(3U, 4U));
  EXPECT_EQ(client->prune_executions_bulk({}, {}, 1).instances, 1U);
}

// The loop that the guide shows, with more instances than one call prunes.
TEST_P(ClientAdmin, RepeatedBulkPruningReachesEverything) {
  for (const char* id : {"a", "b", "c"}) make_rounds(id, 2);
  const PruneOptions keep{.keep_last = 2, .completed_before = {}};
  int calls = 0;
  while (client->prune_executions_bulk({}, keep, 2).executions > 0) ++calls;
  EXPECT_EQ(calls, 2);
  for (const char* id : {"a", "b", "c"}) EXPECT_THAT(client->list_executions(id), ElementsAre(2U, 3U)) << id;
}

// ---- a provider without administration ----

class PlainStore final : public testing::ForwardingProvider {
 public:
  PlainStore() : ForwardingProvider(make_memory_provider()) {}
  ProviderAdmin* admin() noexcept override { return nullptr; }
};

TEST(ClientWithoutAdmin, EveryAdministrationCallSaysThatItIsNotSupported) {
  const Client client(std::make_shared<PlainStore>());
  EXPECT_FALSE(client.has_management_capability());
  const auto expect = [](const char* name, auto call) {
    EXPECT_EQ(refusal(call), ClientErrorKind::kNotSupported) << name;
  };
  expect("list_instances", [&] { (void)client.list_instances(); });
  expect("list_all_instances", [&] { (void)client.list_all_instances(); });
  expect("list_instances_by_status", [&] { (void)client.list_instances_by_status(ExecutionStatus::kRunning); });
  expect("get_instance_info", [&] { (void)client.get_instance_info("i"); });
  expect("get_execution_info", [&] { (void)client.get_execution_info("i", 1); });
  expect("list_executions", [&] { (void)client.list_executions("i"); });
  expect("read_execution_history", [&] { (void)client.read_execution_history("i"); });
  expect("get_instance_tree", [&] { (void)client.get_instance_tree("i"); });
  expect("get_system_metrics", [&] { (void)client.get_system_metrics(); });
  expect("get_queue_depths", [&] { (void)client.get_queue_depths(); });
  expect("list_nodes", [&] { (void)client.list_nodes(); });
  expect("list_activities", [&] { (void)client.list_activities(); });
  expect("find_stuck_instances", [&] { (void)client.find_stuck_instances(); });
  expect("delete_instance", [&] { client.delete_instance("i"); });
  expect("delete_instance_bulk", [&] { client.delete_instance_bulk({}); });
  expect("prune_executions", [&] { client.prune_executions("i"); });
  expect("prune_executions_bulk", [&] { client.prune_executions_bulk({}); });
  EXPECT_EQ(client.start_orchestration("i", "Nothing"), StartOutcome::kEnqueued) << "the other calls work";
  EXPECT_EQ(client.get_orchestration_stats("i"), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
