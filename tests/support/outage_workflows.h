// Workflows that run while their store fails: a node is moved step by step, and the store's clock with it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "testing/simulation/stepped_node.h"

namespace perdure::test {

class OutageWorkflows {
 public:
  explicit OutageWorkflows(std::function<void(Milliseconds)> advance_clock) : advance_clock_(std::move(advance_clock)) {
    registry_.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
    registry_.add_orchestration("Chain", [](OrchestrationContext ctx, int count) -> Orchestration<int> {
      int n = 0;
      while (n < count) n = co_await ctx.schedule_activity<int>("Add", n);
      co_return n;
    });
    registry_.add_orchestration("FanOut", [](OrchestrationContext ctx, int width) -> Orchestration<int> {
      std::vector<Future<int>> all;
      for (int i = 0; i < width; ++i) all.push_back(ctx.schedule_activity<int>("Add", i));
      int sum = 0;
      for (const int n : co_await ctx.join(std::move(all))) sum += n;
      co_return sum;
    });
  }

  void open(std::shared_ptr<Provider> store) {
    store_ = std::move(store);
    node_ = std::make_unique<testing::SteppedNode>(store_, registry_, RuntimeOptions(), 1);
  }
  void close() {
    node_.reset();
    store_.reset();
  }
  [[nodiscard]] Client client() const { return Client(store_); }
  // Whether the step that the node takes now writes something that must not be lost.
  [[nodiscard]] bool writes() const noexcept { return writes_; }

  void begin() {
    for (int i = 0; i < kWorkflows; ++i) start("w" + std::to_string(i));
  }
  void start(const std::string& instance) { client().start_orchestration(instance, "Chain", 3); }
  void fan_out(const std::string& instance, int width) { client().start_orchestration(instance, "FanOut", width); }
  template <class Predicate>
  void step_until(Predicate reached) {
    while (!reached() && node_->choices() > 0) take_step(0);
    EXPECT_TRUE(reached()) << "nothing is left to do";
  }
  void take_steps(int count) {
    for (int i = 0; i < count && node_->choices() > 0; ++i) take_step(0);
  }
  void pass(Milliseconds time) {
    constexpr Milliseconds kStep{500};
    for (Milliseconds passed{0}; passed < time; passed += kStep) {
      settle();
      advance_clock_(kStep);
    }
    settle();
  }
  OrchestrationStatus wait(const std::string& instance) {
    OrchestrationStatus status = client().get_orchestration_status(instance);
    for (int second = 0; second < 300 && !status.ended(); ++second) {
      pass(std::chrono::seconds(1));
      status = client().get_orchestration_status(instance);
    }
    return status;
  }

  void expect_completed() {
    for (int i = 0; i < kWorkflows; ++i) expect_completed("w" + std::to_string(i));
  }
  void expect_completed(const std::string& instance) {
    const OrchestrationStatus status = wait(instance);
    EXPECT_EQ(status.state, OrchestrationState::kCompleted) << instance << ": " << status.error_text();
  }
  void expect_poison(const std::string& instance, const std::string& words) {
    const OrchestrationStatus status = wait(instance);
    ASSERT_EQ(status.state, OrchestrationState::kFailed);
    EXPECT_NE(std::get_if<PoisonError>(&*status.error), nullptr) << status.error_text();
    EXPECT_THAT(status.error_text(), ::testing::HasSubstr(words));
  }

 private:
  static constexpr int kWorkflows = 8;

  void take_step(std::size_t choice) {
    writes_ = node_->writes(choice);
    node_->step(choice);
  }
  void settle() {
    while (const std::size_t choices = node_->choices()) take_step(steps_++ % choices);
  }

  std::function<void(Milliseconds)> advance_clock_;
  Registry registry_;
  std::shared_ptr<Provider> store_;
  std::unique_ptr<testing::SteppedNode> node_;
  std::size_t steps_ = 0;
  std::atomic<bool> writes_{false};  // read by the threads of the store, too
};

}  // namespace perdure::test
