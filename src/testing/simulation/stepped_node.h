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
  // When something can be done without an answer from outside; Timestamp::max(): never.
  [[nodiscard]] Timestamp wake_at() const;

  void drain();
  // Tells running activities to stop, and gives them back.
  void stop_activities();
  // Nothing is locked and nothing is under way.
  [[nodiscard]] bool idle() const { return orchestrations_.idle() && activities_.idle(); }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }

 private:
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
  using Choice = std::variant<runtime::orchestration::Request, runtime::worker::Request, Started>;

  void start(runtime::worker::Start start) override;
  void stop(runtime::RunId run) override;
  void replace_thread(runtime::RunId) override {}

  void carry_out(runtime::orchestration::Request request);
  void carry_out(runtime::worker::Request request);
  void carry_out(Started started);
  void collect();
  bool answer_awaits(bool all);
  void apply_effects();

  std::shared_ptr<Provider> store_;
  runtime::ProviderCalls provider_;
  std::string id_;
  std::shared_ptr<runtime::TurnProcessor> turns_;
  runtime::OrchestrationDispatcher orchestrations_;
  runtime::WorkerDispatcher activities_;
  Logger logger_;
  std::vector<Choice> choices_;
  std::optional<AwaitTurns> await_turns_;
  std::optional<AwaitActivities> await_activities_;
  std::map<runtime::RunId, std::weak_ptr<detail::ActivityCall>> calls_;
  // What asynchronous completions, which may come from anywhere, leave for the next step.
  struct Inbox;
  std::shared_ptr<Inbox> inbox_;

  SteppedNode(std::shared_ptr<Provider> store, runtime::Node node, const RuntimeOptions& options);
};

}  // namespace perdure::testing
