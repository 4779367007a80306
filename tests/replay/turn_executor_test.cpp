// The turn executor: which code runs an execution, and what a kept execution tells about itself.
#include "replay/turn_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;

Orchestration<std::string> version_one(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("One");
  co_return "one";
}
Orchestration<std::string> version_two(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("Two");
  co_return "two";
}
Orchestration<void> loop(OrchestrationContext ctx) {
  for (;;) co_await ctx.dequeue_event<int>("q");
}

class TurnExecutors : public ::testing::Test {
 protected:
  TurnExecutors() {
    registry_.add_orchestration("Test", "1.0.0", version_one).add_orchestration("Test", "2.0.0", version_two);
    registry_.add_orchestration("Loop", loop);
  }

  std::unique_ptr<OpenExecution> open(const std::vector<Event>& history, const std::vector<Message>& messages) {
    auto result = try_open(history, messages);
    auto* execution = std::get_if<std::unique_ptr<OpenExecution>>(&result);
    if (!execution) throw std::runtime_error("the execution cannot be opened");
    return std::move(*execution);
  }
  OpenResult try_open(const std::vector<Event>& history, const std::vector<Message>& messages) {
    OpenRequest request;
    request.instance = "inst";
    request.history = history;
    request.messages = messages;
    return executor_.open(std::move(request));
  }
  static TurnOutcome run(OpenExecution& execution, std::vector<Message> messages) {
    TurnRequest request;
    request.now = Timestamp(Milliseconds(1'000));
    request.messages = std::move(messages);
    return execution.run_turn(request);
  }
  static Message start(std::string name, std::optional<SemanticVersion> version = std::nullopt) {
    return {"inst", std::nullopt, std::nullopt,
            messages::StartOrchestration{std::move(name), version, std::nullopt, std::nullopt}};
  }
  static Message of(MessageBody body) { return {"inst", kFirstExecutionId, std::nullopt, std::move(body)}; }
  // A history of one turn.
  std::vector<Event> begun(const Message& message) {
    const auto execution = open({}, {message});
    return run(*execution, {message}).events;
  }

  Registry registry_;
  InProcessTurnExecutor executor_{[this](const std::string& name, const std::optional<SemanticVersion>& version) {
    return registry_.resolve(name, version);
  }};
};

TEST_F(TurnExecutors, AMissingNameIsNotRegistered) {
  const auto result = try_open({}, {start("Nobody")});
  const auto* missing = std::get_if<NotRegistered>(&result);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->name, "Nobody");
  EXPECT_EQ(missing->version, std::nullopt);
}

TEST_F(TurnExecutors, AMissingVersionIsNotRegistered) {
  const auto result = try_open({}, {start("Test", SemanticVersion{3, 0, 0})});
  const auto* missing = std::get_if<NotRegistered>(&result);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->name, "Test");
  EXPECT_EQ(missing->version, (SemanticVersion{3, 0, 0}));
}

TEST_F(TurnExecutors, AVersionThatOnlyHistoryKnowsIsNotRegistered) {
  auto history = begun(start("Test"));
  std::get<events::OrchestrationStarted>(history[0].body).version = SemanticVersion{0, 9, 0};
  const auto result = try_open(history, {start("Test")});
  const auto* missing = std::get_if<NotRegistered>(&result);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->version, (SemanticVersion{0, 9, 0}));
}

TEST_F(TurnExecutors, WithoutHistoryAndStartThereIsNothingToRun) {
  EXPECT_TRUE(std::holds_alternative<NothingToRun>(try_open({}, {})));
  EXPECT_TRUE(std::holds_alternative<NothingToRun>(try_open({}, {of(cancel("late")), of(queued("q"))})));
}

