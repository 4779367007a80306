// The last turn of an execution that ends without its code, and in particular behind a damaged history.
#include "runtime/ending_turn.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_codec.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

using runtime::EndingTurn;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ParentLink kParent{"boss", 7, 9, 70};
const ParentLink kStranger{"stranger", 1, 4, 80};
const ErrorDetails kPoison = PoisonError{PoisonSubject::kUndecodableHistory, "inst", 1, "", 0, 11, 10, "damaged"};

// A child of kParent: event 2 schedules an activity, event 3 a child. Further records may be damaged.
class Ending : public ::testing::Test {
 protected:
  Ending() {
    item.instance = "inst";
    item.metadata.emplace();
    item.metadata->name = "Flow";
    item.metadata->parent = kParent;
    item.incarnation = 55;
    add(events::OrchestrationStarted{"Flow", SemanticVersion{1, 0, 0}, std::nullopt, kParent, {}, {}});
    add(events::ActivityScheduled{"Work", std::nullopt, {}, {}, {}});
    add(events::SubOrchestrationScheduled{"Child", "child", std::nullopt, std::nullopt});
  }
  void add(EventBody body) {
    const EventId id = ++item.last_event_id;
    stored.events.push_back(encode_event(
        {.id = id, .turn = 1, .time = {}, .engine_version = SemanticVersion{1, 0, 0}, .body = std::move(body)}));
  }
  void damage(EventId id) { stored.events.at(id - 1).body = "\xff not an event"; }
  void start_of_child(const ParentLink& parent) {
    messages.push_back({"inst", std::nullopt, std::nullopt,
                        messages::StartOrchestration{"Other", std::nullopt, std::nullopt, parent}});
  }
  TurnOutcome end() {
    return runtime::end_turn(EndingTurn{.item = item,
                                        .stored = stored,
                                        .history = decode_stored_history(stored),
                                        .messages = messages,
                                        .name = "Flow",
                                        .link = kParent,
                                        .execution = 1,
                                        .incarnation = 55,
                                        .begins_next = false,
                                        .start_is_unreadable = start_is_unreadable,
                                        .now = {}},
                             kPoison);
  }

  OrchestrationItem item;
  StoredHistory stored;
  std::vector<Message> messages;
  bool start_is_unreadable = false;
};

TEST_F(Ending, ASoundHistoryIsEndedWithEverythingThatIsOpen) {
  const TurnOutcome outcome = end();
  EXPECT_EQ(outcome.error, kPoison);
  EXPECT_THAT(outcome.cancelled_activities, ElementsAre(2));
  EXPECT_THAT(lines_of(outcome.messages), ElementsAre("to boss: SubOrchestrationFailed", "to child: CancelInstance"));
}

TEST_F(Ending, BehindDamageOnlyTheEndIsWritten) {
  damage(3);
  messages.push_back({"inst", 1, std::nullopt, messages::ActivityCompleted{2, "1"}});
  const TurnOutcome outcome = end();
  ASSERT_EQ(outcome.events.size(), 2U);
  EXPECT_EQ(outcome.events[0].id, 4U);
  EXPECT_TRUE(std::holds_alternative<events::OrchestrationFailed>(outcome.events[0].body));
  EXPECT_TRUE(std::holds_alternative<events::ActivityCancelRequested>(outcome.events[1].body));
}

TEST_F(Ending, EveryLostEventMayHaveScheduledAnActivity) {
  add(events::ActivityScheduled{"Later", std::nullopt, {}, {}, {}});
  damage(2);
  EXPECT_THAT(end().cancelled_activities, ElementsAre(2, 3, 4));
}

TEST_F(Ending, ChildrenThatReadableRecordsBehindTheDamageNameAreCancelledWithTheirLink) {
  damage(2);
  const TurnOutcome outcome = end();
  ASSERT_THAT(lines_of(outcome.messages), ElementsAre("to boss: SubOrchestrationFailed", "to child: CancelInstance"));
  const auto& cancel = std::get<messages::CancelInstance>(outcome.messages[1].body);
  EXPECT_EQ(cancel.parent, (ParentLink{"inst", 1, 3, 55}));
}

TEST_F(Ending, TheParentHearsOfTheEndWhenEvenTheStartIsDamaged) {
  damage(1);
  const TurnOutcome outcome = end();
  ASSERT_THAT(lines_of(outcome.messages), ElementsAre("to child: CancelInstance", "to boss: SubOrchestrationFailed"));
  const auto& failed = std::get<messages::SubOrchestrationFailed>(outcome.messages[1].body);
  EXPECT_EQ(failed.schedule_id, kParent.schedule_id);
  EXPECT_EQ(failed.parent_incarnation, kParent.incarnation);
  EXPECT_EQ(failed.error, kPoison);
}

TEST_F(Ending, AChildStartThatMeetsADamagedHistoryIsRefused) {
  for (const EventId damaged : {1U, 2U, 3U}) {
    SCOPED_TRACE(damaged);
    const StoredHistory whole = stored;
    messages.clear();
    damage(damaged);
    start_of_child(kStranger);
    start_of_child(kParent);  // its own start, delivered again
    const TurnOutcome outcome = end();
    ASSERT_FALSE(outcome.messages.empty());
    const Message& refusal = outcome.messages.back();
    EXPECT_EQ(refusal.instance, "stranger");
    const auto* failed = std::get_if<messages::SubOrchestrationFailed>(&refusal.body);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->schedule_id, kStranger.schedule_id);
    EXPECT_EQ(failed->parent_incarnation, kStranger.incarnation);
    EXPECT_EQ(std::count_if(outcome.messages.begin(), outcome.messages.end(),
                            [](const Message& message) { return message.instance == "boss"; }),
              1);
    stored = whole;
  }
}

TEST_F(Ending, AnInstanceWhoseStartCannotBeDecodedIsEndedUnderItsName) {
  stored = {};
  item.metadata.reset();
  item.last_event_id = 0;
  const TurnOutcome outcome = end();
  ASSERT_FALSE(outcome.events.empty());
  const auto* started = std::get_if<events::OrchestrationStarted>(&outcome.events.front().body);
  ASSERT_NE(started, nullptr);
  EXPECT_EQ(started->name, "Flow");
  EXPECT_EQ(started->parent, kParent);
  EXPECT_THAT(lines_of(outcome.messages), ElementsAre("to boss: SubOrchestrationFailed"));
  EXPECT_THAT(outcome.cancelled_activities, IsEmpty());
}

TEST_F(Ending, AnotherStartBehindAnUnreadableOneIsRefused) {
  stored = {};
  item.metadata.reset();
  item.last_event_id = 0;
  start_is_unreadable = true;
  start_of_child(kStranger);
  const TurnOutcome outcome = end();
  const auto& started = std::get<events::OrchestrationStarted>(outcome.events.at(0).body);
  EXPECT_EQ(started.parent, kParent);
  EXPECT_THAT(lines_of(outcome.messages),
              ElementsAre("to boss: SubOrchestrationFailed", "to stranger: SubOrchestrationFailed"));
}

}  // namespace
}  // namespace perdure::test
