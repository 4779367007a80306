// The client's control and status calls, on every store, without a runtime.
#include <future>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client_scene.h"

namespace perdure::test {

// Stands for a user's type whose codec throws.
struct Unencodable {};

}  // namespace perdure::test

template <>
struct perdure::Codec<perdure::test::Unencodable> {
  static std::string encode(const perdure::test::Unencodable&) { throw std::runtime_error("not today"); }
  static perdure::test::Unencodable decode(std::string_view) { return {}; }
};

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using ClientCalls = ClientScene;
PERDURE_ON_EVERY_STORE(ClientCalls);

// ---- how an instance stands ----

TEST_P(ClientCalls, AnUnknownInstanceIsNotFoundAndHasNoResult) {
  const auto status = client->get_orchestration_status("nobody");
  EXPECT_EQ(status.state, OrchestrationState::kNotFound);
  EXPECT_FALSE(status.ended());
  EXPECT_EQ(status.error_text(), "");
  EXPECT_EQ(refusal([&] { (void)status.result<int>(); }), ClientErrorKind::kNotFound);
}

TEST_P(ClientCalls, AMessageDoesNotMakeAnInstance) {
  client->raise_event("nobody", "go", 1, {.even_if_missing = true});
  client->raise_event("nobody", "go", {.even_if_missing = true});
  client->cancel_instance("nobody", "early", {.even_if_missing = true});
  client->enqueue_event("nobody", "queue", 1);
  EXPECT_EQ(client->get_orchestration_status("nobody").state, OrchestrationState::kNotFound);
}

// Otherwise a cancel meant for an earlier instance would end the next instance of that id.
TEST_P(ClientCalls, WhatEndsOrWakesAnInstanceNeedsOne) {
  EXPECT_EQ(refusal([&] { client->raise_event("i", "go", 1); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->raise_event("i", "go"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->cancel_instance("i"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->terminate_instance("i"); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->enqueue_event("i", "queue", SendOptions()); }), ClientErrorKind::kNotFound);
  EXPECT_EQ(refusal([&] { client->enqueue_event("i", "queue", 1, SendOptions()); }), ClientErrorKind::kNotFound);
  try {
    client->cancel_instance("i");
  } catch (const ClientError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'i'"), HasSubstr("even_if_missing")));
  }
  client->start_orchestration("i", "Echo", "hello");
  client->raise_event("i", "nobody waits");  // a queued start is enough
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<std::string>(), "two: hello");
  client->delete_instance("i");
  EXPECT_EQ(refusal([&] { client->terminate_instance("i"); }), ClientErrorKind::kNotFound);
}

TEST_P(ClientCalls, WhatIsSentEvenIfMissingReachesTheNextInstance) {
  client->cancel_instance("i", "before it began", {.even_if_missing = true});
  start("i", "Listen");
  work();
  EXPECT_EQ(client->get_orchestration_status("i").error_text(), "cancelled: before it began");
}

TEST_P(ClientCalls, AStartThatNoRuntimeHasTakenIsPending) {
  EXPECT_EQ(client->start_orchestration("i", "Echo", "x"), StartOutcome::kEnqueued);
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kPending);
  EXPECT_FALSE(status.ended());
  EXPECT_EQ(refusal([&] { (void)status.result<std::string>(); }), ClientErrorKind::kStillRunning);
}

TEST_P(ClientCalls, AnInstanceThatWaitsIsRunning) {
  start("i", "Listen");
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kRunning);
  EXPECT_EQ(status.name, "Listen");
  EXPECT_EQ(status.version, (SemanticVersion{1, 0, 0}));
  EXPECT_EQ(status.execution_id, kFirstExecutionId);
  EXPECT_EQ(status.custom_status, std::nullopt);
  EXPECT_EQ(status.custom_status_version, 0U);
  EXPECT_EQ(refusal([&] { (void)status.result<std::string>(); }), ClientErrorKind::kStillRunning);
}

