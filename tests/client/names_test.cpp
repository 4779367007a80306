// Every entry point refuses the same invalid names with the same text.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/history_check.h>
#include <perdure/memory_provider.h>
#include <perdure/perdure.h>
#include "model/name_rule.h"
#include "support/dice.h"
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
    if (error.kind() != ClientErrorKind::kInvalidInput) return "";  // the name was not the reason
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

std::vector<Door> check_doors() {
  const auto door = [](const char* what, auto call) {
    return Door{"check_histories", what, [call](const std::string& value) -> std::string {
                  HistoryCheckOptions options;
                  call(options.filter, value);
                  try {
                    (void)check_histories(*make_memory_provider(), Registry(), options);
                  } catch (const ClientError& error) {
                    EXPECT_EQ(error.kind(), ClientErrorKind::kInvalidInput);
                    return error.what();
                  }
                  return "";
                }};
  };
  using S = const std::string&;
  return {door("an instance id", [](InstanceFilter& filter, S id) { filter = of_ids(id); }),
          door("an orchestration's name", [](InstanceFilter& filter, S name) { filter.name = name; })};
}

std::vector<Door> all_doors() {
  std::vector<Door> doors = client_doors();
  for (auto& door : code_doors()) doors.push_back(std::move(door));
  for (auto& door : node_doors()) doors.push_back(std::move(door));
  for (auto& door : check_doors()) doors.push_back(std::move(door));
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
  for (const Door& door : check_doors()) EXPECT_EQ(door.refusal("grün 日本語 #?%/"), "") << door.door;
}

// The client and the check of histories have the same limit, under the same name.
TEST(Names, AFilterWithATooLongNameIsRefusedWithTheLimit) {
  const std::string name(Limits().max_name_bytes + 1, 'n');
  const std::string words = " has 1025 bytes; the limit is 1024 (max_name_bytes)";
  for (const Door& door : check_doors()) EXPECT_EQ(door.refusal(name), door.what + words) << door.door;
  for (const Door& door : client_doors()) {
    if (door.door == "list_instances"s) {
      EXPECT_EQ(door.refusal(name), door.what + words);
    }
  }
}

// ---- random bytes ----

// A piece of a name: text, or what looks like text and is none.
std::string random_piece(Dice& dice) {
  switch (dice.below(12)) {
    case 0:
      return {static_cast<char>(dice.below(256))};
    case 1:  // an overlong form, or a surrogate
      return dice.one_of<std::string>({"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                       "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf"});
    case 2:  // beyond the last character, and bytes that begin nothing
      return dice.one_of<std::string>({"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfe", "\xff"});
    case 3:  // a character that is cut off
      return dice.one_of<std::string>({"\xc3", "\xe2\x82", "\xf0\x9f\x98", "\x82", "\xac"});
    case 4:  // controls, and their neighbours
      return dice.one_of<std::string>({"\x01", "\t", "\x1f", " ", "\x7f", "\xc2\x80", "\xc2\x9f", "\xc2\xa0", "\0"s});
    case 5:  // the smallest and the largest of each length
      return dice.one_of<std::string>({"~", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"});
    case 6:  // line separators and direction overrides, and their neighbours
      return dice.one_of<std::string>({"\u2027", "\u2028", "\u202e", "\u202f", "\u2065", "\u2066", "\u2069", "\u206a"});
    default:
      return dice.one_of<std::string>({"a", "order-1", "grün", "日本語", "😀", "#?%/'\"\\"});
  }
}

std::string random_name(Dice& dice) {
  std::string name;
  for (std::size_t left = dice.below(4); left > 0; --left) name += random_piece(dice);
  return name;
}

// The well-formed sequences of the Unicode standard (table 3-7) without control characters, line separators and
// direction overrides: the rule once more, in another way. 0: there is none.
std::size_t length_of_first_character(std::string_view bytes) {
  struct Range {
    unsigned char low;
    unsigned char high;
  };
  static const std::vector<std::vector<Range>> kForms = {
      {{0x20, 0x7E}},
      {{0xC2, 0xC2}, {0xA0, 0xBF}},
      {{0xC3, 0xDF}, {0x80, 0xBF}},
      {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}},
      {{0xE1, 0xE1}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xE2, 0xE2}, {0x80, 0x80}, {0x80, 0xA7}},  // up to the line separator
      {{0xE2, 0xE2}, {0x80, 0x80}, {0xAF, 0xBF}},  // after the direction overrides
      {{0xE2, 0xE2}, {0x81, 0x81}, {0x80, 0xA5}},  // up to the direction isolates
      {{0xE2, 0xE2}, {0x81, 0x81}, {0xAA, 0xBF}},
      {{0xE2, 0xE2}, {0x82, 0xBF}, {0x80, 0xBF}},
      {{0xE3, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}},
      {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}},
  };
  for (const auto& form : kForms) {
    if (form.size() > bytes.size()) continue;
    const bool fits = std::equal(form.begin(), form.end(), bytes.begin(), [](const Range& range, char byte) {
      const auto value = static_cast<unsigned char>(byte);
      return range.low <= value && value <= range.high;
    });
    if (fits) return form.size();
  }
  return 0;
}

bool is_text(std::string_view name) {
  while (!name.empty()) {
    const std::size_t length = length_of_first_character(name);
    if (length == 0) return false;
    name.remove_prefix(length);
  }
  return true;
}

TEST(Names, EveryDoorDecidesTheSameAboutRandomBytes) {
  constexpr std::size_t kNames = 300;
  Dice dice(1);
  const std::vector<Door> doors = all_doors();
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < kNames; ++i) {
    const std::string name = random_name(dice);
    const bool is_valid = !name.empty() && is_text(name);
    accepted += is_valid ? 1 : 0;
    for (const Door& door : doors) {
      if (name.empty() && door.what == "worker_node_id"s) continue;  // stands for a random one
      const std::string about = std::string(door.door) + ", " + door.what + ", " + ::testing::PrintToString(name);
      const auto problem = problem_with_name(door.what, name);
      ASSERT_EQ(problem.has_value(), !is_valid) << about;
      const std::string refusal = door.refusal(name);
      ASSERT_THAT(refusal, problem ? ::testing::Matcher<std::string>(HasSubstr(*problem)) : ::testing::IsEmpty())
          << about;
    }
  }
  EXPECT_GT(accepted, kNames / 5);
  EXPECT_LT(accepted, kNames * 4 / 5);
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
