// RuntimeOptions: the defaults that are promised, and what is refused, all at once and by name.
#include <perdure/runtime_options.h>

#include <functional>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/error_backoff.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// What the check says; empty if it has nothing against them.
std::string complaint(const RuntimeOptions& options) {
  try {
    options.check();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(RuntimeOptions, DefaultsAreThoseOfTheSpecification) {
  const RuntimeOptions options;
  EXPECT_EQ(options.min_poll_interval, 100ms);
  EXPECT_EQ(options.long_poll_timeout, 30s);
  EXPECT_EQ(options.orchestration_concurrency, 2U);
  EXPECT_EQ(options.worker_concurrency, 2U);
  EXPECT_EQ(options.max_async_activities, 1'000U);
  EXPECT_EQ(options.orchestrator_lock_timeout, 5s);
  EXPECT_EQ(options.worker_lock_timeout, 30s);
  EXPECT_EQ(options.unregistered_backoff.base, 1s);
  EXPECT_EQ(options.unregistered_backoff.max, 60s);
  EXPECT_EQ(options.max_attempts, 10U);
  EXPECT_EQ(options.heartbeat_interval, 1s);
  EXPECT_EQ(options.activity_cancellation_grace_period, 10s);
  EXPECT_TRUE(options.supported_replay_versions.empty());
  EXPECT_EQ(options.session_lock_timeout, 30s);
  EXPECT_EQ(options.session_idle_timeout, 5min);
  EXPECT_EQ(options.session_cleanup_interval, 5min);
  EXPECT_EQ(options.max_sessions_per_runtime, 10U);
  EXPECT_EQ(options.worker_node_id, "");
  EXPECT_EQ(options.worker_tag_filter, TagFilter::untagged());
  EXPECT_EQ(options.gauge_poll_interval, 60s);
  EXPECT_EQ(options.shutdown_timeout, 1s);
  EXPECT_FALSE(options.abort_if_stuck) << "aborting is an option";
  EXPECT_FALSE(options.fetch_only_registered);
  EXPECT_EQ(options.limits.max_custom_status_bytes, 262'144U);
  EXPECT_EQ(options.limits.max_tag_bytes, 256U);
  EXPECT_EQ(options.limits.max_kv_keys, 100U);
  EXPECT_EQ(options.limits.max_kv_value_bytes, 16'384U);
  EXPECT_EQ(options.limits.max_actions_per_turn, 100'000U);
  EXPECT_EQ(complaint(options), "");
}

struct BadOption {
  const char* name;
  std::function<void(RuntimeOptions&)> spoil;
};

TEST(RuntimeOptions, EachOptionThatMakesNoSenseIsNamed) {
  const std::vector<BadOption> bad = {
      {"orchestration_concurrency", [](auto& options) { options.orchestration_concurrency = 0; }},
      {"orchestration_concurrency", [](auto& options) { options.orchestration_concurrency = 100'000; }},
      {"worker_concurrency", [](auto& options) { options.worker_concurrency = 0; }},
      {"worker_node_id", [](auto& options) { options.worker_node_id = "a\nb"; }},
      {"worker_tag_filter", [](auto& options) { options.worker_tag_filter = TagFilter::tags({"gpu", ""}); }},
      {"max_carry_forward_bytes", [](auto& options) { options.limits.max_carry_forward_bytes = std::size_t{1} << 30; }},
      {"max_turn_bytes", [](auto& options) { options.limits.max_turn_bytes = std::size_t{1} << 30; }},
      {"worker_concurrency", [](auto& options) { options.worker_concurrency = 100'000; }},
      {"max_async_activities", [](auto& options) { options.max_async_activities = 0; }},
      {"max_locked_instances", [](auto& options) { options.max_locked_instances = 0; }},
      {"max_locked_instances", [](auto& options) { options.max_locked_instances = 1; }},
      {"max_attempts", [](auto& options) { options.max_attempts = 0; }},
      {"orchestrator_lock_timeout", [](auto& options) { options.orchestrator_lock_timeout = 0ms; }},
      {"orchestrator_lock_timeout", [](auto& options) { options.orchestrator_lock_timeout = -1ms; }},
      {"worker_lock_timeout", [](auto& options) { options.worker_lock_timeout = 0ms; }},
      {"session_lock_timeout", [](auto& options) { options.session_lock_timeout = 0ms; }},
      {"long_poll_timeout", [](auto& options) { options.long_poll_timeout = 0ms; }},
      {"min_poll_interval", [](auto& options) { options.min_poll_interval = 0ms; }},
      {"unregistered_backoff.base", [](auto& options) { options.unregistered_backoff.base = 0ms; }},
      {"unregistered_backoff.max", [](auto& options) { options.unregistered_backoff.max = -1ms; }},
      {"session_idle_timeout", [](auto& options) { options.session_idle_timeout = 0ms; }},
      {"session_cleanup_interval", [](auto& options) { options.session_cleanup_interval = 0ms; }},
      {"gauge_poll_interval", [](auto& options) { options.gauge_poll_interval = 0ms; }},
      {"heartbeat_interval", [](auto& options) { options.heartbeat_interval = 0ms; }},
      {"activity_cancellation_grace_period", [](auto& options) { options.activity_cancellation_grace_period = -1ms; }},
      {"shutdown_timeout", [](auto& options) { options.shutdown_timeout = -1ms; }},
      {"supported_replay_versions",
       [](auto& options) { options.supported_replay_versions = {{{2, 0, 0}, {1, 0, 0}}}; }},
      {"limits.max_actions_per_turn", [](auto& options) { options.limits.max_actions_per_turn = 0; }},
      {"limits.max_history_events", [](auto& options) { options.limits.max_history_events = 0; }},
      {"limits.max_name_bytes", [](auto& options) { options.limits.max_name_bytes = 0; }},
      {"limits.max_name_bytes", [](auto& options) { options.limits.max_name_bytes = 2'049; }},
      {"limits.max_tag_bytes", [](auto& options) { options.limits.max_tag_bytes = 2'049; }},
      {"limits.max_payload_bytes",
       [](auto& options) { options.limits.max_payload_bytes = (std::size_t{64} << 20U) + 1; }},
      {"worker_node_id", [](auto& options) { options.worker_node_id = std::string(2'049, 'n'); }},
  };
  for (const BadOption& each : bad) {
    RuntimeOptions options;
    each.spoil(options);
    EXPECT_THAT(complaint(options), HasSubstr(each.name));
  }
}

TEST(RuntimeOptions, ASessionMustOutliveTheRenewalsOfItsActivities) {
  RuntimeOptions options;
  options.worker_lock_timeout = 10s;
  options.session_idle_timeout = 5s;
  EXPECT_THAT(complaint(options), HasSubstr("session_idle_timeout"));
  options.session_idle_timeout = 5'001ms;
  EXPECT_EQ(complaint(options), "");
}

TEST(RuntimeOptions, EverythingThatIsWrongIsSaidAtOnce) {
  RuntimeOptions options;
  options.max_attempts = 0;
  options.worker_concurrency = 0;
  options.shutdown_timeout = -1ms;
  const std::string said = complaint(options);
  EXPECT_THAT(said, HasSubstr("max_attempts"));
  EXPECT_THAT(said, HasSubstr("worker_concurrency"));
  EXPECT_THAT(said, HasSubstr("shutdown_timeout"));
  EXPECT_THAT(said, Not(HasSubstr("orchestration_concurrency")));
}

TEST(RuntimeOptions, TheEdgesAreAllowed) {
  RuntimeOptions options;
  options.orchestration_concurrency = 1;
  options.worker_concurrency = 1;
  options.max_async_activities = 1;
  options.max_locked_instances = 1;
  options.max_attempts = 1;
  options.cached_executions = 0;
  options.cached_bytes = 0;
  options.orchestrator_lock_timeout = 1ms;
  options.worker_lock_timeout = 1ms;
  options.activity_cancellation_grace_period = 0ms;
  options.shutdown_timeout = 0ms;
  options.max_sessions_per_runtime = 0;
  options.worker_tag_filter = TagFilter::none();
  EXPECT_EQ(complaint(options), "");
}

TEST(RuntimeOptions, ATagFilterHasOneToFiveTags) {
  EXPECT_THROW((void)TagFilter::tags({}), std::invalid_argument);
  EXPECT_THROW((void)TagFilter::untagged_and({}), std::invalid_argument);
  EXPECT_THROW((void)TagFilter::tags({"1", "2", "3", "4", "5", "6"}), std::invalid_argument);
  EXPECT_NO_THROW((void)TagFilter::tags({"1", "2", "3", "4", "5"}));
}

TEST(UnregisteredBackoff, DoublesUpToItsMaximum) {
  const UnregisteredBackoff backoff;
  std::vector<std::int64_t> seconds;
  for (std::uint32_t attempt = 1; attempt <= 10; ++attempt) seconds.push_back(backoff.after(attempt) / 1s);
  EXPECT_THAT(seconds, ::testing::ElementsAre(1, 2, 4, 8, 16, 32, 60, 60, 60, 60));
}

TEST(UnregisteredBackoff, TheExponentStopsAtSix) {
  const UnregisteredBackoff backoff{.base = 1ms, .max = 1h};
  EXPECT_EQ(backoff.after(7), 64ms);
  EXPECT_EQ(backoff.after(8), 64ms);
  EXPECT_EQ(backoff.after(4'000'000'000U), 64ms);
}

TEST(UnregisteredBackoff, NeverExceedsItsMaximumNorWraps) {
  EXPECT_EQ((UnregisteredBackoff{.base = 2min, .max = 1min}.after(1)), 1min);
  const Milliseconds years = std::chrono::hours(24 * 3'652);
  EXPECT_EQ((UnregisteredBackoff{.base = years - 1ms, .max = years}.after(10)), years);
}

TEST(ErrorBackoff, GrowsWhileCallsFailAndNeverWraps) {
  runtime::ErrorBackoff backoff;
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 100; ++i) rests.push_back(backoff.failed().count());
  EXPECT_THAT(std::vector<std::int64_t>(rests.begin(), rests.begin() + 6),
              ::testing::ElementsAre(200, 400, 800, 1'600, 3'000, 3'000));
  EXPECT_EQ(rests.back(), 3'000);
  backoff.succeeded();
  EXPECT_EQ(backoff.failed(), 200ms) << "a success begins anew";
}

}  // namespace
}  // namespace perdure::test
