// Driver: what makes things happen in a test environment, one after the other, and time pass in between.
//
//   planned calls that are due ─► what the node can do ─► activities that other threads complete (in real time)
//     ─► time jumps to the next moment at which anything is due, and it begins again
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <perdure/testing/test_environment.h>
#include "testing/dice.h"
#include "testing/environment/activity_desk.h"
#include "testing/environment/outside_store.h"
#include "testing/environment/plan.h"
#include "testing/environment/stall_report.h"
#include "testing/environment/virtual_clock.h"
#include "testing/environment/watched_store.h"
#include "testing/simulation/stepped_node.h"

namespace perdure::testing {

class Driver {
 public:
  Driver(Registry code, TestOptions options);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  [[nodiscard]] const Client& client() const noexcept { return client_; }
  [[nodiscard]] const std::shared_ptr<Provider>& store() const noexcept { return store_; }
  [[nodiscard]] CapturingLogSink& log() const noexcept { return *log_; }
  [[nodiscard]] ActivityDesk& desk() noexcept { return desk_; }
  [[nodiscard]] Timestamp now() const { return clock_->now(); }
  [[nodiscard]] Timestamp start() const noexcept { return options_.start; }

  void use_mock(const Registry& mock);
  void plan(Timestamp at, std::function<void()> function);
  OrchestrationStatus wait(const std::string& instance);
  void advance(Milliseconds by);
  // Absent: with the code that there is.
  void restart(std::optional<Registry> code);

 private:
  void check_thread() const;
  void begin_call();
  // One thing, or one jump of time, not beyond `limit`. False: nothing can happen up to then.
  bool proceed(Timestamp limit);
  // For somebody who waits on the store.
  void drive(Timestamp deadline);
  // One thing that can be done at this moment. False: there is none.
  bool work();
  // How many things the nodes could do now.
  [[nodiscard]] std::size_t choices();
  void step(std::size_t choice);
  void make_planned_call(const Plan::Entry& planned);
  // Until something can be done because another thread has completed an activity. False: none is to be waited for.
  // Throws Stalled when the patience is over.
  bool await_other_threads();
  [[nodiscard]] std::vector<OpenWork> under_way_on_other_threads();
  // The next time at which something happens by itself, or Timestamp::max(). Times after `limit` do not matter.
  [[nodiscard]] Timestamp next_moment(Timestamp limit);
  [[nodiscard]] Timestamp next_moment_of_store();
  [[nodiscard]] StallScene scene();

  // A node with all of the code. One that has less of it finishes what it has begun, and goes.
  void ensure_node();
  void die();

  TestOptions options_;
  std::shared_ptr<VirtualClock> clock_;
  std::shared_ptr<CapturingLogSink> log_;
  std::shared_ptr<OutsideStore> outside_;
  std::shared_ptr<Provider> store_;  // the same, for the test
  std::shared_ptr<WatchedStore> watched_;
  Client client_;
  Dice dice_;
  Plan plan_;
  ActivityDesk desk_;
  std::vector<std::unique_ptr<SteppedNode>> nodes_;  // of one process: the last one works, the others finish
  std::uint64_t processes_ = 1;                      // that there have been
  bool code_has_grown_ = false;                      // since the last node was made
  std::size_t stepping_ = 0;           // steps of nodes that are on the stack: an activity may wait for a workflow
  bool dying_ = false;                 // when the step that is on the stack is over
  std::optional<Registry> next_code_;  // of the process after this one
  std::size_t steps_ = 0;              // in this call
  Timestamp driven_until_ = Timestamp::min();
};

}  // namespace perdure::testing
