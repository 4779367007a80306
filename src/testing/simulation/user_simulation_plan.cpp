// SimulatedWorkload: what a user says that clients do.
#include <algorithm>
#include <stdexcept>

#include <perdure/testing/simulate.h>

namespace perdure::testing {

namespace {

void check_time(Milliseconds after, const std::string& what) {
  if (after.count() >= 0) return;
  throw std::invalid_argument("SimulatedWorkload: '" + what + "' cannot happen " + std::to_string(-after.count()) +
                              " ms before the run begins; give it a time that is not negative");
}

void check_function(bool is_there, const std::string& what) {
  if (!is_there) throw std::invalid_argument("SimulatedWorkload: " + what + " has an empty function");
}

}  // namespace

SimulatedWorkload& SimulatedWorkload::before_each_run(std::function<void()> function) {
  check_function(static_cast<bool>(function), "before_each_run()");
  preparation_ = std::move(function);
  return *this;
}

SimulatedWorkload& SimulatedWorkload::until(std::vector<std::string> instances) {
  if (instances.empty()) throw std::invalid_argument("SimulatedWorkload: until() names no instance");
  awaited_.insert(awaited_.end(), instances.begin(), instances.end());
  return *this;
}

SimulatedWorkload& SimulatedWorkload::until(std::function<bool(const Client&)> reached) {
  check_function(static_cast<bool>(reached), "until()");
  reached_ = std::move(reached);
  return *this;
}

SimulatedWorkload& SimulatedWorkload::add_start(const std::string& instance, const std::string& orchestration,
                                                const Payload& input, Milliseconds after) {
  const std::string what = "start '" + instance + "'";
  if (instance.empty()) throw std::invalid_argument("SimulatedWorkload: start() needs the id of an instance");
  check_time(after, what);
  const auto is_same = [&](const Action& action) { return action.instance == instance; };
  if (std::any_of(actions_.begin(), actions_.end(), is_same)) {
    throw std::invalid_argument("SimulatedWorkload: instance '" + instance +
                                "' is started twice, and the second start would do nothing; give it another id");
  }
  const auto start = [instance, orchestration, input](const Client& client) {
    client.start_orchestration(instance, orchestration, Raw(input));
    return true;
  };
  actions_.push_back({what, after, start, instance, orchestration});
  return *this;
}

SimulatedWorkload& SimulatedWorkload::add_action(Milliseconds after, std::string what, ClientFunction function) {
  check_time(after, what);
  check_function(static_cast<bool>(function), "at(), '" + what + "',");
  actions_.push_back({std::move(what), after, std::move(function), {}, {}});
  return *this;
}

SimulatedWorkload& SimulatedWorkload::add_check(std::string instance, Expectation function) {
  check_function(static_cast<bool>(function), "expect()");
  checks_.push_back({std::move(instance), std::move(function)});
  return *this;
}

}  // namespace perdure::testing
