// What is not caught: calls outside of turns, calls of the engine for the code, and what the standard library does for
// code that is deterministic.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <memory_resource>
#include <mutex>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <perdure/perdure.h>
#include <perdure/testing/determinism_guard.h>
#include <perdure/testing/test_environment.h>
#include "determinism_guard/calls.h"

#if __has_include(<format>)
#include <format>
#endif

namespace perdure::test {
namespace {

using perdure::testing::DeterminismGuard;
using perdure::testing::TestEnvironment;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

// All reports as text, for a message that says what was caught.
std::string reported_by(const DeterminismGuard& guard) {
  std::string text;
  for (const auto& call : guard.reports()) text += describe(call) + "\n";
  return text;
}

void make_all_calls() {
  for (const auto& call : forbidden_calls()) call.make();
}

TEST(NotCaught, TheTestItself) {
  const DeterminismGuard guard;
  make_all_calls();
  EXPECT_EQ(reported_by(guard), "");
}

TEST(NotCaught, Activities) {
  Registry registry;
  registry.add_activity("Anything", [](ActivityContext&) { make_all_calls(); });
  registry.add_orchestration("Caller",
                             [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_activity<void>("Anything"); });
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  EXPECT_TRUE(env.run("i", "Caller").completed());
  EXPECT_EQ(reported_by(guard), "");
}

// Does all that it can with its context.
Orchestration<std::string> asks_for_everything(Ctx ctx) {
  ctx.trace_info("at " + std::to_string(ctx.utc_now().time_since_epoch().count()));
  std::string all = ctx.new_guid() + std::to_string(ctx.random());
  ctx.set_custom_status("busy");
  ctx.set_kv_value("key", all);
  all += ctx.get_kv_value<std::string>("key").value_or("");
  ctx.prune_kv_values_updated_before(ctx.utc_now());
  ctx.reset_custom_status();
  const auto first = co_await select{ctx.schedule_wait<void>("never"), ctx.schedule_timer(Milliseconds(1))};
  ctx.trace_warn("the winner is " + std::to_string(first.index()));
  RetryPolicy twice(2);
  twice.backoff(Backoff::fixed(Milliseconds(1)));
  const auto failed = co_await ctx.schedule_activity<void>("Fails", ActivityOptions().retry(twice)).as_result();
  if (!failed) all += failed.error().message();
  co_return all + ctx.instance_id() + ctx.orchestration_name();
}

// A sink as a user may have one: it knows what time it is and opens its file for every line.
class FileSink final : public LogSink {
 public:
  [[nodiscard]] bool enabled(LogLevel, std::string_view) const noexcept override { return true; }
  void write(const LogRecord& record) override {
    reads_system_clock();
    std::ofstream file("/dev/null", std::ios::app);
    file << record.message << "\n" << std::flush;
    const std::scoped_lock lock(mutex_);
    if (file.good() && record.message.find("the winner is 1") != std::string::npos) ++lines_;
  }
  [[nodiscard]] int lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  int lines_ = 0;
};

Registry everything() {
  Registry registry;
  registry.add_activity("Fails", [](ActivityContext&) { throw std::runtime_error("always"); });
  registry.add_orchestration("Everything", asks_for_everything);
  return registry;
}

TEST(NotCaught, TheEngineForTheCode) {
  TestEnvironment env(everything());
  const DeterminismGuard guard;
  EXPECT_TRUE(env.run("i", "Everything").completed()) << env.timeline("i");
  EXPECT_FALSE(env.log().find("the winner is 1").empty());
  EXPECT_EQ(reported_by(guard), "");
}

TEST(NotCaught, LogSinksOfUsers) {
  const auto sink = std::make_shared<FileSink>();
  const auto store = make_memory_provider();
  RuntimeOptions options;
  options.logger = Logger(sink);
  const DeterminismGuard guard;
  {
    Runtime runtime(store, everything(), options);
    const Client client(store);
    client.start_orchestration("i", "Everything");
    EXPECT_TRUE(client.wait_for_orchestration("i", std::chrono::seconds(30)).completed());
  }
  EXPECT_EQ(sink->lines(), 1);
  EXPECT_EQ(reported_by(guard), "");
}

// ---- harmless things of the standard library

struct Harmless {
  const char* name;
  std::string (*code)();
};

std::string thrown_and_caught() {
  try {
    try {
      throw std::runtime_error("inner");
    } catch (...) {
      std::throw_with_nested(std::logic_error("outer"));
    }
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string pooled() {
  std::pmr::synchronized_pool_resource pool;
  std::pmr::map<int, std::pmr::string> values(&pool);
  for (int i = 0; i < 1000; ++i) values.emplace(i, std::pmr::string(200, 'x', &pool));
  return std::to_string(values.size());
}

std::string allocated() {
  const std::vector<char> large(std::size_t{64} << 20U, 'x');
  std::vector<std::unique_ptr<std::string>> small;
  for (int i = 0; i < 10'000; ++i) small.push_back(std::make_unique<std::string>(100, 'x'));
  return std::to_string(large.size() + small.size());
}

std::string streamed() {
  std::ostringstream out;
  out << std::setprecision(3) << 1.5 << ' ' << std::hex << 255 << ' ' << std::boolalpha << true;
  std::istringstream in(out.str());
  double number = 0;
  in >> number;
  return out.str() + std::to_string(number);
}

std::string localised() {
  std::ostringstream out;
  for (const char* name : {"", "C", "C.UTF-8", "de_DE.UTF-8"}) {
    try {
      out.imbue(std::locale(name));
    } catch (const std::runtime_error&) {
      out << "no " << name;  // not every machine has every locale
    }
    out << 1234567.8;
  }
  return out.str();
}

std::string dated() {
  const std::time_t fixed = 1'700'000'000;
  std::tm broken_down{};
  ::gmtime_r(&fixed, &broken_down);
  std::ostringstream out;
  out << std::put_time(&broken_down, "%F %T");
  ::localtime_r(&fixed, &broken_down);
  out << std::put_time(&broken_down, "%F %T") << std::mktime(&broken_down);
  const std::chrono::sys_days day(std::chrono::year(2024) / 2 / 29);
  return out.str() + std::to_string(day.time_since_epoch().count());
}

std::string matched() {
  const std::regex pattern(R"((\w+)@(\w+)\.org)", std::regex::icase);
  return std::regex_replace(std::string("Ada@Example.org"), pattern, "$2");
}

std::string parsed() {
  const auto document = nlohmann::json::parse(R"({"a": [1, 2.5, "x"], "b": null})");
  const auto refused = nlohmann::json::parse("{", nullptr, false);
  return document.dump(2) + (refused.is_discarded() ? "refused" : "");
}

std::string drawn_from_a_seed() {
  std::mt19937_64 engine(42);
  std::vector<int> values(100);
  std::shuffle(values.begin(), values.end(), engine);
  std::sort(values.begin(), values.end());
  return std::to_string(std::normal_distribution<>(0, 1)(engine));
}

std::string printed() {
  std::cout << "printed by a workflow" << "\n" << std::flush;
  std::printf("and again\n");
  std::fflush(stdout);
  return std::getenv("PATH") ? "has a path" : "has none";
}

std::string locked() {
  static std::once_flag once;
  std::mutex mutex;
  std::string text;
  std::call_once(once, [&] { text = "once"; });
  const std::scoped_lock lock(mutex);
  std::unordered_map<std::string, std::function<int()>> functions{{"one", [] { return 1; }}};
  thread_local const std::string local = "local";
  return text + local + std::to_string(functions.at("one")());
}

std::string converted() {
  std::string text = std::to_string(1.25) + std::to_string(std::stod("2.5"));
#ifdef __cpp_lib_format
  text += std::format("{:>8.3f} {}", 1.5, "formatted");
#endif
  return text;
}

class NotCaughtInTheLibrary : public ::testing::TestWithParam<Harmless> {};

TEST_P(NotCaughtInTheLibrary, WhatIsDeterministic) {
  static std::string (*code)() = nullptr;
  code = GetParam().code;
  Registry registry;
  registry.add_orchestration("Harmless", [](Ctx ctx) -> Orchestration<std::string> {
    std::string before = code();
    co_await ctx.schedule_timer(Milliseconds(1));
    co_return before + code();
  });
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  EXPECT_FALSE(env.run("i", "Harmless").result<std::string>().empty());
  EXPECT_EQ(reported_by(guard), "");
}

INSTANTIATE_TEST_SUITE_P(Harmless, NotCaughtInTheLibrary,
                         ::testing::Values(Harmless{"Exceptions", thrown_and_caught}, Harmless{"Pools", pooled},
                                           Harmless{"Allocations", allocated}, Harmless{"StringStreams", streamed},
                                           Harmless{"Locales", localised}, Harmless{"Calendars", dated},
                                           Harmless{"Regex", matched}, Harmless{"Json", parsed},
                                           Harmless{"SeededEngines", drawn_from_a_seed}, Harmless{"Printing", printed},
                                           Harmless{"LocksAndStatics", locked}, Harmless{"Conversions", converted}),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- what the user allows

__attribute__((noinline)) int logs_with_a_library_of_its_own() {
  volatile int lines = 0;
  reads_system_clock();
  lines = lines + 1;  // behind the call, which would be a jump otherwise and leave no frame
  return lines;
}

TEST(Allowed, WhatIsBelowAFunctionThatTheUserNamed) {
  Registry registry;
  registry.add_orchestration("Logs", [](Ctx) -> Orchestration<int> { co_return logs_with_a_library_of_its_own(); });
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  EXPECT_TRUE(env.run("before", "Logs").completed());
  EXPECT_THAT(guard.reports(), ::testing::SizeIs(1));
  DeterminismGuard::allow("logs_with_a_library_of_its_own(");
  EXPECT_TRUE(env.run("after", "Logs").completed());
  EXPECT_THAT(guard.reports(), ::testing::SizeIs(1));
  EXPECT_THROW(DeterminismGuard::allow(""), std::invalid_argument);
}

}  // namespace
}  // namespace perdure::test