TEST_P(ClientCalls, ACompletedInstanceHasATypedResult) {
  client->start_orchestration("i", "Echo", "hello", StartInstanceOptions().version("1.0.0"));
  work();
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kCompleted);
  EXPECT_TRUE(status.completed());
  EXPECT_EQ(status.output, "\"hello\"");
  EXPECT_EQ(status.error, std::nullopt);
  EXPECT_EQ(status.result<std::string>(), "hello");
  EXPECT_EQ(status.result<Raw>().text(), "\"hello\"");
  EXPECT_EQ(refusal([&] { (void)status.result<int>(); }), ClientErrorKind::kInvalidOutput);
}

TEST_P(ClientCalls, AnOrchestrationWithoutAResultHasAnAbsentOne) {
  start("i", "Nothing");
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kCompleted);
  EXPECT_EQ(status.output, std::nullopt);
  EXPECT_NO_THROW(status.result<void>());
  EXPECT_EQ(refusal([&] { (void)status.result<int>(); }), ClientErrorKind::kInvalidOutput);
}

TEST_P(ClientCalls, AFailedInstanceSaysWhy) {
  start("i", "Fail");
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_TRUE(status.ended());
  EXPECT_FALSE(status.completed());
  EXPECT_EQ(status.output, std::nullopt);
  EXPECT_EQ(status.error_text(), "the order is void");
  try {
    (void)status.result<int>();
    FAIL() << "a failure has no result";
  } catch (const OrchestrationFailure& failure) {
    EXPECT_STREQ(failure.what(), "the order is void");
    ASSERT_TRUE(std::holds_alternative<ApplicationError>(failure.details()));
    EXPECT_EQ(std::get<ApplicationError>(failure.details()).kind, ApplicationErrorKind::kOrchestrationFailed);
  }
}

TEST_P(ClientCalls, ACancelledInstanceCarriesTheReason) {
  start("i", "Listen");
  client->cancel_instance("i", "too late");
  work();
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kCancelled);
  EXPECT_EQ(status.error_text(), "cancelled: too late");
  EXPECT_THROW((void)status.result<std::string>(), OrchestrationFailure);
}

TEST_P(ClientCalls, ATerminatedInstanceCarriesTheReason) {
  start("i", "Listen");
  client->terminate_instance("i", "enough");
  work();
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kTerminated);
  EXPECT_THAT(status.error_text(), HasSubstr("enough"));
  EXPECT_THROW((void)status.result<std::string>(), OrchestrationFailure);
}

TEST_P(ClientCalls, CancellingWhatHasEndedChangesNothing) {
  client->start_orchestration("i", "Echo", "hello");
  work();
  const auto before = client->get_orchestration_status("i");
  client->cancel_instance("i", "too late");
  client->terminate_instance("i", "too late");
  client->raise_event("i", "go", 1);
  work();
  EXPECT_EQ(client->get_orchestration_status("i"), before);
}

TEST_P(ClientCalls, BetweenTwoExecutionsAnInstanceIsRunning) {
  client->start_orchestration("i", "Rounds", 1);
  const auto between = [&] {
    const auto known = client->list_all_instances();
    return !known.empty() && client->get_instance_info("i").status == ExecutionStatus::kContinuedAsNew;
  };
  while (!between()) ASSERT_TRUE(step());
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kRunning);
  EXPECT_EQ(refusal([&] { client->wait_for_orchestration("i", 0ms); }), ClientErrorKind::kTimeout);
  work();
  const auto status = client->get_orchestration_status("i");
  EXPECT_EQ(status.state, OrchestrationState::kRunning);
  EXPECT_EQ(status.execution_id, 2U);
  EXPECT_EQ(status.custom_status, "rounds left: 0");
  client->raise_event("i", "go");
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<int>(), 0);
}

TEST_P(ClientCalls, EachChangeOfTheCustomStatusRaisesItsVersion) {
  start("i", "Talk");
  say("i", "one");
  EXPECT_EQ(client->get_orchestration_status("i").custom_status, "one");
  const auto first = client->get_orchestration_status("i").custom_status_version;
  EXPECT_GT(first, 0U);
  say("i", "two");
  EXPECT_EQ(client->get_orchestration_status("i").custom_status, "two");
  EXPECT_GT(client->get_orchestration_status("i").custom_status_version, first);
  say("i", "reset");
  EXPECT_EQ(client->get_orchestration_status("i").custom_status, std::nullopt);
  EXPECT_GT(client->get_orchestration_status("i").custom_status_version, first + 1);
  say("i", "end");
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kCompleted);
}

