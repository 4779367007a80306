#include "testing/environment/activity_desk.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "providers/times.h"

namespace perdure::testing {

void ActivityDesk::use_code(Registry code) {
  code.check();
  code_ = std::move(code);
}

bool ActivityDesk::use_mock(const Registry& mock) {
  mock.check();
  bool is_new = false;
  for (const std::string& name : mock.activity_names()) {
    mocks_[name] = mock.resolve_activity(name);
    is_new = is_new || !given_out_.has_activity(name);
  }
  return is_new;
}

void ActivityDesk::set_duration(std::string_view name, Milliseconds duration) {
  if (duration.count() < 0) {
    throw std::invalid_argument("activity '" + std::string(name) + "' cannot take " + std::to_string(duration.count()) +
                                " ms; give it a duration that is not negative");
  }
  durations_.insert_or_assign(std::string(name), duration);
}

Registry ActivityDesk::registry() {
  const auto front = [this](const Call& call, const Payload& input) { start(call, input); };
  given_out_ = code_;
  for (const std::string& name : code_.activity_names()) given_out_.replace_activity(name, front);
  for (const auto& [name, mock] : mocks_) given_out_.replace_activity(name, front);
  return given_out_;
}

std::vector<ActivityRun> ActivityDesk::calls(std::string_view name) const {
  const auto runs = runs_.find(name);
  return runs == runs_.end() ? std::vector<ActivityRun>() : runs->second;
}

bool ActivityDesk::is_running(const ActivityIdentity& activity) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Call& call) { return call && identity_of(*call) == activity; });
}

void ActivityDesk::run_as(const Call& activity, const std::function<void()>& function) {
  struct Guard {
    explicit Guard(std::vector<Call>& running, const Call& call) : calls(running) { calls.push_back(call); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { calls.pop_back(); }
    std::vector<Call>& calls;
  };
  const Guard guard(running_, activity);
  function();
}

void ActivityDesk::stop_open_calls() {
  for (const auto& open : std::exchange(open_, {})) {
    if (const Call call = open.lock()) call->request_stop();
  }
}

void ActivityDesk::start(const Call& call, const Payload& input) {
  const auto& about = call->about;
  const Timestamp now = clock_.now();
  runs_[about.activity_name].push_back({.instance_id = about.instance_id,
                                        .execution_id = about.execution_id,
                                        .activity_id = about.activity_id,
                                        .attempt = about.attempt,
                                        .session_id = about.session_id,
                                        .tag = about.tag,
                                        .at = now,
                                        .encoded_input = input});
  const Handler handler = handler_of(about.activity_name);
  const auto duration = durations_.find(about.activity_name);
  if (duration == durations_.end() || duration->second.count() == 0) return run(call, input, handler);
  plan_.add(
      shifted(now, duration->second),
      {.function = [this, call, input, handler] { run(call, input, handler); }, .owner = call, .only_for_owner = true});
}

void ActivityDesk::run(const Call& call, const Payload& input, const Handler& handler) {
  run_as(call, [&] { (*handler)(call, input); });
  if (call->ended()) return;
  std::erase_if(open_, [](const auto& open) {
    const Call other = open.lock();
    return !other || other->ended();
  });
  open_.push_back(call);
}

ActivityDesk::Handler ActivityDesk::handler_of(const std::string& name) const {
  const auto mock = mocks_.find(name);
  return mock == mocks_.end() ? code_.resolve_activity(name) : mock->second;
}

}  // namespace perdure::testing
