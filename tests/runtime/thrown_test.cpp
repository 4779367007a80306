// Every boundary to user code, with every kind of throw: the node survives, and the next instance runs.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <perdure/saga.h>
#include "runtime/threaded.h"
#include "support/sanitized.h"

namespace perdure::test {

enum class Thrown : std::uint8_t { kException, kNullWhat, kInteger, kText };

class NullWhat final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

[[noreturn]] inline void throw_as(Thrown kind) {
  switch (kind) {
    case Thrown::kNullWhat:
      throw NullWhat();
    case Thrown::kInteger:
      throw 42;  // NOLINT(hicpp-exception-baseclass)
    case Thrown::kText:
      throw "text";  // NOLINT(hicpp-exception-baseclass)
    case Thrown::kException:
      break;
  }
  throw std::runtime_error("plain");
}

// A value whose codec throws on request.
struct Bomb {
  static inline std::atomic<bool> encode_throws = false;
  static inline std::atomic<bool> decode_throws = false;
  static inline std::atomic<Thrown> kind = Thrown::kException;
};

}  // namespace perdure::test

template <>
struct perdure::Codec<perdure::test::Bomb> {
  using Bomb = perdure::test::Bomb;
  static std::string encode(const Bomb&) {
    if (Bomb::encode_throws) perdure::test::throw_as(Bomb::kind);
    return "1";
  }
  static Bomb decode(std::string_view) {
    if (Bomb::decode_throws) perdure::test::throw_as(Bomb::kind);
    return {};
  }
};

namespace perdure::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

class ThrowingSink final : public LogSink {
 public:
  explicit ThrowingSink(Thrown kind) : kind_(kind) {}
  [[nodiscard]] bool enabled(LogLevel level, std::string_view) const override {
    if (level == LogLevel::kDebug) throw_as(kind_);
    return true;
  }
  void write(const LogRecord&) override { throw_as(kind_); }

 private:
  Thrown kind_;
};

class ThrowingMetrics final : public MetricsSink {
 public:
  explicit ThrowingMetrics(Thrown kind) : kind_(kind) {}
  void add(const MetricId&, MetricLabels, std::uint64_t) override { throw_as(kind_); }
  void set(const MetricId&, MetricLabels, double) override { throw_as(kind_); }
  void observe(const MetricId&, MetricLabels, double) override { throw_as(kind_); }

 private:
  Thrown kind_;
};

class Boundaries : public Threaded, public ::testing::WithParamInterface<Thrown> {
 protected:
  Boundaries() { Bomb::kind = GetParam(); }
  ~Boundaries() override { Bomb::encode_throws = Bomb::decode_throws = false; }

