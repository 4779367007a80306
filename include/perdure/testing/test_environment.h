// TestEnvironment: tests of workflows in virtual time. The engine is the real one, on a store in memory, without
// threads and without waiting: a workflow that sleeps for 30 days is tested in milliseconds. Needs no test framework.
// docs/testing.md shows how to use it.
//
//   perdure::testing::TestEnvironment env(registry);
//   env.mock_activity("ChargeCard", [](perdure::ActivityContext&, Order) { return Payment{"tx-1"}; });
//
//   env.raise_event_after(2h, "order-1", "approved", Approval{"Ada"});
//   const auto receipt = env.run("order-1", "ProcessOrder", order).result<Receipt>();
//
// Time stands still while anything can be done. When nothing can, it jumps to the moment at which the next thing is
// due: a timer, a retry, the end of a lock, a planned call. It never jumps while an activity is under way that some
// other thread will complete.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/activity.h>
#include <perdure/client.h>
#include <perdure/codec.h>
#include <perdure/event.h>
#include <perdure/log.h>
#include <perdure/orchestration_status.h>
#include <perdure/provider.h>
#include <perdure/registry.h>
#include <perdure/runtime_options.h>
#include <perdure/types.h>

namespace perdure::testing {

struct TestOptions {
  Timestamp start{std::chrono::sys_days(std::chrono::year(2024) / 1 / 1)};
  // Of the node. Its clock and its logger are the environment's, and what a node does only to keep its house in order
  // (polling, gauges, sweeping up old sessions) is put off for years.
  RuntimeOptions runtime;
  // 0: of what can be done, the oldest is done first. Any other seed draws an order of its own, so that a loop over
  // seeds tries many interleavings. Equal seeds give equal histories.
  std::uint64_t seed = 0;
  // How long, in real time, to wait for asynchronous activities that another thread will complete.
  Milliseconds patience{10'000};
  // What may happen in one call before it is taken for a loop without end.
  std::size_t max_steps = 1'000'000;
};

// The test waits for something that cannot come; the text says what is missing.
class Stalled final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One time that an activity was started.
struct ActivityRun {
  std::string instance_id;
  ExecutionId execution_id = kFirstExecutionId;
  EventId activity_id = 0;
  std::uint32_t attempt = 1;  // as ActivityContext::attempt()
  std::optional<std::string> session_id;
  std::optional<std::string> tag;
  Timestamp at{};
  Payload encoded_input;

  // Throws what the codec throws if the input is no T.
  template <class T>
  [[nodiscard]] T input() const {
    return perdure::detail::decode_payload<T>(encoded_input);
  }
};

class Driver;

// Used by the thread that made it; what client() and store() give out may be used by any. Their waits, made by the
// thread of the environment, do not sleep: they let things happen and time pass, up to their timeout.
class TestEnvironment {
 public:
  // An activity that takes this long never ends.
  static constexpr Milliseconds kForEver = (Milliseconds::max)();

  // Throws std::invalid_argument for a registry or options that make no sense.
  explicit TestEnvironment(Registry registry, TestOptions options = {});
  TestEnvironment(const TestEnvironment&) = delete;
  TestEnvironment& operator=(const TestEnvironment&) = delete;
  // Tells activities that are still under way to stop.
  ~TestEnvironment();

  // ---- Activities: those of the registry, unless they are mocked ----

  // From now on `function` stands for the activity, whether or not the registry has it. The activity is a name or an
  // Activity<Out(In)>, the function as for Registry::add_activity.
  template <class Name, class Function>
  TestEnvironment& mock_activity(const Name& activity, Function function) {
    Registry mock;
    mock.add_activity(activity, std::move(function));
    return use_mock(mock);
  }
  // As for Registry::add_async_activity.
  template <class Function>
  TestEnvironment& mock_async_activity(std::string_view name, Function function) {
    Registry mock;
    mock.add_async_activity(name, std::move(function));
    return use_mock(mock);
  }
  // From now on the activity, mocked or not, takes this much virtual time: its function is called at the end of it,
  // unless the activity was cancelled or timed out before. kForEver: never. 0, as without this: at once.
  TestEnvironment& set_activity_duration(std::string_view name, Milliseconds duration);

