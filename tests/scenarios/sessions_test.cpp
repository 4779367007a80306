// Sessions: activities that belong together go to the node that holds their session, which keeps something in its
// memory for them. Here that is a connection, which a process opens once for each session.
#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/connections.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class Sessions : public InEveryWorld {
 protected:
  // A process on that host.
  World::Node& start(const std::string& host, RuntimeOptions options = {}) {
    return world.start_node(process(host, log), std::move(options));
  }
  void begin_chat(const std::string& instance, const std::string& session) {
    world.client().start_orchestration(instance, "Chat", session);
  }
  void say(const std::string& instance) { world.client().enqueue_event(instance, "say", "hello"); }
  // "2 a": the second query was answered on host a.
  std::string answer(const std::string& instance) {
    world.settle();
    return world.client().get_orchestration_status(instance).custom_status.value_or("none");
  }
  static RuntimeOptions at_most(std::size_t sessions) {
    RuntimeOptions options;
    options.max_sessions_per_runtime = sessions;
    return options;
  }
  static RuntimeOptions named(const std::string& name) {
    RuntimeOptions options;
    options.worker_node_id = name;
    return options;
  }

  // Connections, on both hosts.
  [[nodiscard]] std::size_t opened() const { return log.opened_on("a").size() + log.opened_on("b").size(); }

  ConnectionLog log;
};
PERDURE_IN_EVERY_WORLD(Sessions);

// ---- Routing -------------------------------------------------------------------------------------------------------

TEST_P(Sessions, AllActivitiesOfASessionGoToOneNodeWhichOpensItsConnectionOnce) {
  start("a", at_most(3));
  start("b", at_most(3));
  for (int i = 0; i < 6; ++i) {
    world.client().start_orchestration("i" + std::to_string(i), "Talk", "s" + std::to_string(i));
  }
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(world.wait("i" + std::to_string(i)).result<std::string>(), MatchesRegex("aaaaa|bbbbb"));
  }
  EXPECT_THAT(log.opened_on("a"), SizeIs(3)) << "as many as it may hold";
  EXPECT_THAT(log.opened_on("b"), SizeIs(3));
}

TEST_P(Sessions, InstancesMayShareASession) {
  start("a");
  start("b");
  for (const char* instance : {"i", "j", "k"}) world.client().start_orchestration(instance, "Talk", "shared");
  std::string hosts;
  for (const char* instance : {"i", "j", "k"}) hosts += world.wait(instance).result<std::string>();
  EXPECT_THAT(hosts, MatchesRegex("a+|b+"));
  EXPECT_EQ(opened(), 1U);
}

TEST_P(Sessions, ActivitiesOfManySessionsAtOnceStayApart) {
  start("a", at_most(2));
  start("b", at_most(2));
  world.client().start_orchestration("i", "Fan", 4);
  EXPECT_THAT(world.wait("i").result<std::string>(), MatchesRegex("((aaa|bbb) ){4}"));
  EXPECT_EQ(opened(), 4U);
}

TEST_P(Sessions, EveryAttemptOfARetryIsMadeInTheSession) {
  start("a");
  start("b");
  world.client().start_orchestration("i", "Stubborn", "s");
  const std::string host = world.wait("i").result<std::string>();
  EXPECT_EQ(log.uses_on(host), 4) << "three failed attempts, and a query";
  EXPECT_EQ(opened(), 1U);
}

TEST_P(Sessions, ASessionSurvivesContinueAsNew) {
  start("a");
  start("b");
  world.client().start_orchestration("i", "Rounds", "");
  const std::string hosts = world.wait("i").result<std::string>();
  EXPECT_THAT(hosts, MatchesRegex("aaaaaa|bbbbbb"));
  EXPECT_EQ(world.client().list_executions("i").size(), 6U);
  EXPECT_EQ(opened(), 1U);
}

// ---- Capacity ------------------------------------------------------------------------------------------------------

// W34: a session counts as long as it is held, and its holder serves it however many it holds.
TEST_P(Sessions, AtItsCapacityANodeServesTheSessionsThatItHolds) {
  start("a", at_most(1));
  begin_chat("first", "one");
  say("first");
  EXPECT_EQ(answer("first"), "1 a");
  begin_chat("second", "two");
  say("second");
  EXPECT_EQ(answer("second"), "none") << "there is no room for another session, although this one is not in use";
  say("first");
  EXPECT_EQ(answer("first"), "2 a");
  begin_chat("third", "");
  say("third");
  EXPECT_EQ(answer("third"), "1 a") << "what has no session needs no room";
  start("b");
  EXPECT_EQ(answer("second"), "1 b");
}

TEST_P(Sessions, NoNodeHoldsMoreThanItMay) {
  start("a", at_most(2));
  const std::vector<std::string> chats{"1", "2", "3", "4", "5"};
  for (const std::string& chat : chats) begin_chat(chat, "session " + chat);
  for (const std::string& chat : chats) say(chat);
  const auto served = [&] {
    return std::count_if(chats.begin(), chats.end(), [&](const auto& chat) { return answer(chat) != "none"; });
  };
  EXPECT_EQ(served(), 2);
  start("b", at_most(2));
  EXPECT_EQ(served(), 4);
  start("c", at_most(2));
  EXPECT_EQ(served(), 5);
}

TEST_P(Sessions, ANodeThatMayHoldNoneServesOnlyWhatHasNone) {
  start("a", at_most(0));
  begin_chat("in", "s");
  begin_chat("out", "");
  say("in");
  say("out");
  EXPECT_EQ(answer("out"), "1 a");
  EXPECT_EQ(answer("in"), "none");
}

// ---- Nodes that end ------------------------------------------------------------------------------------------------

TEST_P(Sessions, ANodeThatEndsInOrderLeavesItsSessionsToTheOthersAtOnce) {
  auto& first = start("a");
  begin_chat("i", "s");
  say("i");
  EXPECT_EQ(answer("i"), "1 a");
  world.stop_node(first);
  start("b");
  say("i");
  EXPECT_EQ(answer("i"), "2 b") << "nobody had to wait for a lock to end";
  EXPECT_THAT(log.opened_on("b"), ElementsAre("s")) << "the connection is opened anew";
}

TEST_P(Sessions, AFreshProcessOfTheSameNameGoesOnWithItsSessions) {
  auto& first = start("a", named("alpha"));
  begin_chat("i", "s");
  say("i");
  EXPECT_EQ(answer("i"), "1 a");
  world.stop_node(first);
  start("b", named("beta"));
  say("i");
  EXPECT_EQ(answer("i"), "1 a") << "the session is alpha's";
  start("c", named("alpha"));
  EXPECT_EQ(answer("i"), "2 c");
  EXPECT_THAT(log.opened_on("b"), IsEmpty());
}

TEST_P(Sessions, ANodeOfThatNameThatDoesNotComeBackLosesItsSessionsWhenTheirLocksEnd) {
  auto& first = start("a", named("alpha"));
  begin_chat("i", "s");
  say("i");
  EXPECT_EQ(answer("i"), "1 a");
  world.stop_node(first);
  start("b", named("beta"));
  say("i");
  world.advance(29'999ms);
  EXPECT_EQ(answer("i"), "1 a");
  world.advance(1ms);
  EXPECT_EQ(answer("i"), "2 b");
}

}  // namespace
}  // namespace perdure::test
