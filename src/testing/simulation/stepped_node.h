// SteppedNode: a node without threads. Its dispatchers are the real ones; what they want is carried out one request at
// a time, in an order that the caller chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <perdure/provider.h>
#include <perdure/registry.h>
#include <perdure/runtime_options.h>
#include "runtime/clock_jumps.h"
#include "runtime/node.h"

namespace perdure::testing {

class SteppedNode final : private runtime::worker::ActivityRunner {
 public:
  // Equal seeds make equal nodes.
  SteppedNode(const std::shared_ptr<Provider>& store, Registry registry, const RuntimeOptions& options,
              std::uint64_t seed);
  SteppedNode(const SteppedNode&) = delete;
  SteppedNode& operator=(const SteppedNode&) = delete;
  // What it held stays locked in the store: this is how a process dies.
  ~SteppedNode();

  // How many things could be done now. Asks the dispatchers for more.
  [[nodiscard]] std::size_t choices();
  // Does one of them: 0 <= choice < choices().
  void step(std::size_t choice);
  // The same, but what came of it stays under way: to bring it to the node is one more choice.
  void step_without_answer(std::size_t choice);
  // What a choice would do.
  [[nodiscard]] bool calls_store(std::size_t choice) const;
  [[nodiscard]] bool runs_activity(std::size_t choice) const;
  // It asks the store to keep turns, or outcomes of activities.
  [[nodiscard]] bool writes(std::size_t choice) const;
  [[nodiscard]] std::string describe(std::size_t choice) const;
  // The store's time when something can be done without an answer from outside; Timestamp::max(): never.
  [[nodiscard]] Timestamp wake_at() const;

  void drain();
  // Tells running activities to stop, and gives them back.
  void stop_activities();
  // Nothing is locked and nothing is under way.
  [[nodiscard]] bool idle() const { return orchestrations_.idle() && activities_.idle(); }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  // Activities that have neither ended nor been told to stop.
  [[nodiscard]] std::vector<std::string> running_activities() const;
  // What the two dispatchers have for each other waits meanwhile, as it may between threads. It does not wait when
  // nothing else is left to do.
  void hold_updates(bool held) noexcept { holds_updates_ = held; }
  [[nodiscard]] bool holds_updates() const noexcept { return holds_updates_; }
  // How far the node's clock is ahead of the store's; below 0: behind.
  void set_clock_offset(Milliseconds offset) noexcept { clock_offset_ = offset; }

 private:
  // What came of a request, on its way to the dispatcher.
  struct TurnAnswer {
    runtime::RequestId id;
    runtime::orchestration::Answer answer;
  };
  struct WorkAnswer {
    runtime::RequestId id;
    runtime::worker::Answer answer;
  };
  struct Started {
    runtime::worker::Start start;
  };
  struct AwaitTurns {
    runtime::RequestId id;
    runtime::orchestration::Await await;
  };
  struct AwaitActivities {
    runtime::RequestId id;
    runtime::worker::Await await;
  };
  struct WatchActivities {
    runtime::RequestId id;
    runtime::worker::Watch watch;
  };
  using Choice =
      std::variant<runtime::orchestration::Request, runtime::worker::Request, TurnAnswer, WorkAnswer, Started>;

  void start(runtime::worker::Start start) override;
  void stop(runtime::RunId run) override;
  void replace_thread(runtime::RunId) override {}

  // Lets the node notice that the clock of the store was set forward.
  void notice_jump();
  [[nodiscard]] Timestamp now() const { return store_->now() + clock_offset_; }
  [[nodiscard]] Choice take(std::size_t choice);
  // Answers what is left to do.
  std::optional<Choice> carry_out(runtime::orchestration::Request request);
  std::optional<Choice> carry_out(runtime::worker::Request request);
  std::optional<Choice> carry_out(TurnAnswer answer);
  std::optional<Choice> carry_out(WorkAnswer answer);
  std::optional<Choice> carry_out(Started started);
  std::optional<Choice> carry_out(Choice choice);
  void collect();
  void ask(Timestamp at);
  bool answer_awaits(bool all);
  void apply_effects();

  std::shared_ptr<Provider> store_;
  runtime::ProviderCalls provider_;
  std::string id_;
  std::shared_ptr<runtime::TurnProcessor> turns_;
  runtime::OrchestrationDispatcher orchestrations_;
  runtime::WorkerDispatcher activities_;
  Logger logger_;
  runtime::ClockJumps jumps_;
  Milliseconds clock_offset_{0};
  bool holds_updates_ = false;
  std::vector<Choice> choices_;
  std::optional<AwaitTurns> await_turns_;
  std::optional<AwaitActivities> await_activities_;
  std::optional<WatchActivities> watch_activities_;
  std::map<runtime::RunId, std::weak_ptr<perdure::detail::ActivityCall>> calls_;
  // What asynchronous completions, which may come from anywhere, leave for the next step.
  struct Inbox;
  std::shared_ptr<Inbox> inbox_;

  SteppedNode(std::shared_ptr<Provider> store, runtime::Node node, const RuntimeOptions& options);
};

}  // namespace perdure::testing
