// Activities that a test completes, and what each of their attempts found.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lifecycles/programs.h"

namespace perdure::test {

struct HeldAttempt {
  ActivityContext context;
  ActivityCompletion<std::string> completion;

  // "2 after half": the number of the attempt, and the details that it found.
  [[nodiscard]] std::string found() const {
    return std::to_string(context.attempt()) + " after " + context.last_heartbeat<std::string>().value_or("nothing");
  }
};

using HeldAttempts = std::shared_ptr<std::vector<HeldAttempt>>;

// Registers "Held": every attempt waits for its completion.
inline void add_held(Registry& registry, const HeldAttempts& attempts) {
  registry.add_async_activity("Held", [attempts](ActivityContext context, ActivityCompletion<std::string> completion) {
    attempts->push_back({std::move(context), std::move(completion)});
  });
}

}  // namespace perdure::test