// ---- starting ----

TEST_P(ClientCalls, AVersionThatIsAskedForIsRun) {
  client->start_orchestration("one", "Echo", "x", StartInstanceOptions().version("1.0.0"));
  client->start_orchestration("two", "Echo", "x");
  work();
  EXPECT_EQ(client->get_orchestration_status("one").result<std::string>(), "x");
  EXPECT_EQ(client->get_orchestration_status("one").version, (SemanticVersion{1, 0, 0}));
  EXPECT_EQ(client->get_orchestration_status("two").result<std::string>(), "two: x");
  EXPECT_EQ(client->get_orchestration_status("two").version, (SemanticVersion{2, 0, 0}));
  EXPECT_THROW(StartInstanceOptions().version("new"), std::invalid_argument);
}

TEST_P(ClientCalls, StartingTwiceIsStartingOnceUnlessToldOtherwise) {
  EXPECT_EQ(client->start_orchestration("i", "Echo", "first"), StartOutcome::kEnqueued);
  EXPECT_EQ(client->start_orchestration("i", "Echo", "second"), StartOutcome::kIgnored);
  work();
  EXPECT_EQ(client->start_orchestration("i", "Echo", "third"), StartOutcome::kIgnored);
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<std::string>(), "two: first");
}

TEST_P(ClientCalls, AStartThatMustBeTheFirstFailsOnAnythingThatIsThere) {
  const auto strictly = StartInstanceOptions().policy(StartPolicy::kFail);
  EXPECT_EQ(client->start_orchestration("i", "Listen", strictly), StartOutcome::kEnqueued);
  const auto again = [&] { client->start_orchestration("i", "Listen", strictly); };
  EXPECT_EQ(refusal(again), ClientErrorKind::kAlreadyExists) << "while its start is queued";
  work();
  EXPECT_EQ(refusal(again), ClientErrorKind::kAlreadyExists) << "while it runs";
  client->raise_event("i", "go", "x");
  work();
  EXPECT_EQ(refusal(again), ClientErrorKind::kAlreadyExists) << "after its end";
}

TEST_P(ClientCalls, AnEndedInstanceIsReplacedIfAskedFor) {
  const auto anew = StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal);
  EXPECT_EQ(client->start_orchestration("i", "Listen", anew), StartOutcome::kEnqueued);
  work();
  EXPECT_EQ(refusal([&] { client->start_orchestration("i", "Echo", "x", anew); }), ClientErrorKind::kStillRunning);
  client->cancel_instance("i");
  work();
  EXPECT_EQ(client->start_orchestration("i", "Echo", "x", anew), StartOutcome::kReplaced);
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kPending);
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<std::string>(), "two: x");
}

// ---- limits ----

