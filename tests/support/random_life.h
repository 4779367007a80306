// The whole life of one random instance: a program and a world from one seed, turn after turn and execution after
// execution until it ends, with every rule checked on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replay/live_instance.h"
#include "support/random_outside.h"
#include "support/random_program.h"
#include "support/turn_rules.h"

namespace perdure::test {

// An instance and what its code saw.
class Witness {
 public:
  Witness(const std::shared_ptr<const Block>& program, ExecutionId execution, const KeyValueSnapshot& key_values,
          const Limits& limits);
  Observations seen;  // first: the instance's code writes to it until it is gone
  LiveInstance instance;
};

struct LivedTurn {
  TurnRequest request;
  TurnOutcome outcome;
  std::size_t events_before = 0;
};

struct LivedExecution {
  ExecutionId id = kFirstExecutionId;
  KeyValueSnapshot key_values;  // at its beginning
  std::vector<Event> history;   // as it comes back from a store
  std::vector<LivedTurn> turns;
};

class RandomLife {
 public:
  enum class Memory : std::uint8_t {
    kKept,     // the instance stays in memory
    kDoubted,  // every turn is also taken by an instance that is rebuilt, and sometimes the kept one is lost
  };
  RandomLife(std::uint64_t seed, Memory memory);

  [[nodiscard]] Broken live();

  [[nodiscard]] const std::vector<LivedExecution>& executions() const noexcept { return executions_; }
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] std::unique_ptr<Witness> witness(const LivedExecution& execution) const;
  // All executions as text, byte for byte.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] Broken live_execution(std::vector<Message> batch, LivedExecution& execution);
  [[nodiscard]] Broken take_turn(std::vector<Message> batch, LivedExecution& execution);
  [[nodiscard]] Broken check_after_the_end(LivedExecution& execution);

  Memory memory_;
  Limits limits_;
  RandomOutside outside_;
  Dice fate_;  // of the kept instance: it must not influence the world
  std::shared_ptr<const Block> program_;
  std::vector<LivedExecution> executions_;
  std::unique_ptr<Witness> kept_;
  TurnRules turn_rules_;
  ChannelRules channel_rules_;
  Timestamp now_{Milliseconds(1'700'000'000'000)};
};

// The key values as the next execution finds them.
[[nodiscard]] KeyValueSnapshot key_values_after(const LivedExecution& execution);

}  // namespace perdure::test
