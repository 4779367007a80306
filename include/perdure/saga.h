// Saga: collects how to undo what has been done, and undoes it in reverse order.
//
//   perdure::Saga saga(ctx);
//   Payment payment = co_await ctx.schedule_activity<Payment>("ChargeCard", order);
//   saga.undo_with("Refund", payment);
//   auto shipped = co_await ctx.schedule_activity<Shipment>("Ship", order).as_result();
//   if (!shipped) {
//     auto not_undone = co_await saga.compensate();
//     ...
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/context.h>
#include <perdure/error.h>
#include <perdure/task.h>

namespace perdure {

class Saga {
 public:
  using Step = std::function<Task<void>(OrchestrationContext)>;

  explicit Saga(OrchestrationContext ctx) noexcept : ctx_(ctx) {}

  // Undone by an activity; its result is ignored. Give it a retry policy: nobody else repeats it.
  template <class In>
  void undo_with(std::string_view activity, const In& input, const ActivityOptions& options = ActivityOptions()) {
    add_activity(std::string(activity), detail::encode_payload<detail::encoded_as<In>>(input), options);
  }
  // Undone by any helper coroutine. The callable is kept until it was called: a lambda that captures must return the
  // Task of a helper, not be a coroutine itself.
  void undo_with(Step step) { steps_.push_back(std::move(step)); }

  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  // All went well: forget how to undo it.
  void commit() noexcept { steps_.clear(); }

  // Runs what was collected, last first, and goes on when a step fails, whatever it throws. Gives the failures; the
  // saga is empty afterwards. Only std::bad_alloc ends it: the turn runs again.
  Task<std::vector<Error>> compensate();

 private:
  void add_activity(std::string name, Payload input, const ActivityOptions& options);

  OrchestrationContext ctx_;
  std::vector<Step> steps_;
};

}  // namespace perdure
