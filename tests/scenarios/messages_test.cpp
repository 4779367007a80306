// Messages that come twice, in crowds, with the wrong content or in the worst order, through a store and the real
// dispatchers.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/message_codec.h"
#include "scenarios/stepped_cluster.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

class Messages : public InEveryWorld {
 protected:
  // All at once, for the first execution of "i".
  void send(const std::vector<MessageBody>& bodies) {
    std::vector<MessageRecord> records;
    for (const MessageBody& body : bodies) {
      records.push_back(encode_message({"i", kFirstExecutionId, std::nullopt, body}));
    }
    for (const auto& sent : world.store()->enqueue_messages(records)) ASSERT_TRUE(sent.has_value());
  }
};
PERDURE_IN_EVERY_WORLD(Messages);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Messages);

// ---- Twice: W7 -----------------------------------------------------------------------------------------------------

const ErrorDetails kDeclined = ApplicationError{ApplicationErrorKind::kActivityFailed, "card declined", true};
constexpr EventId kScheduled = 2;  // the only operation

// Keeps what became of an activity or a child, and waits.
Registry orders() {
  Registry registry;
  registry.add_orchestration("Order", [](Ctx ctx) -> Orchestration<std::string> {
    const auto paid = co_await ctx.schedule_activity<int>("Pay").as_result();
    co_await ctx.schedule_wait<void>("go");
    co_return paid ? "paid" : paid.error().message();
  });
  registry.add_orchestration("Delegated", [](Ctx ctx) -> Orchestration<std::string> {
    const auto paid = co_await ctx.schedule_sub_orchestration<int>("Fails").as_result();
    co_await ctx.schedule_wait<void>("go");
    co_return paid ? "paid" : paid.error().message();
  });
  registry.add_orchestration("Fails", [](Ctx) -> Orchestration<int> {
    throw OrchestrationError("card declined");
    co_return 0;
  });
  return registry;
}