TEST_F(TurnExecutors, ANewExecutionRecordsTheVersionThatThePolicyChose) {
  EXPECT_THAT(lines_of(begun(start("Test"))),
              ElementsAre("1 OrchestrationStarted 'Test' version=2.0.0", "2 ActivityScheduled 'Two'"));
  registry_.set_version_policy("Test", VersionPolicy::exact({1, 0, 0}));
  EXPECT_THAT(lines_of(begun(start("Test"))),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'One'"));
}

TEST_F(TurnExecutors, AnExplicitVersionBeatsThePolicy) {
  EXPECT_THAT(lines_of(begun(start("Test", SemanticVersion{1, 0, 0})))[0],
              "1 OrchestrationStarted 'Test' version=1.0.0");
}

TEST_F(TurnExecutors, AContinueAsNewBeatsAStart) {
  const Message next = of(messages::ContinueAsNew{"Loop", std::nullopt, std::nullopt, std::nullopt, {}, std::nullopt});
  const auto execution = open({}, {start("Test"), next});
  EXPECT_EQ(lines_of(run(*execution, {start("Test"), next}).events)[0], "1 OrchestrationStarted 'Loop' version=1.0.0");
}

// W9: a duplicate start must not change the code that a history belongs to.
TEST_F(TurnExecutors, HistoryDecidesNameAndVersionWhateverASecondStartSays) {
  const auto history = begun(start("Test", SemanticVersion{1, 0, 0}));
  const std::vector<Message> batch{start("Loop"), start("Test", SemanticVersion{2, 0, 0}), of(completed(2))};
  const auto execution = open(history, batch);
  EXPECT_EQ(execution->failure(), std::nullopt);
  const auto last = run(*execution, batch);
  EXPECT_EQ(last.output, "\"one\"");
  EXPECT_EQ(last.ignored.size(), 2u);
}

TEST_F(TurnExecutors, AHistoryThatDoesNotFitIsTold) {
  auto history = begun(start("Test"));
  std::get<events::ActivityScheduled>(history[1].body).name = "Other";
  const auto execution = open(history, {});
  ASSERT_TRUE(execution->failure());
  const auto last = run(*execution, {of(completed(2))});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(last.error, execution->failure());
}

TEST_F(TurnExecutors, AKeptExecutionCatchesUpWithWhatOthersCommitted) {
  const auto first = begun(start("Loop"));
  const auto ahead = open(first, {});
  const auto behind = open(first, {});
  EXPECT_EQ(behind->last_event_id(), 2u);
  const auto second = run(*ahead, {of(queued("q", "1"))}).events;
  const auto third = run(*ahead, {of(queued("q", "2")), of(queued("q", "3"))}).events;
  std::vector<Event> missed = second;
  missed.insert(missed.end(), third.begin(), third.end());
  behind->catch_up(missed);
  EXPECT_EQ(behind->failure(), std::nullopt);
  EXPECT_EQ(behind->last_event_id(), ahead->last_event_id());
  EXPECT_EQ(lines_of(run(*behind, {of(queued("q", "4"))}).events),
            lines_of(run(*ahead, {of(queued("q", "4"))}).events));
}

TEST_F(TurnExecutors, CatchingUpWithAGapIsACorruptHistory) {
  const auto first = begun(start("Loop"));
  const auto ahead = open(first, {});
  const auto behind = open(first, {});
  (void)run(*ahead, {of(queued("q", "1"))});
  behind->catch_up(run(*ahead, {of(queued("q", "2"))}).events);
  ASSERT_TRUE(behind->failure());
  EXPECT_EQ(std::get<ConfigurationError>(*behind->failure()).kind, ConfigurationErrorKind::kCorruptHistory);
}

TEST_F(TurnExecutors, TheLastEventIdIsThatOfTheHistory) {
  const auto execution = open({}, {start("Loop")});
  EXPECT_EQ(execution->last_event_id(), 0u);
  (void)run(*execution, {start("Loop")});
  EXPECT_EQ(execution->last_event_id(), 2u);
  (void)run(*execution, {of(queued("q", "1"))});
  EXPECT_EQ(execution->last_event_id(), 4u);
}

TEST_F(TurnExecutors, TheKeyValuesOfTheExecutionBeforeAreSeeded) {
  registry_.add_orchestration("Read", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_return ctx.get_kv_value<int>("key").value_or(0);
  });
  const std::vector<Message> batch{start("Read")};
  OpenRequest request;
  request.instance = "inst";
  request.messages = batch;
  request.key_values = {{"key", {"7", Timestamp{}}}};
  auto result = executor_.open(std::move(request));
  EXPECT_EQ(run(*std::get<0>(result), batch).output, "7");
}

TEST_F(TurnExecutors, MemoryGrowsWithWhatIsOpenAndShrinksWhenItIsDone) {
  registry_.add_orchestration("Wide", [](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_activity<void>("First");
    {
      std::vector<Future<void>> all;
      for (int i = 0; i < 1'000; ++i) all.push_back(ctx.schedule_activity<void>("A"));
      co_await ctx.join(std::move(all));
    }
    co_await ctx.schedule_activity<void>("Last");
  });
  const auto execution = open({}, {start("Wide")});
  (void)run(*execution, {start("Wide")});
  const std::size_t narrow = execution->memory_bytes();
  EXPECT_GT(narrow, 100u);
  EXPECT_LT(narrow, 10'000u);
  (void)run(*execution, {of(completed(2))});
  const std::size_t wide = execution->memory_bytes();
  EXPECT_GT(wide, narrow + 1'000 * 50);
  std::vector<Message> all;
  for (EventId id = 4; id < 1'004; ++id) all.push_back(of(completed(id)));
  (void)run(*execution, std::move(all));
  const std::size_t after = execution->memory_bytes();
  EXPECT_LT(after, narrow + 10'000);
}

TEST_F(TurnExecutors, MemoryCountsFramesAndQueuedMessages) {
  registry_.add_orchestration("Nested", [](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_activity<void>("First");
    const auto helper = [](OrchestrationContext inner) -> Task<void> { co_await inner.schedule_activity<void>("A"); };
    std::vector<Task<void>> all;
    for (int i = 0; i < 100; ++i) all.push_back(helper(ctx));
    co_await ctx.join(std::move(all));
    co_await ctx.schedule_activity<void>("Last");
  });
  const auto execution = open({}, {start("Nested")});
  (void)run(*execution, {start("Nested")});
  const std::size_t before = execution->memory_bytes();
  (void)run(*execution, {of(completed(2))});
  EXPECT_GT(execution->memory_bytes(), before + 100 * 200);  // a frame is no smaller
  const std::size_t without = execution->memory_bytes();
  (void)run(*execution, {of(queued("q", std::string(50'000, 'x')))});
  EXPECT_GT(execution->memory_bytes(), without + 50'000);
}

}  // namespace
}  // namespace perdure::test
