// history: its formats, following, and the bars of the timeline
#include <chrono>
#include <mutex>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/history_text.h>
#include <perdure/perdure.h>
#include "cli/event_views.h"
#include "cli/history_follower.h"
#include "cli/history_timeline.h"
#include "cli/program.h"
#include "cli/program_run.h"
#include "support/eventually.h"
#include "support/sample_model.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

// ---- formats ----

TEST(History, AsTable) {
  const ProgramRun run = sample_store().run({"history", "order-1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(StartsWith("EVENT  TIME"), HasSubstr("OrchestrationStarted"),
                             HasSubstr("'Order' version=1.0.0 input=4200"), HasSubstr("'Charge' input=4200"),
                             HasSubstr("result=\"receipt for 4200\""), HasSubstr("'stage' value=\"done\""),
                             HasSubstr("OrchestrationCompleted")));
  EXPECT_THAT(sample_store().run({"history", "order-2"}).out, HasSubstr("error='card declined'"));
}

TEST(History, AsJson) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"history", "order-1", "--json"}, {"history", "order-1", "--format", "json"}}) {
    const auto document = sample_store().run(arguments).json();
    EXPECT_EQ(document["instance"], "order-1");
    EXPECT_EQ(document["execution_id"], 1);
    const auto& first = document["events"][0];
    EXPECT_EQ(first["event_id"], 1);
    EXPECT_EQ(first["turn"], 1);
    EXPECT_EQ(first["kind"], "OrchestrationStarted");
    EXPECT_EQ(first["class"], "input");
    EXPECT_EQ(first["details"]["name"], "Order");
    EXPECT_EQ(first["details"]["input"], 4200);
    EXPECT_EQ(first["details"]["parent"], nullptr);
    EXPECT_EQ(document["events"].back()["class"], "terminal");
  }
}

TEST(History, AsTextThatCanBeReadBack) {
  const ProgramRun run = sample_store().run({"history", "order-1", "--format", "text"});
  EXPECT_EQ(read_history_text(run.out), Client(sample_store().provider()).read_execution_history("order-1"));
}

