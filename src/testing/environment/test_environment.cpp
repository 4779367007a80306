#include <perdure/testing/test_environment.h>

#include <perdure/history_text.h>
#include "providers/times.h"
#include "testing/environment/driver.h"

namespace perdure::testing {

TestEnvironment::TestEnvironment(Registry registry, TestOptions options)
    : driver_(std::make_unique<Driver>(std::move(registry), std::move(options))) {}

TestEnvironment::~TestEnvironment() = default;

// ---- activities ----------------------------------------------------------------------------------------------------

TestEnvironment& TestEnvironment::use_mock(const Registry& mock) {
  driver_->use_mock(mock);
  return *this;
}

TestEnvironment& TestEnvironment::set_activity_duration(std::string_view name, Milliseconds duration) {
  driver_->desk().set_duration(name, duration);
  return *this;
}

std::vector<ActivityRun> TestEnvironment::calls(std::string_view activity) const {
  return driver_->desk().calls(activity);
}

// ---- workflows -----------------------------------------------------------------------------------------------------

void TestEnvironment::start(const std::string& instance, const std::string& name) {
  client().start_orchestration(instance, name, StartInstanceOptions().policy(StartPolicy::kFail));
}

OrchestrationStatus TestEnvironment::wait(const std::string& instance) {
  return driver_->wait(instance);
}

// ---- time ----------------------------------------------------------------------------------------------------------

Timestamp TestEnvironment::now() const {
  return driver_->now();
}

void TestEnvironment::advance(Milliseconds by) {
  driver_->advance(by);
}

void TestEnvironment::at(Timestamp time, std::function<void()> function) {
  driver_->plan(time, std::move(function));
}

void TestEnvironment::after(Milliseconds delay, std::function<void()> function) {
  at(shifted(now(), delay), std::move(function));
}

void TestEnvironment::raise_event_after(Milliseconds delay, std::string instance, std::string name) {
  after(delay,
        [this, instance = std::move(instance), name = std::move(name)] { client().raise_event(instance, name); });
}

// ---- crashes -------------------------------------------------------------------------------------------------------

void TestEnvironment::restart() {
  driver_->restart(std::nullopt);
}

void TestEnvironment::restart(Registry registry) {
  driver_->restart(std::move(registry));
}

// ---- looking -------------------------------------------------------------------------------------------------------

const Client& TestEnvironment::client() const {
  return driver_->client();
}

const std::shared_ptr<Provider>& TestEnvironment::store() const {
  return driver_->store();
}

CapturingLogSink& TestEnvironment::log() const {
  return driver_->log();
}

std::vector<Event> TestEnvironment::history(const std::string& instance, std::optional<ExecutionId> execution) const {
  return client().read_execution_history(instance, execution);
}

std::vector<std::string> TestEnvironment::event_kinds(const std::string& instance) const {
  std::vector<std::string> kinds;
  for (const Event& event : history(instance)) kinds.emplace_back(kind_name(event.body));
  return kinds;
}

std::string TestEnvironment::history_text(const std::string& instance) const {
  return write_history_text(history(instance));
}

std::string TestEnvironment::timeline(const std::string& instance) const {
  return draw_timeline(history(instance), driver_->start());
}

}  // namespace perdure::testing
