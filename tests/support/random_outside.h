// The world around one instance, made from a seed: it remembers what the instance asked for and answers in batches,
// late, twice, in any order, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <perdure/message.h>
#include "replay/turn.h"
#include "support/dice.h"

namespace perdure::test {

inline constexpr const char* kInstance = "random";
// In every error of an operation that the code had dropped before.
inline constexpr const char* kOfGivenUp = "of what was given up";

class RandomOutside {
 public:
  explicit RandomOutside(std::uint64_t seed);

  // The message that begins the first execution, with anything around it.
  [[nodiscard]] std::vector<Message> first_batch();
  // After a continue-as-new: its message, with anything around it.
  [[nodiscard]] std::vector<Message> batch_around(const Message& start, ExecutionId execution);
  // One to eight messages of all kinds.
  [[nodiscard]] std::vector<Message> batch(ExecutionId execution);
  // Answers all that is open: every operation succeeds, every event is raised, every queue gets a message.
  [[nodiscard]] std::vector<Message> answer_everything(ExecutionId execution);
  // Learns what a turn asked for.
  void took(const TurnOutcome& outcome, ExecutionId execution);

  [[nodiscard]] bool has_parent() const noexcept { return has_parent_; }
  [[nodiscard]] Dice& dice() noexcept { return dice_; }

 private:
  enum class What : std::uint8_t { kActivity, kTimer, kChild };
  struct Open {
    What what;
    ExecutionId execution;
    EventId id;
  };

  void forget_some(ExecutionId execution, const std::vector<EventId>& cancelled);
  [[nodiscard]] Message answer(const Open& open);
  [[nodiscard]] Message succeed(const Open& open);
  [[nodiscard]] Message fail(const Open& open);
  [[nodiscard]] ErrorDetails error_for_nobody();
  [[nodiscard]] Message any_message(ExecutionId execution);
  [[nodiscard]] Message disturbance(ExecutionId execution);
  [[nodiscard]] Message start();
  [[nodiscard]] Message event(std::size_t name);
  [[nodiscard]] Message queue_message(std::size_t name);
  [[nodiscard]] std::string unique(const char* prefix);

  Dice dice_;
  bool has_parent_;
  bool peaceful_;  // no cancel, no terminate, no foreign completion: most programs shall come to their end
  std::vector<Open> open_;
  std::set<std::pair<ExecutionId, EventId>> dropped_;
  std::size_t count_ = 0;
};

}  // namespace perdure::test