TEST(History, AsTimeline) {
  const ProgramRun run = sample_store().run({"history", "order-1", "--format", "timeline"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(StartsWith("EVENT  OPERATION"), HasSubstr("Order 1.0.0"), HasSubstr("Charge"), HasSubstr("━")));
  EXPECT_THAT(sample_store().run({"history", "waiting", "--format", "timeline"}).out,
              AllOf(HasSubstr("event approved"), HasSubstr("timer 1 d"), HasSubstr("open"), HasSubstr("╌")));
}

TEST(History, OfOneExecution) {
  const auto second = sample_store().run({"history", "rounds", "--execution", "2", "--json"}).json();
  EXPECT_EQ(second["execution_id"], 2);
  EXPECT_EQ(second["events"][0]["details"]["input"], 1);
  EXPECT_EQ(sample_store().run({"history", "rounds", "--json"}).json()["execution_id"], 3) << "else the current one";
  const ProgramRun missing = sample_store().run({"history", "rounds", "--execution", "4"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("has no execution 4"));
  EXPECT_EQ(sample_store().run({"history", "rounds", "--execution", "0"}).exit_code, 2);
}

TEST(History, OfAnInstanceThatHasNotBegun) {
  const ProgramRun run = sample_store().run({"history", "foreign"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("has not begun"));
  EXPECT_THAT(sample_store().run({"history", "foreign", "--json"}).json()["events"], IsEmpty());
}

TEST(History, LongValuesAreCutUnlessAskedFor) {
  const SqliteFile store;
  {
    const Runtime runtime(store.provider(), sample_registry());
    const Client client(store.provider());
    client.start_orchestration("long", "Leaf", std::string(500, 'y'));
    (void)client.wait_for_orchestration("long", kPatience);
  }
  const std::string all(500, 'y');
  EXPECT_THAT(store.run({"history", "long"}).out, AllOf(Not(HasSubstr(all)), HasSubstr("y... (502 bytes)")));
  EXPECT_THAT(store.run({"history", "long", "--full"}).out, HasSubstr(all));
  EXPECT_THAT(store.run({"history", "long", "--json"}).out, HasSubstr(all)) << "a program can cut it itself";
}

TEST(History, WrongArguments) {
  EXPECT_EQ(sample_store().run({"history", "order-1", "--format", "poem"}).exit_code, 2);
  EXPECT_EQ(sample_store().run({"history", "order-1", "--timeout", "1s"}).exit_code, 2) << "nothing is waited for";
  EXPECT_EQ(sample_store().run({"history", "order-1", "--follow", "--timeout", "soon"}).exit_code, 2);
  const ProgramRun run = sample_store().run({"history", "order-1", "--follow", "--format", "timeline"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--follow: only --format table and json"));
}

// ---- following ----

TEST(FollowedHistory, OfAnEndedInstanceEnds) {
  const ProgramRun text = sample_store().run({"history", "order-1", "--follow"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(StartsWith("execution 1\n   1  "), HasSubstr("OrchestrationCompleted")));
  for (const char* instance : {"order-2", "cancelled", "terminated"}) {
    EXPECT_EQ(sample_store().run({"history", instance, "--follow", "--timeout", "30s"}).exit_code, 0) << instance;
  }
}

TEST(FollowedHistory, GoesThroughLaterExecutions) {
  const ProgramRun run =
      sample_store().run({"history", "rounds", "--execution", "1", "--follow", "--json", "--timeout", "30s"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto events = json_lines(run.out);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front()["execution_id"], 1);
  EXPECT_EQ(events.back()["execution_id"], 3);
  EXPECT_EQ(events.back()["kind"], "OrchestrationCompleted");
  EXPECT_EQ(events.back()["instance"], "rounds");
}

TEST(FollowedHistory, TimesOut) {
  const ProgramRun run = sample_store().run({"history", "waiting", "--follow", "--timeout", "1ms"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, HasSubstr("TimerCreated")) << "what is there is printed";
  EXPECT_THAT(run.err, HasSubstr("did not end within 1ms"));
}

// An output that another thread can look at meanwhile.
class SharedText : public std::stringbuf {
 public:
  [[nodiscard]] bool contains(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return flushed_.find(text) != std::string::npos;
  }

 private:
  int sync() override {
    const std::lock_guard lock(mutex_);
    flushed_ = str();
    return 0;
  }
  mutable std::mutex mutex_;
  std::string flushed_;
};

TEST(FollowedHistory, PrintsEventsAsTheyCome) {
  const SqliteFile store;
  const Client client(store.provider());
  client.start_orchestration("waiting", "Approval");  // nobody has taken it yet
  SharedText text;
  std::ostream out(&text);
  std::ostringstream err;
  cli::Context context{.out = out, .err = err};
  int exit_code = -1;
  std::thread follower([&] {
    exit_code =
        cli::run_program({"history", "waiting", "--follow", "--timeout", "60s", "--store", store.argument()}, context);
  });
  {
    const Runtime runtime(store.provider(), sample_registry());
    EXPECT_TRUE(eventually([&] { return text.contains("ExternalSubscribed"); }));
    EXPECT_FALSE(text.contains("OrchestrationCompleted"));
    client.raise_event("waiting", "approved", std::string("yes"));
    follower.join();
  }
  EXPECT_EQ(exit_code, 0) << err.str();
  EXPECT_TRUE(text.contains("ExternalEvent  'approved' data=\"yes\""));
  EXPECT_TRUE(text.contains("OrchestrationCompleted"));
}

// Every wait on it ends at once, and the source is set in the midst of the first one.
class SetClock final : public Clock {
 public:
  explicit SetClock(Milliseconds set_by) : set_by_(set_by) {}

  [[nodiscard]] Timestamp now() const override {
    const std::scoped_lock guard(mutex_);
    return Timestamp(Milliseconds(1'700'000'000'000)) + steady_ + offset_;
  }
  [[nodiscard]] Milliseconds steady() const override {
    const std::scoped_lock guard(mutex_);
    return steady_;
  }
  [[nodiscard]] std::string steady_origin() const override { return "one"; }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Milliseconds until) override {
    const std::scoped_lock guard(mutex_);
    offset_ = set_by_;
    steady_ = until;
  }

 private:
  mutable std::mutex mutex_;
  Milliseconds set_by_;
  Milliseconds steady_{0};
  Milliseconds offset_{0};
};

TEST(FollowedHistory, TimesOutByTheSteadyClock) {
  for (const Milliseconds by : {Milliseconds(1h), Milliseconds(-1h)}) {
    const auto clock = std::make_shared<SetClock>(by);
    MemoryProviderOptions options;
    options.clock = clock;
    const auto store = make_memory_provider(std::move(options));
    Client(store).start_orchestration("waiting", "Approval");
    std::ostringstream out;
    std::ostringstream err;
    const cli::Context context{.out = out, .err = err};
    EXPECT_THROW(cli::follow_history(context, store, {.instance = "waiting", .timeout = "60s"}), ClientError);
    EXPECT_EQ(clock->steady(), 60s) << "the clock was set by " << by.count() << " ms";
  }
}

// ---- events of every kind ----

TEST(EventViews, EveryKindHasALineAndADocument) {
  for (const Event& event : test_support::sample_events()) {
    SCOPED_TRACE(kind_name(event.body));
    const std::string line = cli::event_text(event.body, 60);
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    const auto document = cli::event_json(event);
    EXPECT_EQ(document["kind"], kind_name(event.body));
    EXPECT_TRUE(document["details"].is_object());
    EXPECT_EQ(document["details"].empty(), std::holds_alternative<events::KeyValuesCleared>(event.body));
    EXPECT_NO_THROW((void)document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

// ---- the timeline ----

class TimelineOf : public ::testing::Test {
 protected:
  void at(Milliseconds after, EventBody body) {
    history_.push_back({history_.size() + 1, 1, kStart + after, engine_version(), std::move(body)});
  }
  [[nodiscard]] std::vector<cli::TimelineRow> rows() const { return cli::timeline_of(history_); }

  static EventBody started() {
    events::OrchestrationStarted event;
    event.name = "W";
    return event;
  }
  static EventBody scheduled(const std::string& name) {
    events::ActivityScheduled event;
    event.name = name;
    return event;
  }

  static constexpr Timestamp kStart{std::chrono::sys_days{std::chrono::year{2026} / 5 / 1}};
  std::vector<Event> history_;
};

TEST_F(TimelineOf, NothingIsEmpty) {
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(TimelineOf, OperationsEndAsTheyEnded) {
  at(0ms, started());
  at(0ms, scheduled("Good"));
  at(0ms, scheduled("Bad"));
  at(10ms, events::TimerCreated{.fire_at = kStart + 5'010ms});
  at(20ms, events::ActivityCompleted{2, {}});
  at(30ms, events::ActivityFailed{3, ApplicationError{}, {}});
  at(40ms, events::ActivityCompleted{3, {}});
  const auto all = rows();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], (cli::TimelineRow{1, "W", kStart, std::nullopt, cli::OperationEnd::kOpen}));
  EXPECT_EQ(all[1].how, cli::OperationEnd::kCompleted);
  EXPECT_EQ(all[1].end, kStart + 20ms);
  EXPECT_EQ(all[2].how, cli::OperationEnd::kFailed);
  EXPECT_EQ(all[2].end, kStart + 30ms) << "the first outcome counts";
  EXPECT_EQ(all[3].label, "timer 5 s");
  EXPECT_EQ(all[3].how, cli::OperationEnd::kOpen);
}

// schedule_timer_at takes any time, and schedule_timer has no longest delay.
TEST_F(TimelineOf, TimersMayBePastOrForever) {
  at(0ms, started());
  at(0ms, events::TimerCreated{.fire_at = kStart - 1h});
  at(0ms, events::TimerCreated{.fire_at = Timestamp::min()});
  at(0ms, events::TimerCreated{.fire_at = Timestamp::max()});
  const auto all = rows();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].label, "timer 0 ms");
  EXPECT_EQ(all[2].label, "timer 0 ms");
  EXPECT_THAT(all[3].label, HasSubstr("timer 1067"));
}

TEST_F(TimelineOf, WaitsTakeWhatArrivesInOrder) {
  at(0ms, started());
  at(0ms, events::QueueEventDelivered{"q", {}});     // 2: kept for the first who asks
  at(1ms, events::QueueSubscribed{.queue = "q"});    // 3
  at(1ms, events::QueueSubscribed{.queue = "q"});    // 4
  at(1ms, events::ExternalSubscribed{.name = "e"});  // 5
  at(1ms, events::ExternalSubscribed{.name = "e"});  // 6
  at(2ms, events::ExternalSubscriptionCancelled{5, CancelReason::kDroppedFuture});
  at(3ms, events::ExternalEvent{"e", {}});
  at(4ms, events::QueueEventDelivered{"q", {}});
  at(5ms, events::OrchestrationCompleted{});
  const auto all = rows();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].end, kStart + 5ms);
  EXPECT_EQ(all[1].end, kStart + 1ms);
  EXPECT_EQ(all[2].end, kStart + 4ms);
  EXPECT_EQ(all[3].how, cli::OperationEnd::kGivenUp);
  EXPECT_EQ(all[4].end, kStart + 3ms);
}

TEST_F(TimelineOf, WhatIsOpenEndsWithTheExecution) {
  at(0ms, started());
  at(0ms, events::TimerCreated{kStart + 24h});
  at(7ms, events::OrchestrationFailed{ApplicationError{}});
  const auto all = rows();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].how, cli::OperationEnd::kFailed);
  EXPECT_EQ(all[1].end, kStart + 7ms);
  EXPECT_EQ(all[1].how, cli::OperationEnd::kGivenUp);
}

TEST_F(TimelineOf, AHistoryWithoutABeginningIsDrawnNevertheless) {
  at(0ms, events::OrchestrationCompleted{});
  at(0ms, events::ActivityCompleted{7, {}});
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(TimelineOf, BarsLieWhereTheTimeWas) {
  at(0ms, started());
  at(0ms, scheduled("First"));
  at(500ms, events::ActivityCompleted{2, {}});
  at(500ms, scheduled("Second"));
  at(1'000ms, events::ActivityCompleted{4, {}});
  at(1'000ms, events::OrchestrationCompleted{});
  std::ostringstream out;
  std::ostringstream err;
  const cli::Context context{.out = out, .err = err};
  cli::print_timeline(context, rows(), kStart + 1h, 10);
  EXPECT_EQ(out.str(),
            "EVENT  OPERATION  AFTER   TOOK    END        0      1 s\n"
            "1      W          0 ms    1 s     completed  ━━━━━━━━━━\n"
            "2      First      0 ms    500 ms  completed  ━━━━━\n"
            "4      Second     500 ms  500 ms  completed       ━━━━━\n");
}

}  // namespace
}  // namespace perdure::test