// The test is the worker: nobody else would send an outcome twice.
TEST_P(Messages, TheOutcomeOfAnActivityCountsOnce) {
  RuntimeOptions options;
  options.worker_tag_filter = TagFilter::none();
  auto& first = world.start_node(orders(), options);
  world.client().start_orchestration("i", "Order");
  world.settle();
  world.stop_node(first);
  const auto work = world.store()->fetch_work_item().value();
  ASSERT_TRUE(work.has_value());
  const MessageBody failed = messages::ActivityFailed{kScheduled, kDeclined};
  const MessageRecord outcome = encode_message({"i", kFirstExecutionId, std::nullopt, failed});
  ASSERT_TRUE(world.store()->ack_work_item({work->token, outcome}).has_value());
  send({failed});  // so that the first batch has it twice
  world.start_node(orders(), options);
  world.settle();
  const auto events = world.event_kinds("i");
  EXPECT_THAT(events, ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityFailed", "ExternalSubscribed"));
  for (const MessageBody& again : {failed, MessageBody(messages::ActivityCompleted{kScheduled, "1"})}) {
    send({again});
    world.settle();
    send({again, again});
    world.settle();
  }
  EXPECT_EQ(world.event_kinds("i"), events);
  world.client().raise_event("i", "go");
  EXPECT_EQ(world.wait("i").result<std::string>(), "card declined");
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Messages, TheOutcomeOfAChildCountsOnce) {
  world.start_node(orders());
  world.client().start_orchestration("i", "Delegated");
  world.settle();
  const auto events = world.event_kinds("i");
  EXPECT_THAT(events, ElementsAre("OrchestrationStarted", "SubOrchestrationScheduled", "SubOrchestrationFailed",
                                  "ExternalSubscribed"));
  const Event start = world.client().read_execution_history("i::sub::2").front();
  const std::uint64_t incarnation = std::get<events::OrchestrationStarted>(start.body).parent->incarnation;
  const MessageBody failed = messages::SubOrchestrationFailed{kScheduled, kDeclined, incarnation};
  for (const MessageBody& again :
       {failed, MessageBody(messages::SubOrchestrationCompleted{kScheduled, "1", incarnation})}) {
    send({again, again});
    world.settle();
  }
  EXPECT_EQ(world.event_kinds("i"), events);
  world.client().raise_event("i", "go");
  EXPECT_EQ(world.wait("i").result<std::string>(), "card declined");
}

// ---- Before the start ----------------------------------------------------------------------------------------------

Registry readers() {
  Registry registry;
  registry.add_orchestration("Read", [](Ctx ctx, int count) -> Orchestration<std::string> {
    std::string seen;
    for (int i = 0; i < count; ++i) seen += co_await ctx.dequeue_event<std::string>("notes");
    co_return seen;
  });
  return registry;
}

TEST_P(Messages, AQueueMessageMayComeBeforeTheStart) {
  world.start_node(readers());
  world.client().enqueue_event("i", "notes", "a");
  world.advance(12h);
  world.client().enqueue_event("i", "notes", "b");
  world.advance(11h);
  world.client().start_orchestration("i", "Read", 3);
  world.settle();
  world.client().enqueue_event("i", "notes", "c");
  EXPECT_EQ(world.wait("i").result<std::string>(), "abc");
}

// They count like all others once the instance has them.
TEST_P(Messages, TheUnreadMessagesFromBeforeTheStartHaveTheSameLimit) {
  RuntimeOptions options;
  options.limits.max_unread_messages = 2;
  Registry registry = readers();
  registry.add_orchestration("Deaf", [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  world.start_node(registry, options);
  for (const char* id : {"few", "many"}) {
    for (int i = 0; i < 2; ++i) world.client().enqueue_event(id, "notes", "x");
  }
  world.client().enqueue_event("many", "notes", "x");
  world.client().start_orchestration("few", "Read", 2);
  world.client().start_orchestration("many", "Deaf");
  EXPECT_EQ(world.wait("few").result<std::string>(), "xx");
  EXPECT_THAT(world.wait("many").error_text(), HasSubstr("max_unread_messages"));
}

TEST_P(Messages, ADeletionTakesWhatWasSentBeforeTheStartAlong) {
  world.client().enqueue_event("i", "notes", "old");
  world.client().start_orchestration("i", "Read", 1);
  world.client().delete_instance("i", true);
  world.client().start_orchestration("i", "Read", 1);
  world.client().enqueue_event("i", "notes", "new");
  world.start_node(readers());
  EXPECT_EQ(world.wait("i").result<std::string>(), "new");
}

// ---- In crowds: W8 -------------------------------------------------------------------------------------------------

TEST_P(Messages, AsManyAsHaveGatheredAreReadInOneTurn) {
  constexpr int kCrowd = 600;
  Registry registry;
  registry.add_orchestration("Drain", [](Ctx ctx) -> Orchestration<int> {
    int sum = 0;
    for (int i = 0; i < kCrowd; ++i) sum += co_await ctx.dequeue_event<int>("queue");
    co_return sum;
  });
  world.client().start_orchestration("i", "Drain");
  for (int i = 1; i <= kCrowd; ++i) world.client().enqueue_event("i", "queue", i);
  world.start_node(registry);
  EXPECT_EQ(world.wait("i").result<int>(), kCrowd * (kCrowd + 1) / 2);
  const auto history = world.client().read_execution_history("i");
  EXPECT_EQ(history.back().turn, kFirstTurn);
  EXPECT_EQ(history.size(), 2U + 2U * kCrowd);
}

// ---- With the wrong content: W35 -----------------------------------------------------------------------------------

TEST_P(Messages, APayloadOfAnotherTypeIsAnErrorAndTheNextOneCanBeRead) {
  Registry registry;
  registry.add_orchestration("Numbers", [](Ctx ctx) -> Orchestration<std::string> {
    std::string seen;
    const auto event = co_await ctx.schedule_wait<int>("event").as_result();
    seen += event ? "a number, " : event.error().name() + ", ";
    const int next_event = co_await ctx.schedule_wait<int>("event");
    const auto message = co_await ctx.dequeue_event<int>("queue").as_result();
    seen += message ? "a number, " : message.error().name() + ", ";
    const int next_message = co_await ctx.dequeue_event<int>("queue");
    co_return seen + std::to_string(next_event) + ", " + std::to_string(next_message);
  });
  world.start_node(registry);
  const Client& client = world.client();
  client.start_orchestration("i", "Numbers");
  world.settle();
  client.raise_event("i", "event", "no number");
  client.raise_event("i", "event", 7);
  client.enqueue_event("i", "queue", Raw("[1, 2]"));
  client.enqueue_event("i", "queue", 8);
  EXPECT_EQ(world.wait("i").result<std::string>(), "event, queue, 7, 8");
}

// ---- In the worst order: W52, W53 ----------------------------------------------------------------------------------

// Three rounds of waiting for a message or a minute. The custom status is what came.
Registry rounds() {
  Registry registry;
  registry.add_activity("Handle", [](ActivityContext&, std::string message) { return "handled " + message + ";"; });
  registry.add_orchestration("Rounds", [](Ctx ctx, bool from_queue) -> Orchestration<std::string> {
    std::string came;
    for (int round = 0; round < 3; ++round) {
      auto message = from_queue ? ctx.dequeue_event<std::string>("in") : ctx.schedule_wait<std::string>("in");
      auto first = co_await perdure::select{std::move(message), ctx.schedule_timer(1min)};
      if (first.index() == 0) {
        const std::string handled = co_await ctx.schedule_activity<std::string>("Handle", std::get<0>(first));
        came += handled;
      } else {
        came += "nothing;";
      }
      ctx.set_custom_status(came);
    }
    co_return came;
  });
  return registry;
}

// The last turn in which a timer fired and then a message came.
std::optional<TurnNumber> turn_of_both(const std::vector<Event>& history) {
  std::optional<TurnNumber> fired;
  std::optional<TurnNumber> both;
  for (const Event& event : history) {
    if (std::holds_alternative<events::TimerFired>(event.body)) fired = event.turn;
    const bool message = std::holds_alternative<events::QueueEventDelivered>(event.body) ||
                         std::holds_alternative<events::ExternalEvent>(event.body);
    if (message && fired == event.turn) both = fired;
  }
  return both;
}

void deliver_behind_a_timer(World& world, bool from_queue) {
  auto& first = world.start_node(rounds());
  world.client().start_orchestration("i", "Rounds", from_queue);
  world.settle();
  world.stop_node(first);
  world.advance(2min);
  if (from_queue) {
    world.client().enqueue_event("i", "in", "it");
  } else {
    world.client().raise_event("i", "in", "it");
  }
  auto& second = world.start_node(rounds());
  world.settle();
  EXPECT_TRUE(turn_of_both(world.client().read_execution_history("i")).has_value());
  EXPECT_EQ(world.client().get_orchestration_status("i").custom_status, "nothing;handled it;");
  world.stop_node(second);
  world.start_node(rounds());  // which knows it from its history alone
  world.advance(1min);
  EXPECT_EQ(world.client().get_orchestration_status("i").result<std::string>(), "nothing;handled it;nothing;");
}

TEST_P(Messages, OneInAQueueBehindTheTimerThatEndedARoundReachesTheNext) {
  deliver_behind_a_timer(world, true);
}

TEST_P(Messages, AnEventBehindTheTimerThatEndedARoundReachesTheNext) {
  deliver_behind_a_timer(world, false);
}

// ---- A start in front of a continuation: W10 -----------------------------------------------------------------------

// Whoever continues as new is started again in the same moment, so that the start stands in front of the continuation.
class StartsAgain final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::size_t starts = 1;
  bool damage = false;  // of what continuations contain, on their way
  int hidden = 0;       // continuations that were delivered behind a start

  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    for (const TurnCommit& commit : commits) {
      if (commit.status && commit.status->status == ExecutionStatus::kContinuedAsNew) {
        start(commit.messages.front().instance);
      }
    }
    return ForwardingProvider::ack_orchestration_items(commits);
  }
  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (!batch) return batch;
    for (OrchestrationItem& item : batch->items) {
      for (QueuedMessage& message : item.messages) {
        if (message.record.kind != MessageKind::kContinueAsNew) continue;
        if (item.messages.front().record.kind == MessageKind::kStartOrchestration) ++hidden;
        if (damage) message.record.body = "nobody can read this";
      }
    }
    return batch;
  }

 private:
  void start(const std::string& instance) {
    const std::vector<MessageRecord> queued(
        starts, encode_message({instance, std::nullopt, std::nullopt,
                                messages::StartOrchestration{"Other", std::nullopt, std::nullopt, std::nullopt}}));
    for (const auto& sent : inner().enqueue_messages(queued)) ASSERT_TRUE(sent.has_value());
  }
};

