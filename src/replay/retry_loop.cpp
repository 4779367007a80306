#include "replay/retry_loop.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <perdure/context.h>
#include <perdure/task.h>
#include "model/planted_fault.h"

namespace perdure::detail {

namespace {

// Counts what the loop needs for the next attempt as a part of its frame, which the core counts itself.
class RetryDriver final : public SlotDriver {
 public:
  RetryDriver(ContextCore& core, std::ptrdiff_t input_bytes, Task<void> loop) noexcept
      : core_(&core), input_bytes_(input_bytes), loop_(std::move(loop)) {
    core.count_frame(input_bytes_);
  }
  RetryDriver(const RetryDriver&) = delete;
  RetryDriver& operator=(const RetryDriver&) = delete;
  // A future that was hidden elsewhere may go after the core.
  ~RetryDriver() override {
    if (ContextCore::current() == core_) core_->count_frame(-input_bytes_);
  }
  [[nodiscard]] const Task<void>& loop() const noexcept { return loop_; }

 private:
  ContextCore* core_;
  std::ptrdiff_t input_bytes_;
  Task<void> loop_;
};

Error timed_out(const events::ActivityScheduled& activity, Milliseconds limit) {
  return {Error::Source::kActivity, activity.name,
          ApplicationError{ApplicationErrorKind::kTimedOut,
                           "timeout: all attempts together took longer than " + std::to_string(limit.count()) + " ms",
                           false}};
}

void settle(ContextCore& core, Slot& slot, Result<Raw> outcome) {
  slot.schedule_id = 0;
  if (outcome) {
    slot.payload = outcome->payload();
  } else {
    slot.failed = true;
    slot.error = std::make_unique<ErrorDetails>(outcome.error().details());
  }
  slot.completion.complete(core.next_rank());
}

// `slot` owns this coroutine, so it is there as long as the coroutine runs. The caller receives what the first attempt
// throws. No code awaits the loop later, so what a later step throws abandons the turn.
Task<void> retry(ContextCore* core, Slot* slot, events::ActivityScheduled activity, RetryPolicy policy) {
  bool waits = false;
  try {
    OrchestrationContext ctx(*core);
    std::optional<Future<void>> deadline;
    for (std::uint32_t attempt = 1;; ++attempt) {
      const SlotRef attempted = core->open(activity);
      if (attempt > 1) core->count_retry(activity.name);
      Future<Raw> running(attempted);
      slot->schedule_id = running.schedule_id();
      if (attempt == 1 && policy.total_timeout()) deadline.emplace(ctx.schedule_timer(*policy.total_timeout()));
      std::optional<Result<Raw>> outcome;
      waits = true;
      if (deadline) {
        auto first = co_await select{running.as_result(), *deadline};
        if (first.index() == 0) outcome.emplace(std::get<0>(std::move(first)));
      } else {
        outcome.emplace(co_await running.as_result());
      }
      if (!outcome) co_return settle(*core, *slot, timed_out(activity, *policy.total_timeout()));
      const bool final = *outcome || (!outcome->error().retryable() && !planted(PlantedFault::kFinalErrorRetried));
      if (final || attempt == policy.max_attempts()) {
        co_return settle(*core, *slot, std::move(*outcome));
      }
      slot->schedule_id = 0;
      if (attempted->payload && !planted(PlantedFault::kProgressLost))
        activity.progress = attempted->payload;  // one that nobody started has none of its own
      const auto earlier = activity.earlier.value_or(EarlierAttempts{attempted->schedule_id, 0});
      activity.earlier = EarlierAttempts{earlier.first, earlier.count + attempted->attempts};
      const Milliseconds delay = policy.backoff().delay_after(attempt);
      ctx.trace_warn("activity '" + activity.name + "' failed in attempt " + std::to_string(attempt) + " of " +
                     std::to_string(policy.max_attempts()) + ", next attempt in " + std::to_string(delay.count()) +
                     " ms: " + outcome->error().message());
      if (delay == Milliseconds::zero()) continue;
      if (!deadline) {
        co_await ctx.schedule_timer(delay);
        continue;
      }
      auto waited = co_await select{ctx.schedule_timer(delay), *deadline};
      if (waited.index() == 1) co_return settle(*core, *slot, timed_out(activity, *policy.total_timeout()));
    }
  } catch (...) {
    if (!waits) throw;
    core->abandon_turn(std::current_exception());
  }
}

}  // namespace

SlotRef start_retry_loop(ContextCore& core, events::ActivityScheduled activity, RetryPolicy policy) {
  SlotRef slot(new Slot(core, OperationKind::kRetriedActivity, activity.name));
  const auto input_bytes = static_cast<std::ptrdiff_t>(activity.input ? activity.input->size() : 0);
  auto driver = std::make_unique<RetryDriver>(core, input_bytes, retry(&core, slot.get(), std::move(activity), policy));
  const Task<void>& loop = driver->loop();
  slot->driver = std::move(driver);
  loop.start_now(core);
  if (loop.completion().done()) loop.take();  // it cannot succeed at once; what it threw is for the caller
  return slot;
}

}  // namespace perdure::detail
