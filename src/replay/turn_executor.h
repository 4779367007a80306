// TurnExecutor: runs turns of executions. The dispatcher sees nothing else of replay, so that another executor may run
// the code elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <perdure/event.h>
#include <perdure/message.h>
#include <perdure/orchestration_handler.h>
#include "replay/key_values.h"
#include "replay/turn.h"

namespace perdure {

// One execution that is ready for its next turn. It may be kept between turns (and then equals a rebuilt one), and has
// to be thrown away when an outcome of it could not be committed.
class OpenExecution {
 public:
  virtual ~OpenExecution() = default;
  // Applies turns that somebody else has committed since.
  virtual void catch_up(std::span<const Event> events) = 0;
  [[nodiscard]] virtual TurnOutcome run_turn(const TurnRequest& request) = 0;
  [[nodiscard]] virtual EventId last_event_id() const = 0;
  // Why its history and its code do not fit; the next turn will end the execution with it.
  [[nodiscard]] virtual const std::optional<ErrorDetails>& failure() const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
  // Of its code, for logs.
  [[nodiscard]] virtual std::optional<SemanticVersion> code_version() const { return std::nullopt; }

 protected:
  OpenExecution() = default;
  OpenExecution(const OpenExecution&) = default;
  OpenExecution& operator=(const OpenExecution&) = default;
};

struct OpenRequest {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  std::uint64_t incarnation = 0;      // of the instance
  std::span<const Event> history;     // empty: the execution begins
  std::span<const Message> messages;  // where its start is looked for if it begins; they are not consumed
  KeyValueSnapshot key_values;        // as of the end of the previous execution
};

// The code is not here.
struct NotRegistered {
  std::string name;
  std::optional<SemanticVersion> version;  // absent: none was asked for
};
// Neither a history nor a start: messages for an instance that does not exist.
struct NothingToRun {};

using OpenResult = std::variant<std::unique_ptr<OpenExecution>, NotRegistered, NothingToRun>;

class TurnExecutor {
 public:
  virtual ~TurnExecutor() = default;
  // Rebuilds the execution from its history, or prepares a new one. History decides name and version when there is one.
  [[nodiscard]] virtual OpenResult open(OpenRequest request) = 0;
  // Returns the code that open() would not find. Returns std::nullopt if it would find it, or cannot tell.
  [[nodiscard]] virtual std::optional<NotRegistered> missing_code(const OpenRequest&) const { return std::nullopt; }

 protected:
  TurnExecutor() = default;
  TurnExecutor(const TurnExecutor&) = default;
  TurnExecutor& operator=(const TurnExecutor&) = default;
};

// By name and, if given, exact version; without a version by policy.
using HandlerResolver = std::function<std::optional<ResolvedOrchestration>(
    const std::string& name, const std::optional<SemanticVersion>& version)>;

// Runs the code in this process.
class InProcessTurnExecutor final : public TurnExecutor {
 public:
  explicit InProcessTurnExecutor(HandlerResolver resolve, Limits limits = {});
  [[nodiscard]] OpenResult open(OpenRequest request) override;
  [[nodiscard]] std::optional<NotRegistered> missing_code(const OpenRequest& request) const override;

 private:
  HandlerResolver resolve_;
  Limits limits_;
};

}  // namespace perdure
