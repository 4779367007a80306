#include "replay/turn_executor.h"

#include <utility>

#include "replay/intake.h"
#include "replay/live_instance.h"

namespace perdure {

namespace {

class InProcessExecution final : public OpenExecution {
 public:
  InProcessExecution(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
                     KeyValueSnapshot key_values, const Limits& limits)
      : instance_(std::move(identity), std::move(handler), std::move(key_values), limits) {}

  void catch_up(std::span<const Event> events) override { instance_.replay(events); }
  TurnOutcome run_turn(const TurnRequest& request) override { return instance_.run_turn(request); }
  [[nodiscard]] EventId last_event_id() const override { return instance_.facts().next_event_id() - 1; }
  [[nodiscard]] const std::optional<ErrorDetails>& failure() const override { return instance_.failure(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return instance_.memory_bytes(); }
  [[nodiscard]] std::optional<SemanticVersion> code_version() const override { return instance_.identity().version; }

 private:
  LiveInstance instance_;
};

// What to run: history wins whenever it exists, so a second start cannot change it.
std::optional<NotRegistered> wanted(const OpenRequest& request) {
  if (!request.history.empty()) {
    const auto* start = std::get_if<events::OrchestrationStarted>(&request.history.front().body);
    return start ? NotRegistered{start->name, start->version} : NotRegistered{};
  }
  const auto start = find_start(request.messages);
  if (!start) return std::nullopt;
  return NotRegistered{start->name, start->version};
}

}  // namespace

InProcessTurnExecutor::InProcessTurnExecutor(HandlerResolver resolve, Limits limits)
    : resolve_(std::move(resolve)), limits_(limits) {}

std::optional<NotRegistered> InProcessTurnExecutor::missing_code(const OpenRequest& request) const {
  auto code = wanted(request);
  if (!code || resolve_(code->name, code->version)) return std::nullopt;
  return code;
}

OpenResult InProcessTurnExecutor::open(OpenRequest request) {
  auto code = wanted(request);
  if (!code) return NothingToRun{};
  auto resolved = resolve_(code->name, code->version);
  if (!resolved) return std::move(*code);
  auto execution = std::make_unique<InProcessExecution>(
      ExecutionIdentity{std::move(request.instance), request.execution, resolved->version, request.incarnation},
      std::move(resolved->handler), std::move(request.key_values), limits_);
  execution->catch_up(request.history);
  return std::unique_ptr<OpenExecution>(std::move(execution));
}

}  // namespace perdure
