// Activities on the threads of a runtime: what they know, how they end, when they are told to stop.
#include <stop_token>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

class Activities : public Threaded {
 protected:
  Activities() : Threaded(std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)))) {}

  // An orchestration that gives back the error of its activity, or its result.
  static void add_report(Registry& registry, const std::string& name, ActivityOptions how = {}) {
    registry.add_orchestration("Report", [name, how](Ctx ctx) -> Orchestration<std::string> {
      auto result = co_await ctx.schedule_activity<std::string>(name, how).as_result();
      if (result) co_return "result: " + *result;
      const Error& error = result.error();
      co_return std::string(error.is_timeout()  ? "timeout: "
                            : error.retryable() ? "retryable: "
                                                : "final: ") +
          error.message();
    });
  }
  // One that begins an activity and drops it when it is told to, by the event "drop".
  static void add_dropper(Registry& registry, const std::string& activity = "Work") {
    registry.add_orchestration("Dropper", [activity](Ctx ctx) -> Orchestration<void> {
      {
        auto dropped = ctx.schedule_activity<int>(activity);
        co_await ctx.schedule_wait<void>("drop");
      }
      co_await ctx.schedule_wait<void>("end");
    });
  }
  // Runs one activity and gives what its orchestration saw of it.
  std::string seen(Registry& registry, const std::string& name, ActivityOptions how = {}) {
    add_report(registry, name, how);
    const auto runtime = run(registry);
    client.start_orchestration("i", "Report");
    return end_of("i").result<std::string>();
  }
};

// Waits until it is told to stop, or until its gate is opened.
struct Patient {
  Gate begun;
  Gate stopped;
  Gate go_on;
  std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);

  int operator()(ActivityContext& ctx) const {
    ++*runs;
    const Gate over = go_on;
    const Gate told = stopped;
    const std::stop_callback stop(ctx.stop_token(), [told, over] {
      told.open();
      over.open();
    });
    begun.open();
    over.wait();
    return ctx.is_cancelled() ? -1 : 1;
  }
};

// Does not care about its stop token.
struct Stubborn {
  Gate begun;
  Gate go_on;

  int operator()(ActivityContext&) const {
    begun.open();
    go_on.wait();
    return 1;
  }
};

// ---- how they end ----

TEST_F(Activities, AnExceptionIsAFailureThatMayBeRetried) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) -> std::string { throw std::runtime_error("card declined"); });
  EXPECT_EQ(seen(registry, "Work"), "retryable: card declined");
}

TEST_F(Activities, ANonRetryableErrorIsFinal) {
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext&) -> std::string {
    ++runs;
    throw NonRetryableError("no such account");
  });
  EXPECT_EQ(seen(registry, "Work", ActivityOptions().retry(RetryPolicy(5).backoff(Backoff::none()))),
            "final: no such account");
  EXPECT_EQ(runs, 1);
}

TEST_F(Activities, OtherExceptionsAreRetriedAsThePolicySays) {
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext&) -> std::string {
    if (++runs < 3) throw std::runtime_error("busy");
    return "at last";
  });
  EXPECT_EQ(seen(registry, "Work", ActivityOptions().retry(RetryPolicy(3).backoff(Backoff::none()))),
            "result: at last");
}

TEST_F(Activities, WhatIsNoStdExceptionIsAFailureToo) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) -> std::string { throw 42; });  // NOLINT: what users may do
  EXPECT_THAT(seen(registry, "Work"), HasSubstr("not a std::exception"));
}

TEST_F(Activities, AnInputThatCannotBeDecodedIsAFinalFailure) {
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext&, int) {
    ++runs;
    return std::string();
  });
  EXPECT_THAT(seen(registry, "Work"), AllOf(HasSubstr("final: "), HasSubstr("'Work'")));
  EXPECT_EQ(runs, 0);
}

TEST_F(Activities, AResultBeyondTheLimitIsAFailureThatNamesIt) {
  options.limits.max_payload_bytes = 100;
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return std::string(200, 'x'); });
  EXPECT_THAT(seen(registry, "Work"), AllOf(HasSubstr("final: "), HasSubstr("max_payload_bytes")));
}

// ---- what they know ----

