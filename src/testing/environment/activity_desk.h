// ActivityDesk: every start of an activity goes over it. It knows the mocks, writes down who was started with what, and
// lets activities take virtual time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/clock.h>
#include <perdure/registry.h>
#include <perdure/testing/test_environment.h>
#include "testing/environment/plan.h"

namespace perdure::testing {

class ActivityDesk {
 public:
  using Call = Plan::Call;

  // Borrows both. It must outlive the nodes that have its registry.
  ActivityDesk(const Clock& clock, Plan& plan) : clock_(clock), plan_(plan) {}

  // The code of the node from now on. Throws std::invalid_argument if it makes no sense.
  void use_code(Registry code);
  // Answers whether some activity has no place in registry() as it was given out last.
  bool use_mock(const Registry& mock);
  void set_duration(std::string_view name, Milliseconds duration);

  // The code with this desk in front of every activity.
  [[nodiscard]] Registry registry();

  [[nodiscard]] std::vector<ActivityRun> calls(std::string_view name) const;
  // The activity whose code runs at the moment, the innermost one; or null.
  [[nodiscard]] Call current() const { return running_.empty() ? nullptr : running_.back(); }
  // How many functions of activities and planned ones are on the stack.
  [[nodiscard]] std::size_t depth() const noexcept { return running_.size(); }
  [[nodiscard]] bool is_running(const ActivityIdentity& activity) const;
  // Calls it as if it were code of this activity; null: of none.
  void run_as(const Call& activity, const std::function<void()>& function);
  // The process is gone: tells those that have returned without an outcome.
  void stop_open_calls();

 private:
  using Handler = std::shared_ptr<const ActivityHandler>;

  void start(const Call& call, const Payload& input);
  void run(const Call& call, const Payload& input, const Handler& handler);
  [[nodiscard]] Handler handler_of(const std::string& name) const;

  const Clock& clock_;
  Plan& plan_;
  Registry code_;
  std::map<std::string, Handler, std::less<>> mocks_;
  std::map<std::string, Milliseconds, std::less<>> durations_;
  std::map<std::string, std::vector<ActivityRun>, std::less<>> runs_;
  std::vector<Call> running_;
  std::vector<std::weak_ptr<perdure::detail::ActivityCall>> open_;
  Registry given_out_;
};

}  // namespace perdure::testing
