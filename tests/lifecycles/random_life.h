// The workflow of the random lifecycles. Its actions follow from its plan, and every result carries its generation,
// which no other start has.
#pragma once

#include <cstdint>
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace perdure::test {

// How an instance came to be; its custom status says it from the first turn on.
inline constexpr const char* kTopLevel = "top level";
inline constexpr const char* kAwaitedChild = "child";
inline constexpr const char* kDetachedChild = "detached child";

// The reasons that clients give when they end an instance; only clients use them.
inline constexpr const char* kClientCancels = "a client cancels it";
inline constexpr const char* kClientTerminates = "a client terminates it";
// How an instance fails by its own choice, before its generation.
inline constexpr const char* kOwnFailure = "own failure of ";
// How it fails if it was given something that is not its own.
inline constexpr const char* kViolation = "VIOLATION";

struct LifePlan {
  std::string generation;
  std::uint64_t seed = 0;
  std::string prefix;  // of the ids that all instances of a seed share
  std::string origin = kTopLevel;
  int depth = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LifePlan, generation, seed, prefix, origin, depth)

// The ids that clients and parents fight for.
inline constexpr std::size_t kSharedIds = 5;
[[nodiscard]] std::string shared_id(const std::string& prefix, std::size_t number);

// What an instance of "Numbers" has read of the queue "numbers" so far.
struct NumbersRead {
  int last = 0;
  int wanted = 0;  // from 1 to this one
  int sum = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NumbersRead, last, wanted, sum)

// "Life": the plan. "Letter": completes with the first message of the queue "letters". "Numbers": reads the numbers
// from 1 on in their order, over several executions, and completes with their sum. "Outcome": completes with its input,
// or fails with it if it begins with kOwnFailure. A plain node has no code for "Numbers".
[[nodiscard]] Registry life_registry(bool plain);

}  // namespace perdure::test
