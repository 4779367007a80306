// The orchestrations of the recorded histories in tests/data/golden. They are never changed: their histories are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <perdure/perdure.h>
#include <perdure/saga.h>

namespace perdure::test::golden {

inline Orchestration<int> sequence(OrchestrationContext ctx, int start) {
  const int one = co_await ctx.schedule_activity<int>("One", start);
  const int two = co_await ctx.schedule_activity<int>(
      "Two", one, ActivityOptions().session("s").tag("gpu").timeout(Milliseconds(500)));
  co_await ctx.schedule_timer(Milliseconds(1'500));
  co_return one + two;
}

// The same code twice: once the activity is faster, once the timer.
inline Orchestration<std::string> race(OrchestrationContext ctx) {
  auto first = co_await select{ctx.schedule_activity<std::string>("Slow"), ctx.schedule_timer(Milliseconds(500)),
                               ctx.schedule_wait<std::string>("hurry")};
  if (first.index() == 1) co_return "too late";
  co_return first.index() == 0 ? std::get<0>(first) : std::get<2>(first);
}

inline Orchestration<int> fan_out(OrchestrationContext ctx, int count) {
  std::vector<Future<int>> parts;
  for (int i = 0; i < count; ++i) parts.push_back(ctx.schedule_activity<int>("Part", i));
  const auto results = co_await ctx.join(std::move(parts)).as_result();
  int sum = 0;
  for (const auto& result : results) sum += result ? *result : -1;
  co_return sum;
}

inline Orchestration<std::string> retries(OrchestrationContext ctx) {
  const auto policy = RetryPolicy(3)
                          .backoff(Backoff::exponential(Milliseconds(100), 2.0, Milliseconds(1'000)))
                          .total_timeout(Milliseconds(60'000));
  const auto first = co_await ctx.schedule_activity<std::string>("Flaky", 1, ActivityOptions().retry(policy));
  const auto second =
      co_await ctx.schedule_activity<std::string>("Broken", 2, ActivityOptions().retry(RetryPolicy(2))).as_result();
  co_return first + " / " + (second ? *second : second.error().to_string());
}

inline Orchestration<std::string> queues(OrchestrationContext ctx) {
  std::string read = co_await ctx.dequeue_event<std::string>("inbox");
  auto waiting = ctx.dequeue_event<std::string>("inbox");
  auto first = co_await select{waiting, ctx.schedule_timer(Milliseconds(100))};
  if (first.index() == 1) read += " (a pause)";
  read += " " + co_await waiting;
  const auto [a, b] = co_await join{ctx.dequeue_event<std::string>("inbox"), ctx.dequeue_event<std::string>("other")};
  co_return read + " " + a + " " + b;
}

// Reads one message per execution; the rest is carried on.
inline Orchestration<std::string> carry_forward(OrchestrationContext ctx, int left) {
  const auto message = co_await ctx.dequeue_event<std::string>("inbox");
  ctx.set_custom_status("read " + message);
  if (left > 0) co_return ctx.continue_as_new(left - 1);
  co_return "the last was " + message + ", before it: " + ctx.get_custom_status().value_or("nothing");
}

inline Orchestration<std::string> children(OrchestrationContext ctx) {
  auto named = ctx.schedule_sub_orchestration<int>("Child", 1,
                                                   SubOrchestrationOptions().instance_id("child-1").version("2.0.0"));
  auto automatic = ctx.schedule_sub_orchestration<int>("Child", 2);
  auto dropped = ctx.schedule_sub_orchestration<int>("Child", 3);
  ctx.schedule_orchestration("Audit", "audit-1", "begun");
  const int one = co_await named;
  {
    const auto gone = std::move(dropped);
  }
  const auto two = co_await automatic.as_result();
  co_return std::to_string(one) + ", " + (two ? std::to_string(*two) : two.error().to_string());
}

inline Orchestration<void> cancelled(OrchestrationContext ctx) {
  ctx.schedule_activity<void>("Detached").detach();
  auto child = ctx.schedule_sub_orchestration<void>("Child");
  auto wait = ctx.schedule_wait<std::string>("go");
  auto message = ctx.dequeue_event<std::string>("inbox");
  co_await ctx.schedule_activity<void>("Work");
  co_await child;
}

inline Orchestration<int> continued(OrchestrationContext ctx, int number) {
  auto unfinished = ctx.schedule_activity<int>("Never", number);
  auto wait = ctx.schedule_wait<std::string>("never");
  const int next = co_await ctx.schedule_activity<int>("Next", number);
  ctx.schedule_orchestration("Audit", "audit-2");
  co_return ctx.continue_as_new(next, StartOptions().version("1.1.0"));
}

inline Orchestration<int> keys(OrchestrationContext ctx) {
  ctx.set_kv_value("old", 1);
  ctx.set_kv_value("cleared", "x");
  co_await ctx.schedule_activity<void>("Wait");
  ctx.set_kv_value("new", 2);
  ctx.clear_kv_value("cleared");
  const auto pruned = ctx.prune_kv_values_updated_before(ctx.utc_now());
  const auto left = ctx.get_kv_length();
  const auto foreign = co_await ctx.get_kv_value_from_instance<int>("another", "key");
  const int found = ctx.get_kv_value<int>("new").value_or(0);
  ctx.clear_all_kv_values();
  co_return static_cast<int>(pruned) * 100 + static_cast<int>(left) * 10 + found + foreign.value_or(0);
}

inline Orchestration<std::string> status(OrchestrationContext ctx) {
  ctx.set_custom_status("waiting");
  co_await ctx.schedule_wait<void>("go");
  ctx.set_custom_status("going");
  ctx.reset_custom_status();
  ctx.set_custom_status("gone");
  co_return ctx.get_custom_status().value_or("none");
}

inline Orchestration<std::string> recorded_values(OrchestrationContext ctx) {
  const auto id = ctx.new_guid();
  const auto now = ctx.utc_now();
  if (ctx.random() % 2 != 0) co_await ctx.schedule_activity<void>("Odd", id);
  co_await ctx.schedule_timer_at(now + Milliseconds(5'000));
  co_return id + " " + ctx.new_guid();
}

inline Orchestration<std::string> drops(OrchestrationContext ctx) {
  {
    const auto never_leaves = ctx.schedule_activity<void>("NeverLeaves");
  }
  auto activity = ctx.schedule_activity<void>("Withdrawn");
  auto wait = ctx.schedule_wait<std::string>("news");
  auto message = ctx.dequeue_event<std::string>("inbox");
  auto timer = ctx.schedule_timer(Milliseconds(10));
  co_await ctx.schedule_activity<void>("Step");
  {
    const auto gone_activity = std::move(activity);
    const auto gone_wait = std::move(wait);
    const auto gone_message = std::move(message);
    const auto gone_timer = std::move(timer);
  }
  const auto news = co_await ctx.schedule_wait<std::string>("news");
  co_return news + " and " + co_await ctx.dequeue_event<std::string>("inbox");
}

inline Task<void> unlock(OrchestrationContext ctx, std::string what) {
  co_await ctx.schedule_timer(Milliseconds(50));
  co_await ctx.schedule_activity<void>("Unlock", what);
}

inline Orchestration<std::string> saga(OrchestrationContext ctx) {
  Saga undo(ctx);
  const auto room = co_await ctx.schedule_activity<std::string>("BookRoom");
  undo.undo_with("CancelRoom", room);
  undo.undo_with([room](OrchestrationContext context) { return unlock(context, room); });
  const auto flight = co_await ctx.schedule_activity<std::string>("BookFlight").as_result();
  if (flight) co_return room + " " + *flight;
  const auto not_undone = co_await undo.compensate();
  co_return "nothing booked: " + flight.error().message() + "; not undone: " + std::to_string(not_undone.size());
}

inline Task<int> leaf(OrchestrationContext ctx, int number) {
  const int value = co_await ctx.schedule_activity<int>("Leaf", number);
  if (value < 0) throw OrchestrationError("leaf " + std::to_string(number) + " is negative");
  co_return value;
}

inline Task<int> branch(OrchestrationContext ctx, int number) {
  const auto [left, right] = co_await join{leaf(ctx, 2 * number), leaf(ctx, 2 * number + 1)};
  co_return left + right;
}

inline Orchestration<int> nested_tasks(OrchestrationContext ctx) {
  const auto slow = co_await select{branch(ctx, 1), branch(ctx, 2)};
  const auto broken = co_await branch(ctx, 3).as_result();
  co_return static_cast<int>(slow.index()) * 1'000 + (broken ? *broken : -1);
}

}  // namespace perdure::test::golden
