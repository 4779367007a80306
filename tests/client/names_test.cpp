// Every entry point refuses the same invalid names with the same text.
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/memory_provider.h>
#include <perdure/perdure.h>
#include "model/name_rule.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

struct Door {
  const char* door;
  const char* what;
  std::function<std::string(const std::string&)> refusal;  // the error for the name; empty: it is accepted
};

std::string of_client(const std::function<void(const Client&)>& call) {
  const Client client(make_memory_provider());
  try {
    call(client);
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kInvalidInput);
    return error.what();
  }
  return "";
}

std::string of_code(const std::function<void(Ctx&)>& call) {
  std::string said;
  Harness harness([&](Ctx ctx) -> Orchestration<int> {
    try {
      call(ctx);
    } catch (const MisuseError& error) {
      said = error.what();
    }
    co_return co_await ctx.schedule_wait<int>("go");
  });
  harness.start();
  EXPECT_EQ(harness.replay_failure(), std::nullopt) << "code that catches the error takes the same way again";
  return said;
}

std::string of_registry(const std::function<void(Registry&)>& call) {
  Registry registry;
  call(registry);
  return registry.errors().empty() ? "" : registry.errors().front();
}

std::string of_options(const std::function<void(RuntimeOptions&)>& call) {
  RuntimeOptions options;
  call(options);
  try {
    options.check();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

InstanceFilter of_ids(const std::string& id) {
  InstanceFilter filter;
  filter.ids = {"a", id};
  return filter;
}

std::vector<Door> client_doors() {
  const auto door = [](const char* name, const char* what, auto call) {
    return Door{name, what, [call](const std::string& value) {
                  return of_client([&](const Client& client) { call(client, value); });
                }};
  };
  const auto of_id = [&](const char* name, auto call) { return door(name, "an instance id", call); };
  using C = const Client&;
  using S = const std::string&;
  return {
      of_id("start", [](C client, S id) { client.start_orchestration(id, "O"); }),
      door("start", "an orchestration's name", [](C client, S name) { client.start_orchestration("i", name); }),
      of_id("raise_event", [](C client, S id) { client.raise_event(id, "e"); }),
      door("raise_event", "an event's name", [](C client, S name) { client.raise_event("i", name); }),
      of_id("enqueue_event", [](C client, S id) { client.enqueue_event(id, "q"); }),
      door("enqueue_event", "a queue's name", [](C client, S name) { client.enqueue_event("i", name); }),
      of_id("cancel_instance", [](C client, S id) { client.cancel_instance(id); }),
      of_id("terminate_instance", [](C client, S id) { client.terminate_instance(id); }),
      of_id("get_orchestration_status", [](C client, S id) { (void)client.get_orchestration_status(id); }),
      of_id("wait_for_orchestration", [](C client, S id) { (void)client.wait_for_orchestration(id, 0ms); }),
      of_id("wait_for_status_change", [](C client, S id) { (void)client.wait_for_status_change(id, 0, 0ms); }),
      of_id("get_kv_value", [](C client, S id) { (void)client.get_kv_value<int>(id, "k"); }),
      of_id("get_kv_all_values", [](C client, S id) { (void)client.get_kv_all_values(id); }),
      of_id("wait_for_kv_value", [](C client, S id) { (void)client.wait_for_kv_value<int>(id, "k", 0ms); }),
      of_id("get_orchestration_stats", [](C client, S id) { (void)client.get_orchestration_stats(id); }),
      of_id("get_instance_info", [](C client, S id) { (void)client.get_instance_info(id); }),
      of_id("get_execution_info", [](C client, S id) { (void)client.get_execution_info(id, 1); }),
      of_id("list_executions", [](C client, S id) { (void)client.list_executions(id); }),
      of_id("read_execution_history", [](C client, S id) { (void)client.read_execution_history(id); }),
      of_id("get_instance_tree", [](C client, S id) { (void)client.get_instance_tree(id); }),
      of_id("delete_instance", [](C client, S id) { (void)client.delete_instance(id); }),
      of_id("prune_executions", [](C client, S id) { (void)client.prune_executions(id); }),
      of_id("list_activities", [](C client, S id) { (void)client.list_activities({.instance = id, .cursor = {}}); }),
      of_id("list_instances",
            [](C client, S id) { (void)client.list_instances({.filter = of_ids(id), .cursor = {}}); }),
      of_id("delete_instance_bulk", [](C client, S id) { (void)client.delete_instance_bulk(of_ids(id)); }),
      of_id("prune_executions_bulk", [](C client, S id) { (void)client.prune_executions_bulk(of_ids(id)); }),
      door("list_instances", "an orchestration's name",
           [](C client, S name) {
             InstanceFilter filter;
             filter.name = name;
             (void)client.list_instances({.filter = filter, .cursor = {}});
           }),
  };
}

std::vector<Door> code_doors() {
  const auto door = [](const char* name, const char* what, auto call) {
    return Door{name, what, [call](const std::string& value) { return of_code([&](Ctx& ctx) { call(ctx, value); }); }};
  };
  using S = const std::string&;
  return {
      door("schedule_activity", "an activity's name", [](Ctx& c, S name) { (void)c.schedule_activity<int>(name); }),
      door("schedule_activity with retries", "an activity's name",
           [](Ctx& c, S name) { (void)c.schedule_activity<int>(name, ActivityOptions().retry(RetryPolicy(2))); }),
      door("schedule_activity", "a session id",
           [](Ctx& c, S id) { (void)c.schedule_activity<int>("A", ActivityOptions().session(id)); }),
      door("schedule_activity", "a tag",
           [](Ctx& c, S tag) { (void)c.schedule_activity<int>("A", ActivityOptions().tag(tag)); }),
      door("schedule_wait", "an event's name", [](Ctx& c, S name) { (void)c.schedule_wait<int>(name); }),
      door("dequeue_event", "a queue's name", [](Ctx& c, S name) { (void)c.dequeue_event<int>(name); }),
      door("schedule_sub_orchestration", "an orchestration's name",
           [](Ctx& c, S name) { (void)c.schedule_sub_orchestration<int>(name); }),
      door("schedule_sub_orchestration", "an instance id",
           [](Ctx& c, S id) {
             (void)c.schedule_sub_orchestration<int>("C", SubOrchestrationOptions().instance_id(id));
           }),
      door("schedule_orchestration", "an orchestration's name",
           [](Ctx& c, S name) { c.schedule_orchestration(name, "i"); }),
      door("schedule_orchestration", "an instance id", [](Ctx& c, S id) { c.schedule_orchestration("O", id); }),
      door("get_kv_value_from_instance", "an instance id",
           [](Ctx& c, S id) { (void)c.get_kv_value_from_instance<int>(id, "k"); }),
  };
}

std::vector<Door> node_doors() {
  const auto door = [](const char* name, const char* what, auto call) {
    return Door{name, what, [call](const std::string& value) {
                  return of_registry([&](Registry& registry) { call(registry, value); });
                }};
  };
  const auto option = [](const char* what, auto call) {
    return Door{what, what, [call](const std::string& value) {
                  return of_options([&](RuntimeOptions& options) { call(options, value); });
                }};
  };
  using R = Registry&;
  using S = const std::string&;
  return {
      door("add_orchestration", "an orchestration's name",
           [](R r, S name) { r.add_orchestration(name, [](Ctx) -> Orchestration<void> { co_return; }); }),
      door("add_activity", "an activity's name", [](R r, S name) { r.add_activity(name, [](ActivityContext&) {}); }),
      door("add_async_activity", "an activity's name",
           [](R r, S name) { r.add_async_activity(name, [](ActivityContext, ActivityCompletion<int>) {}); }),
      door("replace_activity", "an activity's name", [](R r, S name) { r.replace_activity(name, ActivityHandler()); }),
      option("a tag of worker_tag_filter",
             [](RuntimeOptions& options, S tag) { options.worker_tag_filter = TagFilter::tags({"gpu", tag}); }),
      option("worker_node_id", [](RuntimeOptions& options, S id) { options.worker_node_id = id; }),
  };
}

std::vector<Door> all_doors() {
  std::vector<Door> doors = client_doors();
  for (auto& door : code_doors()) doors.push_back(std::move(door));
  for (auto& door : node_doors()) doors.push_back(std::move(door));
  return doors;
}

TEST(Names, EveryDoorRefusesTheSameWithTheSameWords) {
  for (const Door& door : all_doors()) {
    for (const std::string& name : {""s, "a\0b"s, "a\nb"s, "\x7f"s, "a\xff"s, "\xed\xa0\x80"s}) {
      if (name.empty() && door.what == "worker_node_id"s) continue;  // stands for a random one
      EXPECT_THAT(door.refusal(name), HasSubstr(problem_with_name(door.what, name).value()))
          << door.door << ", " << door.what;
    }
  }
}

TEST(Names, EveryDoorTakesAnyOtherText) {
  for (const Door& door : code_doors()) EXPECT_EQ(door.refusal("grün 日本語 #?%/"), "") << door.door;
  for (const Door& door : node_doors()) EXPECT_EQ(door.refusal("grün 日本語 #?%/"), "") << door.door;
}

// An activity with a reserved name would bypass the tag filters of nodes, and so would a reserved tag.
TEST(Names, ReservedNamesAreRefusedEverywhere) {
  for (const Door& door : all_doors()) {
    const std::string what = door.what;
    const bool is_reserved = what == "an activity's name" || what == "a tag" || what == "a tag of worker_tag_filter";
    if (!is_reserved || door.door == "replace_activity"s) continue;
    EXPECT_THAT(door.refusal("__perdure:engine"), HasSubstr(what + " must not begin with __perdure:")) << door.door;
  }
}

// Names that an engine without the rule recorded are repeated.
TEST(Names, HistoryWins) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    auto wait = ctx.schedule_wait<int>("e");
    co_return co_await ctx.schedule_activity<int>("A");
  });
  harness.start();
  std::get<events::ExternalSubscribed>(harness.history.at(1).body).name = "";
  std::get<events::ActivityScheduled>(harness.history.at(2).body).name = "A\n";
  harness.redeploy([](Ctx ctx) -> Orchestration<int> {
    auto wait = ctx.schedule_wait<int>("");
    co_return co_await ctx.schedule_activity<int>("A\n");
  });
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  EXPECT_EQ(harness.turn({completed(3, "5")}).output, "5");
}

}  // namespace
}  // namespace perdure::test