TEST_P(ClientCalls, EmptyNamesAreRefused) {
  EXPECT_EQ(refusal([&] { client->start_orchestration("", "Echo", "x"); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->start_orchestration("i", ""); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->raise_event("", "go"); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->raise_event("i", ""); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->enqueue_event("", "say", 1); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->enqueue_event("i", "", 1); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->cancel_instance(""); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->terminate_instance(""); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->wait_for_orchestration("", 0ms); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(client->get_queue_depths().messages, 0U) << "nothing is written";
}

TEST_P(ClientCalls, NamesAreMeasuredAgainstTheirLimit) {
  const Client strict(store, {.limits = {.max_name_bytes = 8}, .logger = {}});
  const std::string fits(8, 'x');
  const std::string longer(9, 'x');
  EXPECT_EQ(refusal([&] { strict.start_orchestration(longer, fits); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.start_orchestration(fits, longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.raise_event(longer, fits); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.raise_event(fits, longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.enqueue_event(fits, longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.cancel_instance(longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(client->get_queue_depths().messages, 0U) << "nothing is written";
  EXPECT_EQ(refusal([&] { strict.start_orchestration(fits, fits); }), std::nullopt);
}

TEST_P(ClientCalls, LimitsAboveThoseOfTheStoresAreRefused) {
  const auto refusal = [this](const Limits& limits) -> std::string {
    try {
      const Client unlimited(store, {.limits = limits, .logger = {}});
      return "";
    } catch (const ClientError& error) {
      EXPECT_EQ(error.kind(), ClientErrorKind::kInvalidInput);
      return error.what();
    }
  };
  EXPECT_THAT(refusal({.max_name_bytes = 2'049}), HasSubstr("limits.max_name_bytes must not be more than 2048"));
  EXPECT_THAT(refusal({.max_payload_bytes = (std::size_t{64} << 20U) + 1}), HasSubstr("limits.max_payload_bytes"));
  EXPECT_EQ(refusal({.max_name_bytes = 2'048, .max_payload_bytes = std::size_t{64} << 20U, .max_tag_bytes = 2'048}),
            "");
}

TEST_P(ClientCalls, PayloadsAreMeasuredAgainstTheirLimit) {
  const Client strict(store, {.limits = {.max_payload_bytes = 4}, .logger = {}});
  const Raw fits("1234");
  const Raw longer("12345");
  EXPECT_EQ(refusal([&] { strict.start_orchestration("i", "Echo", longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.raise_event("i", "go", longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.enqueue_event("i", "say", longer); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.cancel_instance("i", "12345"); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { strict.terminate_instance("i", "12345"); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(client->get_queue_depths().messages, 0U) << "nothing is written";
  EXPECT_EQ(refusal([&] { strict.start_orchestration("i", "Echo", fits); }), std::nullopt);
  try {
    strict.raise_event("i", "go", longer);
    FAIL();
  } catch (const ClientError& error) {
    EXPECT_THAT(error.what(), HasSubstr("max_payload_bytes")) << "the error names the limit";
    EXPECT_FALSE(error.retryable());
  }
}

TEST_P(ClientCalls, AValueThatCannotBeEncodedIsRefused) {
  EXPECT_EQ(refusal([&] { client->start_orchestration("i", "Echo", Unencodable{}); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->raise_event("i", "go", Unencodable{}); }), ClientErrorKind::kInvalidInput);
  EXPECT_EQ(refusal([&] { client->enqueue_event("i", "say", Unencodable{}); }), ClientErrorKind::kInvalidInput);
}

// ---- signals ----

TEST_P(ClientCalls, AnEventReachesTheOrchestrationThatWaitsForIt) {
  start("i", "Listen");
  client->raise_event("i", "other", "lost");
  work();
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kRunning);
  client->raise_event("i", "go", "now");
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<std::string>(), "now");
}

TEST_P(ClientCalls, QueueMessagesWaitForTheirReader) {
  client->start_orchestration("i", "Talk");
  for (const char* word : {"one", "two", "end"}) client->enqueue_event("i", "say", word);
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<std::string>(), "done");
  EXPECT_EQ(client->get_orchestration_status("i").custom_status, "two");
}

// ---- key values and numbers ----

TEST_P(ClientCalls, KeyValuesAreReadFromOutside) {
  EXPECT_EQ(client->get_kv_value<int>("i", "a"), std::nullopt) << "of an instance that does not exist";
  EXPECT_THAT(client->get_kv_all_values("i"), ElementsAre());
  start("i", "Talk");
  EXPECT_EQ(client->get_kv_value<int>("i", "a"), std::nullopt);
  say("i", "key b");
  say("i", "key a");
  EXPECT_EQ(client->get_kv_value<int>("i", "a"), 7);
  EXPECT_EQ(refusal([&] { (void)client->get_kv_value<std::string>("i", "a"); }), ClientErrorKind::kInvalidOutput);
  EXPECT_THAT(client->get_kv_all_values("i"), ElementsAre(Pair("a", "7"), Pair("b", "7")));
  say("i", "clear");
  EXPECT_THAT(client->get_kv_all_values("i"), ElementsAre());
}

TEST_P(ClientCalls, StatsAreThoseOfTheCurrentExecution) {
  EXPECT_EQ(client->get_orchestration_stats("i"), std::nullopt);
  client->start_orchestration("i", "Talk");
  EXPECT_EQ(client->get_orchestration_stats("i"), std::nullopt) << "a queued start is no instance";
  work();
  say("i", "key a");
  const auto stats = client->get_orchestration_stats("i");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->history_events, client->read_execution_history("i").size());
  EXPECT_GT(stats->history_bytes, 0U);
  EXPECT_EQ(stats->key_values, 1U);
  EXPECT_EQ(stats->key_value_bytes, 1U);
}

// ---- the edges ----

TEST(ClientMaking, ANullProviderIsRefused) {
  EXPECT_EQ(refusal([] { const Client client(nullptr); }), ClientErrorKind::kInvalidInput);
}

class BrokenStore final : public testing::ForwardingProvider {
 public:
  BrokenStore() : ForwardingProvider(make_memory_provider()) {}
  ProviderErrorKind kind = ProviderErrorKind::kBusy;

  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string&) override { return error(); }
  ProviderResult<StartOutcome> enqueue_start(const MessageRecord&, StartPolicy) override { return error(); }
  ProviderResult<bool> wait_for_change(const std::string&, const InstanceChange&, Timestamp) override {
    return error();
  }

 private:
  ProviderError error() const { return {kind, "no luck"}; }
};

// Sets the clock back by an hour during each wait, lets six seconds pass, and ends the wait as if it was interrupted.
class SteppingStore final : public testing::ForwardingProvider {
 public:
  explicit SteppingStore(std::shared_ptr<ManualClock> clock)
      : ForwardingProvider(make_memory_provider({.clock = clock, .logger = {}, .metrics = {}})),
        clock_(std::move(clock)) {}

  ProviderResult<bool> wait_for_change(const std::string&, const InstanceChange&, Timestamp deadline) override {
    timeouts.push_back(deadline - now());
    clock_->step(-1h);
    clock_->advance(6s);
    return false;
  }
  std::vector<Milliseconds> timeouts;

 private:
  std::shared_ptr<ManualClock> clock_;
};

TEST(ClientWaits, TakeTheirTimeByTheSteadyClock) {
  const auto store = std::make_shared<SteppingStore>(std::make_shared<ManualClock>(Timestamp(1'700'000'000s)));
  EXPECT_THROW((void)Client(store).wait_for_orchestration("i", 10s), ClientError);
  EXPECT_THAT(store->timeouts, ElementsAre(10s, 4s));
}

TEST(ClientErrors, WhatTheStoreSaysIsPassedOn) {
  const auto store = std::make_shared<BrokenStore>();
  const Client client(store);
  for (const bool transient : {true, false}) {
    store->kind = transient ? ProviderErrorKind::kBusy : ProviderErrorKind::kStoreFailed;
    const auto expect = [&](auto call) {
      try {
        call();
        ADD_FAILURE() << "the store failed";
      } catch (const ClientError& error) {
        EXPECT_EQ(error.kind(), ClientErrorKind::kStore);
        EXPECT_EQ(error.retryable(), transient);
        ASSERT_TRUE(error.provider_error());
        EXPECT_EQ(error.provider_error()->kind(), store->kind);
        EXPECT_THAT(error.what(), HasSubstr("no luck"));
      }
    };
    expect([&] { (void)client.get_orchestration_status("i"); });
    expect([&] { client.start_orchestration("i", "Echo"); });
    expect([&] { client.wait_for_orchestration("i", 1h); });  // returned at once, not after the hour
  }
}

TEST(ClientErrors, ATimeoutMayBeTriedAgain) {
  EXPECT_TRUE(ClientError(ClientErrorKind::kTimeout, "x").retryable());
  EXPECT_FALSE(ClientError(ClientErrorKind::kNotFound, "x").retryable());
}

}  // namespace
}  // namespace perdure::test