TEST_F(Activities, KnowTheirCall) {
  std::optional<ActivityContext> seen_context;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext& ctx, int) {
    seen_context = ctx;
    ctx.trace_info("charging");
    return 1;
  });
  registry.add_orchestration("Knows", "1.2.3", [](Ctx ctx, int rounds) -> Orchestration<int> {
    if (rounds > 0) co_return ctx.continue_as_new(rounds - 1);
    co_return co_await ctx.schedule_activity<int>("Work", 5, ActivityOptions().session("s").tag("gpu"));
  });
  options.worker_tag_filter = TagFilter::tags({"gpu"});
  const auto runtime = run(registry);
  client.start_orchestration("i", "Knows", 1);
  EXPECT_TRUE(end_of("i").completed());
  ASSERT_TRUE(seen_context);
  EXPECT_EQ(seen_context->instance_id(), "i");
  EXPECT_EQ(seen_context->execution_id(), 2U);
  EXPECT_EQ(seen_context->orchestration_name(), "Knows");
  EXPECT_EQ(seen_context->orchestration_version(), (SemanticVersion{1, 2, 3}));
  EXPECT_EQ(seen_context->activity_name(), "Work");
  EXPECT_EQ(seen_context->activity_id(), 2U);
  EXPECT_EQ(seen_context->attempt(), 1U);
  EXPECT_THAT(seen_context->worker_id(), HasSubstr(runtime->node_id()));
  EXPECT_EQ(seen_context->session_id(), "s");
  EXPECT_EQ(seen_context->tag(), "gpu");
  EXPECT_FALSE(seen_context->is_cancelled());
  const auto traces = log->find("charging");
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].target, log_target::kActivity);
  EXPECT_EQ(traces[0].field("instance_id"), "i");
  EXPECT_EQ(traces[0].field("execution_id"), "2");
  EXPECT_EQ(traces[0].field("orchestration_name"), "Knows");
  EXPECT_EQ(traces[0].field("orchestration_version"), "1.2.3");
  EXPECT_EQ(traces[0].field("activity_name"), "Work");
  EXPECT_EQ(traces[0].field("activity_id"), "2");
  EXPECT_THAT(traces[0].field("worker_id"), ::testing::Optional(HasSubstr(runtime->node_id())));
}

TEST_F(Activities, HaveAClient) {
  Registry registry;
  registry.add_activity("Starts", [](ActivityContext& ctx) {
    ctx.client().start_orchestration("other", "Other");
    ctx.client().raise_event(ctx.instance_id(), "hello", 7);
    return 0;
  });
  registry.add_orchestration("Other", [](Ctx) -> Orchestration<int> { co_return 8; });
  registry.add_orchestration("Flow", [](Ctx ctx) -> Orchestration<int> {
    auto hello = ctx.schedule_wait<int>("hello");
    co_await ctx.schedule_activity<int>("Starts");
    co_return co_await hello;
  });
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(end_of("i").result<int>(), 7);
  EXPECT_EQ(end_of("other").result<int>(), 8);
}

// ---- stops. The clock stands still unless a test moves it, so "at once" is what happens without a move ----