class QueuedContinuation : public InEveryCluster {
 protected:
  QueuedContinuation() {
    registry.add_orchestration("Loop", [](Ctx ctx, int round) -> Orchestration<int> {
      if (round < 3) co_return ctx.continue_as_new(round + 1);
      co_return round;
    });
    registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Loop", 1, SubOrchestrationOptions().instance_id("i"));
    });
    registry.add_orchestration("Other", [this](Ctx) -> Orchestration<int> {
      ++others;
      co_return -1;
    });
  }
  void expect_that_it_goes_on() {
    cluster.start_node(registry, {}, view);
    cluster.client().start_orchestration("parent", "Parent");
    EXPECT_EQ(cluster.wait("parent").error_text(), "");
    const auto status = cluster.wait("i");
    ASSERT_EQ(status.state, OrchestrationState::kCompleted) << status.error_text();
    EXPECT_EQ(status.result<int>(), 3);
    EXPECT_EQ(status.name, "Loop");
    EXPECT_EQ(cluster.client().list_executions("i").size(), 3U);
    EXPECT_EQ(others, 0);
    EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
  }

  Registry registry;
  std::shared_ptr<StartsAgain> view = std::make_shared<StartsAgain>(cluster.store());
  int others = 0;
};
PERDURE_IN_EVERY_CLUSTER(QueuedContinuation);

TEST_P(QueuedContinuation, IsNotHiddenByAStartInFrontOfIt) {
  expect_that_it_goes_on();
  EXPECT_EQ(view->hidden, 2);
}

// One more than a fetch brings.
TEST_P(QueuedContinuation, IsNotHiddenByMoreStartsThanABatchHolds) {
  view->starts = OrchestrationFetch().max_messages + 1;
  expect_that_it_goes_on();
}

TEST_P(QueuedContinuation, ThatCannotBeReadIsNotMistakenForTheStartInFrontOfIt) {
  view->damage = true;
  RuntimeOptions options;
  options.max_attempts = 2;
  cluster.start_node(registry, options, view);
  cluster.client().start_orchestration("parent", "Parent");
  const auto status = cluster.wait("i");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_EQ(status.name, "Loop");
  EXPECT_TRUE(std::holds_alternative<PoisonError>(*status.error)) << status.error_text();
  EXPECT_EQ(cluster.wait("parent").error, status.error) << "the parent is told";
  EXPECT_EQ(others, 0);
  EXPECT_GT(view->hidden, 0);
}

}  // namespace
}  // namespace perdure::test
