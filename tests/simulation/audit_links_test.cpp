// Links: the audit distinguishes incarnations, and reports cancels and outcomes from instances without the right link.
#include <string>
#include <utility>
#include <vector>

#include "model/event_codec.h"
#include "model/message_codec.h"
#include "simulation/audit_scene.h"

namespace perdure::testing::simulation {
namespace {

using ::testing::IsEmpty;

constexpr EventId kScheduled = 2;

MessageRecord message(const std::string& instance, MessageBody body, std::optional<ExecutionId> execution = {}) {
  return encode_message({instance, execution, std::nullopt, std::move(body)});
}

MessageRecord start_of_child(const std::string& child, const std::string& parent) {
  messages::StartOrchestration start;
  start.name = "Flow";
  start.parent = ParentLink{};
  start.parent->instance = parent;
  start.parent->execution_id = kFirstExecutionId;
  start.parent->schedule_id = kScheduled;
  return message(child, start);
}

MessageRecord outcome_for(const std::string& parent) {
  messages::SubOrchestrationCompleted outcome;
  outcome.schedule_id = kScheduled;
  return message(parent, outcome, kFirstExecutionId);
}

MessageRecord cancel_of(const std::string& instance) {
  messages::CancelInstance cancel;
  cancel.reason = "because";
  return message(instance, cancel);
}

class LinkAudited : public Audited {
 protected:
  // A turn that takes all of these, and does all of those. The first turn of an instance begins it.
  void turn(const std::string& id, const std::vector<MessageRecord>& takes, std::vector<EventBody> events,
            const std::vector<MessageRecord>& sends, bool ends = false) {
    const std::string lock = "lock " + std::to_string(++turns_);
    OrchestrationItem item;
    item.instance = id;
    item.token = token(lock);
    item.locked_until = kNow + kLock;
    item.attempt_count = 1;
    item.last_event_id = last_event_[id];
    TurnCommit commit;
    commit.token = item.token;
    commit.commit_id = turns_;
    for (const MessageRecord& each : takes) {
      item.messages.push_back({++messages_, each});
      commit.consumed.push_back(messages_);
    }
    OrchestrationFetch fetch;
    fetch.limit = 1;
    audit.fetched(fetch, batch_of(item));
    for (EventBody& body : events) {
      const auto* started = std::get_if<events::OrchestrationStarted>(&body);
      if (started) {
        commit.started = StartedMetadata{.name = "Flow", .version = {}, .parent = {}, .pinned_version = {}};
        commit.started->parent = started->parent;
      }
      commit.events.push_back(encode_event({++last_event_[id], 1, kNow, {}, std::move(body)}));
    }
    commit.messages = sends;
    if (ends) commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = {}};
    audit.committed(commit, accepted(), kNow);
  }

  void start(const std::string& id, const std::vector<MessageRecord>& sends) {
    messages::StartOrchestration body;
    body.name = "Flow";
    const MessageRecord record = message(id, body);
    audit.started(record, StartOutcome::kEnqueued, kNow);
    turn(id, {record}, {events::OrchestrationStarted{}, scheduled()}, sends);
  }
  void start_child(const std::string& id, const MessageRecord& record, const std::vector<MessageRecord>& sends) {
    events::OrchestrationStarted started;
    started.parent = std::get<messages::StartOrchestration>(decode_message(record).body).parent;
    turn(id, {record}, {started}, sends, !sends.empty());
  }
  void remove(const std::string& id) {
    audit.deleted({id});
    last_event_.erase(id);
  }
  static EventBody scheduled() {
    events::SubOrchestrationScheduled child;
    child.instance = "c";
    return child;
  }

 private:
  std::map<std::string, EventId> last_event_;
  std::uint64_t turns_ = 0;
  MessageId messages_ = 0;
};

TEST_F(LinkAudited, AParentCancelsItsChild) {
  const MessageRecord child = start_of_child("c", "p");
  start("p", {child});
  start_child("c", child, {});
  turn("p", {}, {events::SubOrchestrationCancelRequested{}}, {cancel_of("c")});
  turn("c", {cancel_of("c")}, {events::OrchestrationCancelRequested{}}, {}, true);
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(LinkAudited, AClientCancelsWhomItLikes) {
  start("p", {});
  audit.enqueued(cancel_of("p"), kNow);
  turn("p", {cancel_of("p")}, {events::OrchestrationCancelRequested{}}, {}, true);
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(LinkAudited, NobodyElseCancelsAnInstance) {
  start("foreign", {});
  start("p", {start_of_child("foreign", "p")});
  turn("p", {}, {events::SubOrchestrationCancelRequested{}}, {cancel_of("foreign")});
  turn("foreign", {start_of_child("foreign", "p"), cancel_of("foreign")}, {events::OrchestrationCancelRequested{}}, {});
  expect_problem("'foreign' was cancelled by 'p', which is not its parent");
}

TEST_F(LinkAudited, AnOutcomeReachesTheIncarnationThatScheduledTheChild) {
  const MessageRecord child = start_of_child("c", "p");
  start("p", {child});
  start_child("c", child, {outcome_for("p")});
  events::SubOrchestrationCompleted completed;
  completed.source = kScheduled;
  turn("p", {outcome_for("p")}, {completed}, {});
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(LinkAudited, AnOutcomeForAnEarlierIncarnationIsForeign) {
  const MessageRecord child = start_of_child("c", "p");
  start("p", {child});
  start_child("c", child, {});
  remove("p");
  EXPECT_THAT(audit.problems(), ::testing::ElementsAre(::testing::HasSubstr("its child 'c' was left behind")));
  start("p", {});
  turn("c", {}, {events::OrchestrationCompleted{}}, {outcome_for("p")}, true);
  events::SubOrchestrationCompleted completed;
  completed.source = kScheduled;
  turn("p", {outcome_for("p")}, {completed}, {});
  EXPECT_THAT(audit.problems(), ::testing::Contains(::testing::HasSubstr("an earlier incarnation had scheduled")));
}

TEST_F(LinkAudited, AChildThatHasNotBegunGoesWithItsParent) {
  start("p", {start_of_child("c", "p")});
  EXPECT_FALSE(audit.at_rest(kNow));
  remove("p");
  EXPECT_TRUE(audit.at_rest(kNow));
  start_child("c", start_of_child("c", "p"), {});
  EXPECT_THAT(audit.problems(), ::testing::ElementsAre(::testing::HasSubstr("was delivered that was never sent"),
                                                       ::testing::HasSubstr("consumes a message that it did not get")));
}

TEST_F(LinkAudited, AStartForADeletedIdStaysIfItsParentLives) {
  start("taken", {});
  start("p", {start_of_child("taken", "p")});
  remove("taken");
  EXPECT_FALSE(audit.at_rest(kNow));
  OrchestrationBatch nothing;
  nothing.now = kNow;
  audit.fetched({}, nothing);
  expect_problem("'taken' was ready, and a fetch with room for it left it out");
}

TEST_F(LinkAudited, OnlyWhatClientsSentToNobodyMayStay) {
  audit.enqueued(cancel_of("nobody"), kNow);
  EXPECT_EQ(audit.orphans(), 1U);
  start("p", {cancel_of("nobody else")});
  EXPECT_EQ(audit.orphans(), 1U);
  EXPECT_TRUE(audit.at_rest(kNow));
}

}  // namespace
}  // namespace perdure::testing::simulation