TEST_F(Activities, ADroppedFutureStopsItsActivityAtOnce) {
  const Patient work;
  Registry registry;
  registry.add_activity("Work", work);
  add_dropper(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Dropper");
  ASSERT_TRUE(work.begun.wait());
  client.raise_event("i", "drop");
  EXPECT_TRUE(work.stopped.wait());
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_EQ(store->acks, 0);
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
  EXPECT_THAT(warnings(), IsEmpty()) << "W23";
}

TEST_F(Activities, ACancelledOrchestrationStopsItsActivitiesAtOnce) {
  for (const bool terminate : {false, true}) {
    const Patient work;
    Registry registry;
    registry.add_activity("Work", work);
    add_flow(registry);
    const auto runtime = run(registry);
    const std::string instance = terminate ? "t" : "c";
    client.start_orchestration(instance, "Flow");
    ASSERT_TRUE(work.begun.wait());
    terminate ? client.terminate_instance(instance) : client.cancel_instance(instance);
    EXPECT_TRUE(work.stopped.wait());
    EXPECT_TRUE(end_of(instance).ended());
  }
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
}

TEST_F(Activities, ADeletedInstanceStopsItsActivitiesAtTheNextRenewal) {
  const Patient work;
  Registry registry;
  registry.add_activity("Work", work);
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(work.begun.wait());
  client.delete_instance("i", true);
  clock->advance(15s);
  EXPECT_TRUE(work.stopped.wait());
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Activities, AResultThatComesAfterTheDeletionIsDroppedWithoutAFuss) {
  const Stubborn work;
  Registry registry;
  registry.add_activity("Work", work);
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(work.begun.wait());
  client.delete_instance("i", true);
  work.go_on.open();
  EXPECT_TRUE(eventually([&] { return store->acks == 1; }));
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
  EXPECT_THAT(warnings(), IsEmpty()) << "W23";
}

// ---- locks ----

TEST_F(Activities, ALongActivityIsNotRunTwice) {
  const Patient work;
  Registry registry;
  registry.add_activity("Work", work);
  add_flow(registry);
  add_chore(registry);
  const auto first = run(registry);
  const auto second = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(work.begun.wait());
  pass_in_steps(5s, 60);  // ten times the timeout of its lock
  EXPECT_GE(store->work_renewals, 10);
  EXPECT_FALSE(work.stopped.is_open());
  work.go_on.open();
  EXPECT_EQ(end_of("i").result<int>(), 1);
  EXPECT_EQ(*work.runs, 1);
}

TEST_F(Activities, TransientRenewalErrorsDoNotCancel) {
  const Patient work;
  Registry registry;
  registry.add_activity("Work", work);
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(work.begun.wait());
  store->renewals_fail = true;
  clock->advance(15s);
  EXPECT_TRUE(eventually([&] { return store->failures >= 1; }));
  store->renewals_fail = false;
  // The next try is counted from when the dispatcher hears of the failure, so time moves on in small steps; but not to
  // the end of the lock.
  int looks = 0;
  EXPECT_TRUE(eventually([&] {
    if (++looks % 50 == 0 && looks < 700) clock->advance(1s);
    return store->work_renewals > 0;
  })) << "it is tried again before the lock ends";
  EXPECT_FALSE(work.stopped.is_open()) << "W26";
  work.go_on.open();
  EXPECT_EQ(end_of("i").result<int>(), 1);
}

// ---- places ----

TEST_F(Activities, ThePlaceOfAnActivityThatIgnoresItsStopIsGivenToAnother) {
  const Stubborn stubborn;
  Registry registry;
  registry.add_activity("Stubborn", stubborn).add_activity("Work", [](ActivityContext&) { return 2; });
  add_dropper(registry, "Stubborn");
  add_flow(registry);
  options.worker_concurrency = 1;
  const auto runtime = run(registry);
  client.start_orchestration("i", "Dropper");
  ASSERT_TRUE(stubborn.begun.wait());
  client.start_orchestration("j", "Flow");
  client.raise_event("i", "drop");
  EXPECT_TRUE(eventually([&] { return !log->find("cancelling activity").empty(); }));
  EXPECT_FALSE(ended("j")) << "its place is taken";
  clock->advance(10s);
  EXPECT_EQ(end_of("j").result<int>(), 2);
  EXPECT_FALSE(log->find("ignores its stop token").empty());
  stubborn.go_on.open();
}

TEST_F(Activities, StuckThreadsDoNotGrowWithoutBound) {
  const Stubborn first;
  const Stubborn second;
  Registry registry;
  registry.add_activity("First", first).add_activity("Second", second).add_activity("Work", [](ActivityContext&) {
    return 3;
  });
  registry.add_orchestration("Drops", [](Ctx ctx, std::string activity) -> Orchestration<void> {
    {
      auto dropped = ctx.schedule_activity<int>(activity);
      co_await ctx.schedule_wait<void>("drop");
    }
    co_await ctx.schedule_wait<void>("end");
  });
  add_flow(registry);
  options.worker_concurrency = 1;
  const auto runtime = run(registry);
  client.start_orchestration("1", "Drops", "First");
  ASSERT_TRUE(first.begun.wait());
  client.raise_event("1", "drop");
  EXPECT_TRUE(eventually([&] { return log->find("cancelling activity").size() == 1; }));
  clock->advance(10s);
  client.start_orchestration("2", "Drops", "Second");
  ASSERT_TRUE(second.begun.wait());
  client.raise_event("2", "drop");
  EXPECT_TRUE(eventually([&] { return log->find("cancelling activity").size() == 2; }));
  clock->advance(10s);
  EXPECT_TRUE(eventually([&] { return log->find("ignores its stop token").size() == 2; }));
  client.start_orchestration("3", "Flow");
  EXPECT_TRUE(eventually([&] { return client.get_queue_depths().activities == 1; })) << "nobody is left to run it";
  second.go_on.open();
  EXPECT_EQ(end_of("3").result<int>(), 3) << "the place of the second is free again";
  first.go_on.open();
}

// ---- timeouts ----

TEST_F(Activities, AnActivityThatTakesTooLongIsAFailedAttempt) {
  const Patient slow;
  std::atomic<int> attempts = 0;
  Registry registry;
  registry.add_activity("Work",
                        [&, slow](ActivityContext& ctx) { return std::to_string(++attempts > 1 ? 7 : slow(ctx)); });
  add_report(registry, "Work", ActivityOptions().timeout(2s).retry(RetryPolicy(2).backoff(Backoff::none())));
  const auto runtime = run(registry);
  client.start_orchestration("i", "Report");
  ASSERT_TRUE(slow.begun.wait());
  clock->advance(2s);
  EXPECT_EQ(end_of("i").result<std::string>(), "result: 7");
  EXPECT_TRUE(slow.stopped.wait()) << "nobody waits for the first any more";
}

TEST_F(Activities, WithoutRetriesATimeoutIsTheError) {
  const Patient slow;
  Registry registry;
  registry.add_activity("Work", [slow](ActivityContext& ctx) { return std::to_string(slow(ctx)); });
  add_report(registry, "Work", ActivityOptions().timeout(2s));
  const auto runtime = run(registry);
  client.start_orchestration("i", "Report");
  ASSERT_TRUE(slow.begun.wait());
  clock->advance(2s);
  EXPECT_THAT(end_of("i").result<std::string>(), AllOf(HasSubstr("timeout: "), HasSubstr("'Work'")));
}

TEST_F(Activities, AnActivityThatNobodyStartsInTimeFails) {
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext&) {
    ++runs;
    return std::string();
  });
  add_report(registry, "Work", ActivityOptions().tag("nobody serves it").schedule_to_start_timeout(1min));
  const auto runtime = run(registry);
  client.start_orchestration("i", "Report");
  EXPECT_TRUE(eventually([&] { return client.get_queue_depths().activities == 1; }));
  clock->advance(1min);
  EXPECT_THAT(end_of("i").result<std::string>(), AllOf(HasSubstr("timeout: "), HasSubstr("'Work'")));
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace perdure::test