  // Every start of an activity, retries included, in order.
  [[nodiscard]] std::vector<ActivityRun> calls(std::string_view activity) const;
  template <class Signature>
  [[nodiscard]] std::vector<ActivityRun> calls(const Activity<Signature>& activity) const {
    return calls(std::string_view(activity.name()));
  }
  // What it was started with.
  template <class T>
  [[nodiscard]] std::vector<T> inputs(std::string_view activity) const {
    std::vector<T> values;
    for (const ActivityRun& run : calls(activity)) values.push_back(run.template input<T>());
    return values;
  }
  template <class Out, class In>
  [[nodiscard]] std::vector<In> inputs(const Activity<Out(In)>& activity) const {
    return inputs<In>(std::string_view(activity.name()));
  }

  // ---- Workflows ----

  // An instance that exists already is an error: ClientErrorKind::kAlreadyExists.
  template <class T>
  void start(const std::string& instance, const std::string& name, const T& input) {
    client().start_orchestration(instance, name, input, StartInstanceOptions().policy(StartPolicy::kFail));
  }
  void start(const std::string& instance, const std::string& name);
  // Lets things happen, and time pass, until the instance has ended. Throws Stalled if it never will.
  OrchestrationStatus wait(const std::string& instance);
  // Starts it and waits for it.
  template <class T>
  OrchestrationStatus run(const std::string& instance, const std::string& name, const T& input) {
    start(instance, name, input);
    return wait(instance);
  }
  OrchestrationStatus run(const std::string& instance, const std::string& name) {
    start(instance, name);
    return wait(instance);
  }

  // ---- Time ----

  [[nodiscard]] Timestamp now() const;
  // Lets this much time pass, with everything that is due up to its end and at its end.
  void advance(Milliseconds by);
  // Everything that can be done at this moment.
  void settle() { advance(Milliseconds(0)); }
  // Calls `function` at that time, before anything else that is due then. A message that the function sends is also
  // delivered before a timer of that moment. If the time has passed, the call comes next. The function may use the
  // environment; its exceptions leave the call that let the time pass.
  void at(Timestamp time, std::function<void()> function);
  void after(Milliseconds delay, std::function<void()> function);
  template <class T>
  void raise_event_after(Milliseconds delay, std::string instance, std::string name, T data) {
    after(delay, [this, instance = std::move(instance), name = std::move(name), data = std::move(data)] {
      client().raise_event(instance, name, data);
    });
  }
  void raise_event_after(Milliseconds delay, std::string instance, std::string name);

  // ---- Crashes ----

  // The process dies here, and another one takes over, with the same code or with other. What the dead one had locked
  // stays locked until the locks end; what it had in memory is gone. Inside of an activity: it dies before the outcome
  // of the activity is stored.
  void restart();
  void restart(Registry registry);

  // ---- Looking ----

  [[nodiscard]] const Client& client() const;
  [[nodiscard]] const std::shared_ptr<Provider>& store() const;
  [[nodiscard]] CapturingLogSink& log() const;
  // Of the latest execution, or of an earlier one; empty if unknown.
  [[nodiscard]] std::vector<Event> history(const std::string& instance,
                                           std::optional<ExecutionId> execution = std::nullopt) const;
  // "OrchestrationStarted", "TimerCreated", ...
  [[nodiscard]] std::vector<std::string> event_kinds(const std::string& instance) const;
  // In the format of <perdure/history_text.h>, for a file that a Replayer reads.
  [[nodiscard]] std::string history_text(const std::string& instance) const;
  // For people: a line for each event, with the virtual time since the start of the environment.
  [[nodiscard]] std::string timeline(const std::string& instance) const;

 private:
  TestEnvironment& use_mock(const Registry& mock);

  std::unique_ptr<Driver> driver_;
};

}  // namespace perdure::testing
