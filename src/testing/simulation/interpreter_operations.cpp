// The steps of a program that await one activity, timer, signal or queue.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/combinators.h>
#include <perdure/context.h>
#include <perdure/error.h>
#include "testing/simulation/interpreter.h"
#include "testing/simulation/interpreter_steps.h"

namespace perdure::testing::simulation {

namespace {

struct Call {
  std::string_view activity = activity::kEcho;
  std::string input;
  ActivityOptions options;
};

RetryPolicy attempts(std::uint64_t number, std::uint64_t variant) {
  RetryPolicy policy(static_cast<std::uint32_t>(number));
  const Milliseconds pause(static_cast<std::int64_t>(variant % 7) * 500);
  if (variant % 3 == 0) policy.backoff(Backoff::none());
  if (variant % 3 == 1) policy.backoff(Backoff::fixed(pause + Milliseconds(1)));
  if (variant % 2 == 0) policy.total_timeout(kAges);
  return policy;
}

Milliseconds soon(const Step& step) {
  return Milliseconds(static_cast<std::int64_t>(step.number % 5'000) + 1);
}

// The activities that are scheduled and awaited as they are.
Call call_for(const Run& run, const Step& step) {
  const std::string token = run.token(step);
  const std::string numbered = token + "#" + std::to_string(step.number);
  ActivityOptions options;
  switch (step.op) {
    case Op::kTaggedActivity:
      return {activity::kEcho, token, options.tag(std::string(kServedTag))};
    case Op::kFlakyActivity:
      return {activity::kFlaky, numbered, options.retry(attempts(step.number + 1, step.number)).timeout(kAges)};
    case Op::kGivenUpActivity:
      return {activity::kFails, token, options.retry(attempts(step.number, step.number + 1))};
    case Op::kHopelessActivity:
      return {activity::kFailsForGood, token, options.retry(attempts(step.number + 1, step.number))};
    case Op::kTimedOutActivity:
      if (step.number % 2 == 1) options.retry(attempts(2, step.number));
      return {activity::kNever, token, options.timeout(soon(step))};
    case Op::kSilentActivity:
      return {activity::kNever, token, options.heartbeat_timeout(soon(step))};
    case Op::kUnservedActivity:
      return {activity::kEcho, token, options.tag(std::string(kUnservedTag)).schedule_to_start_timeout(soon(step))};
    case Op::kUnknownTimedActivity:
      return {kUnknown, token, options.schedule_to_start_timeout(soon(step))};
    case Op::kRetiredActivity:
      return {activity::kRetired, token, options.schedule_to_start_timeout(soon(step)).timeout(soon(step) * 10)};
    case Op::kDroppedCompletion:
      return {activity::kDrops, token, options};
    case Op::kProgress:
      return {activity::kProgress, numbered,
              options.retry(attempts(step.number, step.number)).heartbeat_timeout(kAges)};
    default:
      return {activity::kEcho, token, options};
  }
}

Task<void> call_in_session(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  ActivityOptions options;
  options.session(run->token(*step));
  std::string text;
  for (std::uint64_t i = 0; i < step->number; ++i) {
    const std::string input = run->token(*step) + "." + std::to_string(i);
    const std::string result = co_await schedule(ctx, *run->ledger, activity::kEcho, input, options);
    text += result + "; ";
  }
  run->note(*step, text);
}

Task<void> call_async(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  ActivityOptions options;
  options.timeout(kAges);
  Future<std::string> later = schedule(ctx, *run->ledger, activity::kLater, token, options);
  co_await schedule(ctx, *run->ledger, activity::kRelease, token);
  const std::string result = co_await later;
  run->note(*step, result);
}

Task<void> catch_failure(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  std::string text = "nothing was thrown";
  try {
    text = co_await schedule(ctx, *run->ledger, activity::kFails, run->token(*step));
  } catch (const ActivityError& error) {
    text = error.what();
  }
  run->note(*step, text);
}

// In the turn in which it was scheduled, or later, when it may be under way or over.
Task<void> drop_activity(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  const std::string_view name = step->number % 2 == 0 ? activity::kEcho : activity::kNever;
  std::optional<Future<std::string>> dropped(schedule(ctx, *run->ledger, name, token + ".dropped"));
  if (step->number % 3 != 0) co_await schedule(ctx, *run->ledger, activity::kEcho, token);
  dropped.reset();
  run->note(*step, "dropped");
}

// No node has its code: nodes fetch it and give it back, until it is dropped or ends as poison.
Task<void> drop_unknown_activity(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  {
    const Future<std::string> dropped = schedule(ctx, *run->ledger, kUnknown, token);
    co_await schedule(ctx, *run->ledger, activity::kEcho, token);
  }
  if (step->number > 0) co_await ctx.schedule_timer(Milliseconds(step->number));
  run->note(*step, "dropped");
}

// Some outlive their instance by a while, and may be deleted with it.
void detach_activity(OrchestrationContext ctx, const Run* run, const Step& step) {
  const bool lasts = step.number % 2 == 1;
  ActivityOptions options;
  if (lasts) options.timeout(std::chrono::minutes(2));
  schedule(ctx, *run->ledger, lasts ? activity::kNever : activity::kEcho, run->token(step), options).detach();
}

Task<void> wait_for_racing_signal(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const auto first = co_await select{ctx.schedule_wait<std::string>(run->token(*step)),
                                     ctx.schedule_timer(Milliseconds(static_cast<std::int64_t>(step->number)))};
  const auto* signal = std::get_if<0>(&first);
  run->note(*step, signal ? *signal : "timer");
}

Task<void> wait_for_signal(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  Future<std::string> signal = ctx.schedule_wait<std::string>(token);
  if (step->op == Op::kSignalFromActivity) {
    const ActivityOptions options = persistent();
    co_await schedule(ctx, *run->ledger, activity::kRaise, token, options);
  } else {
    ctx.set_kv_value(waiting_key(token), token);
  }
  const std::string value = co_await signal;
  if (step->op == Op::kSignalFromClient) ctx.clear_kv_value(waiting_key(token));
  run->note(*step, value);
}

// Clients repeat themselves, so a message may come twice.
Task<void> read_queue(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  std::set<std::string>& seen = run->state.messages;
  const std::size_t wanted = seen.size() + step->number;
  while (seen.size() < wanted) {
    // Whatever it is given goes back to its place.
    {
      const Future<std::string> unread = ctx.dequeue_event<std::string>(kInbox);
    }
    const std::string message = co_await ctx.dequeue_event<std::string>(kInbox);
    seen.insert(message);
  }
  std::string text = "read " + std::to_string(step->number);
  if (step->last) {
    for (const std::string& message : seen) text += " " + message;
  }
  run->note(*step, text);
}

Task<void> read_fed_queue(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  const ActivityOptions options = persistent();
  Future<std::string> feeding =
      schedule(ctx, *run->ledger, activity::kEnqueue, token + "#" + std::to_string(step->number), options);
  // Messages wait for those who read later.
  const bool late = step->number % 2 == 0;
  if (late) co_await feeding;
  // It may have been fed more than once, but each time in this order.
  std::vector<std::string> seen;
  while (seen.size() < step->number) {
    const std::string message = co_await ctx.dequeue_event<std::string>(token);
    if (std::find(seen.begin(), seen.end(), message) == seen.end()) seen.push_back(message);
  }
  if (!late) co_await feeding;
  std::string text;
  for (const std::string& message : seen) text += message + " ";
  run->note(*step, text);
}

}  // namespace

Task<void> run_activity_step(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  switch (step->op) {
    case Op::kSessionActivities:
      co_await call_in_session(ctx, run, step);
      break;
    case Op::kAsyncActivity:
      co_await call_async(ctx, run, step);
      break;
    case Op::kCaughtFailure:
      co_await catch_failure(ctx, run, step);
      break;
    case Op::kDroppedActivity:
      co_await drop_activity(ctx, run, step);
      break;
    case Op::kDetachedActivity:
      detach_activity(ctx, run, *step);
      run->note(*step, "detached");
      break;
    case Op::kUnknownActivity:
      schedule(ctx, *run->ledger, kUnknown, run->token(*step)).detach();
      if (step->number > 0) co_await ctx.schedule_timer(Milliseconds(step->number));
      run->note(*step, "detached");
      break;
    case Op::kDroppedUnknownActivity:
      co_await drop_unknown_activity(ctx, run, step);
      break;
    default: {
      const Call call = call_for(*run, *step);
      const auto result = co_await schedule(ctx, *run->ledger, call.activity, call.input, call.options).as_result();
      run->note(*step, !result && result.error().is_timeout() ? "timed out" : text_of(result));
    }
  }
}

Task<void> run_waiting_step(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  switch (step->op) {
    case Op::kTimer:
      co_await ctx.schedule_timer(Milliseconds(static_cast<std::int64_t>(step->number)));
      run->note(*step, "fired");
      break;
    case Op::kRacingSignal:
      co_await wait_for_racing_signal(ctx, run, step);
      break;
    case Op::kQueue:
      co_await read_queue(ctx, run, step);
      break;
    case Op::kQueueFromActivity:
      co_await read_fed_queue(ctx, run, step);
      break;
    default:
      co_await wait_for_signal(ctx, run, step);
  }
}

}  // namespace perdure::testing::simulation