  template <class F>
  OrchestrationStatus end_of_flow(F flow) {
    Registry registry;
    registry.add_orchestration("Flow", std::move(flow));
    return end_with(registry);
  }
  // Runs "Flow", and then an instance that meets no throw.
  OrchestrationStatus end_with(Registry& registry) {
    add_chore(registry);
    const auto runtime = run(registry);
    client.start_orchestration("i", "Flow", Raw("1"));
    auto status = end_of("i");
    Bomb::encode_throws = Bomb::decode_throws = false;
    client.start_orchestration("after", "Chores");
    EXPECT_TRUE(end_of("after").completed());
    return status;
  }
  template <class F>
  std::string error_of_activity(F activity) {
    Registry registry;
    registry.add_activity("Work", std::move(activity));
    return error_of_work(registry);
  }
  std::string error_of_work(Registry& registry) {
    registry.add_orchestration("Flow", [](Ctx ctx) -> Orchestration<std::string> {
      auto result = co_await ctx.schedule_activity<int>("Work", 1).as_result();
      co_return result ? "a result" : result.error().message();
    });
    return end_with(registry).result<std::string>();
  }
  static void expect_text(const std::string& text) {
    const char* expected = GetParam() == Thrown::kException  ? "plain"
                           : GetParam() == Thrown::kNullWhat ? "whose what() returns null"
                                                             : "not a std::exception";
    EXPECT_THAT(text, HasSubstr(expected));
  }
  static void expect_failed(const OrchestrationStatus& status) {
    EXPECT_EQ(status.state, OrchestrationState::kFailed);
    if (GetParam() == Thrown::kException || GetParam() == Thrown::kNullWhat) {
      expect_text(status.error_text());
    } else {
      EXPECT_THAT(status.error_text(), AnyOf(HasSubstr("panicked"), HasSubstr("not a std::exception")));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, Boundaries,
                         ::testing::Values(Thrown::kException, Thrown::kNullWhat, Thrown::kInteger, Thrown::kText));

// ---- orchestrations ------------------------------------------------------------------------------------------------

TEST_P(Boundaries, OrchestrationSurvivesItsOwnThrow) {
  expect_failed(end_of_flow([](Ctx) -> Orchestration<int> {
    throw_as(Bomb::kind);
    co_return 1;
  }));
}

TEST_P(Boundaries, OrchestrationSurvivesThrowBeforeItsCoroutine) {
  const auto flow = [](Ctx) -> Orchestration<int> { co_return 1; };
  expect_failed(end_of_flow([flow](Ctx ctx) -> Orchestration<int> {
    if (ctx.instance_id() == "i") throw_as(Bomb::kind);
    return flow(ctx);
  }));
}

TEST_P(Boundaries, OrchestrationSurvivesDecoderOfItsInput) {
  Bomb::decode_throws = true;
  expect_failed(end_of_flow([](Ctx, Bomb) -> Orchestration<int> { co_return 1; }));
}

TEST_P(Boundaries, OrchestrationSurvivesEncoderOfItsOutput) {
  Bomb::encode_throws = true;
  expect_failed(end_of_flow([](Ctx) -> Orchestration<Bomb> { co_return Bomb(); }));
}

TEST_P(Boundaries, OrchestrationSurvivesEncoderOfAnActivityInput) {
  Bomb::encode_throws = true;
  expect_failed(end_of_flow(
      [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Chore", Bomb()); }));
}

TEST_P(Boundaries, OrchestrationSeesDecoderOfAResultAsError) {
  Bomb::decode_throws = true;
  const auto status = end_of_flow([](Ctx ctx) -> Orchestration<std::string> {
    auto result = co_await ctx.schedule_activity<Bomb>("Chore").as_result();
    co_return result.error().to_string();
  });
  EXPECT_THAT(status.result<std::string>(), HasSubstr("the value of 'Chore' cannot be decoded"));
  expect_text(status.result<std::string>());
}

TEST_P(Boundaries, OrchestrationSeesCodecsOfKeyValuesAsErrors) {
  const auto status = end_of_flow([](Ctx ctx) -> Orchestration<std::string> {
    ctx.set_kv_value("key", Bomb());
    Bomb::decode_throws = true;
    std::string seen;
    try {
      (void)ctx.get_kv_value<Bomb>("key");
    } catch (const CodecError& error) {
      seen = error.what();
    }
    co_return seen;
  });
  expect_text(status.result<std::string>());
}

MATCHER(IsCompletionOfAnActivity, "") {
  return std::holds_alternative<events::ActivityCompleted>(arg.body);
}

TEST_P(Boundaries, OrchestrationSurvivesTasksAndSagaSteps) {
  const auto status = end_of_flow([](Ctx ctx) -> Orchestration<std::string> {
    Saga saga(ctx);
    saga.undo_with("Chore", 1);
    saga.undo_with([](Ctx) -> Task<void> {
      throw_as(Bomb::kind);
      co_return;
    });
    saga.undo_with([](Ctx) -> Task<void> { throw_as(Bomb::kind); });
    const std::vector<Error> failures = co_await saga.compensate();
    co_return std::to_string(failures.size()) + failures.at(0).message() + failures.at(1).message();
  });
  const auto text = status.result<std::string>();
  EXPECT_THAT(text, ::testing::StartsWith("2"));
  expect_text(text);
  EXPECT_THAT(client.read_execution_history("i"), ::testing::Contains(IsCompletionOfAnActivity())) << "the last step";
}

// ---- activities ----------------------------------------------------------------------------------------------------

TEST_P(Boundaries, ActivitySurvivesItsOwnThrow) {
  expect_text(error_of_activity([](ActivityContext&, int) -> int { throw_as(Bomb::kind); }));
}

TEST_P(Boundaries, ActivitySurvivesDecoderOfItsInput) {
  Bomb::decode_throws = true;
  const std::string error = error_of_activity([](ActivityContext&, Bomb) { return 1; });
  EXPECT_THAT(error, HasSubstr("the input of activity 'Work' cannot be used"));
  expect_text(error);
}

TEST_P(Boundaries, ActivitySurvivesEncoderOfItsOutput) {
  Bomb::encode_throws = true;
  expect_text(error_of_activity([](ActivityContext&, int) { return Bomb(); }));
}

TEST_P(Boundaries, ActivitySurvivesEncoderOfAHeartbeat) {
  Bomb::encode_throws = true;
  expect_text(error_of_activity([](ActivityContext& ctx, int) {
    ctx.heartbeat(Bomb());
    return 1;
  }));
}

TEST_P(Boundaries, AsynchronousActivitySurvivesItsOwnThrow) {
  Registry registry;
  registry.add_async_activity("Work", [](ActivityContext, int, ActivityCompletion<int>) { throw_as(Bomb::kind); });
  expect_text(error_of_work(registry));
}

TEST_P(Boundaries, AsynchronousActivitySurvivesDecoderOfItsInput) {
  Bomb::decode_throws = true;
  Registry registry;
  registry.add_async_activity("Work", [](ActivityContext, Bomb, ActivityCompletion<int> done) { done.complete(1); });
  expect_text(error_of_work(registry));
}

TEST_P(Boundaries, CompletionSurvivesEncoderOfItsValue) {
  Bomb::encode_throws = true;
  Registry registry;
  registry.add_async_activity("Work", [](ActivityContext, int, ActivityCompletion<Bomb> done) {
    std::thread([done] { done.complete(Bomb()); }).join();
  });
  expect_text(error_of_work(registry));
}

TEST_P(Boundaries, HandlerOfTheUserSurvivesItsThrow) {
  Registry registry;
  registry.replace_activity("Work",
                            [](const std::shared_ptr<detail::ActivityCall>&, const Payload&) { throw_as(Bomb::kind); });
  expect_text(error_of_work(registry));
}

// ---- clients and sinks ---------------------------------------------------------------------------------------------

TEST_P(Boundaries, ClientReportsItsCodecs) {
  const auto text_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const ClientError& error) {
      return std::string(error.what());
    }
    return std::string("no ClientError");
  };
  const auto status = end_of_flow([](Ctx ctx) -> Orchestration<int> {
    ctx.set_kv_value("key", 1);
    co_return 1;
  });
  Bomb::encode_throws = Bomb::decode_throws = true;
  expect_text(text_of([&] { client.start_orchestration("x", "Flow", Bomb()); }));
  expect_text(text_of([&] { client.raise_event("i", "event", Bomb()); }));
  expect_text(text_of([&] { client.enqueue_event("i", "queue", Bomb()); }));
  expect_text(text_of([&] { (void)client.get_kv_value<Bomb>("i", "key"); }));
  expect_text(text_of([&] { (void)status.result<Bomb>(); }));
}

TEST_P(Boundaries, NodeSurvivesItsSinks) {
  options.logger = Logger(std::make_shared<ThrowingSink>(GetParam()));
  options.metrics = Metrics(std::make_shared<ThrowingMetrics>(GetParam()));
  const auto status = end_of_flow([](Ctx ctx) -> Orchestration<int> {
    ctx.trace_info("a line");
    co_return co_await ctx.schedule_activity<int>("Chore");
  });
  EXPECT_TRUE(status.completed());
}

TEST_P(Boundaries, LogSinkSurvivesItsClock) {
  const Logger logger(std::make_shared<StderrLogSink>(
      StderrLogOptions().clock([]() -> std::chrono::system_clock::time_point { throw_as(Bomb::kind); })));
  logger.error("the clock throws");
  EXPECT_TRUE(logger.enabled(LogLevel::kError));
}

// ---- threads that end ----------------------------------------------------------------------------------------------

class EndedThreads : public Threaded {
 protected:
  // A forced unwind has no exception object, so that its handler binds a null reference: g++ and clang define it, and
  // the sanitizers object to it.
  void SetUp() override {
    if (PERDURE_TEST_SANITIZED) GTEST_SKIP() << "the sanitizers do not know forced unwinding";
  }
};

// The first attempt ends its thread; the activity is abandoned, runs again, and the node has as many threads as before.
TEST_F(EndedThreads, ActivityRunsAgainAfterPthreadExit) {
  options.worker_concurrency = 1;
  options.unregistered_backoff.base = Milliseconds(1);
  Registry registry;
  std::atomic<int> runs = 0;
  registry.add_activity("Work", [&](ActivityContext& ctx) {
    if (++runs == 1) ::pthread_exit(nullptr);
    return static_cast<int>(ctx.attempt());
  });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(end_of("i").result<int>(), 2);
  EXPECT_EQ(log->find("ended its thread instead of returning").size(), 1U);
}

TEST_F(EndedThreads, AsynchronousActivityRunsAgainAfterPthreadExit) {
  options.worker_concurrency = 1;
  options.unregistered_backoff.base = Milliseconds(1);
  Registry registry;
  std::atomic<int> runs = 0;
  registry.add_async_activity("Work", [&](ActivityContext ctx, ActivityCompletion<int> done) {
    if (++runs == 1) ::pthread_exit(nullptr);
    done.complete(static_cast<int>(ctx.attempt()));
  });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(end_of("i").result<int>(), 2);
}

}  // namespace
}  // namespace perdure::test
