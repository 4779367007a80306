// OpenCalls: asynchronous activities that run until a test ends them.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

namespace perdure::test {

// Copies are the same list. From any thread.
class OpenCalls {
 public:
  struct Call {
    ActivityContext ctx;
    ActivityCompletion<std::string> done;
  };

  // Adds an activity that does nothing but stay open.
  void add_to(Registry& registry, const std::string& name = "Work") const {
    registry.add_async_activity(name, [calls = *this](ActivityContext ctx, ActivityCompletion<std::string> done) {
      const std::scoped_lock lock(calls.state_->mutex);
      calls.state_->calls.push_back({std::move(ctx), std::move(done)});
    });
  }
  // How many have begun.
  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->calls.size();
  }
  // In the order in which they began.
  [[nodiscard]] Call at(std::size_t index) const {
    const std::scoped_lock lock(state_->mutex);
    return state_->calls.at(index);
  }
  [[nodiscard]] Call latest() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->calls.at(state_->calls.size() - 1);
  }
  [[nodiscard]] std::vector<Call> all() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->calls;
  }

 private:
  struct State {
    std::mutex mutex;
    std::vector<Call> calls;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// What became of one activity, in a sentence.
inline std::string told(const Result<std::string>& outcome) {
  if (outcome) return "done: " + *outcome;
  return (outcome.error().is_timeout() ? "timeout: " : "failed: ") + outcome.error().message();
}

// An orchestration that runs one activity and tells what became of it.
inline void add_flow(Registry& registry, const ActivityOptions& how, const std::string& name = "Flow",
                     const std::string& activity = "Work") {
  registry.add_orchestration(name, [how, activity](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_return told(co_await ctx.schedule_activity<std::string>(activity, how).as_result());
  });
}

}  // namespace perdure::test
