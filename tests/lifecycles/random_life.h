// The workflow of the random lifecycles. Its actions follow from its plan, and every result carries its generation,
// which no other start has.
#pragma once

#include <cstdint>
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "lifecycles/life_ledger.h"

namespace perdure::test {

// How an instance came to be.
inline constexpr const char* kTopLevel = "top level";
inline constexpr const char* kAwaitedChild = "child";
inline constexpr const char* kDetachedChild = "detached child";

// The beginnings of the reasons that clients give when they end an instance; only clients use them. Each reason goes on
// with the id and the number of the request.
inline constexpr const char* kClientCancels = "a client cancels ";
inline constexpr const char* kClientTerminates = "a client terminates ";
// How an instance fails by its own choice, before its generation.
inline constexpr const char* kOwnFailure = "own failure of ";
// How it fails if it was given something that is not its own.
inline constexpr const char* kViolation = "VIOLATION";
// How an attempt of "Echo" fails by its own choice.
inline constexpr const char* kFailsThisTime = "fails this time";

struct LifePlan {
  std::string generation;
  std::uint64_t seed = 0;
  std::string prefix;  // of the ids that all instances of a seed share
  std::string origin = kTopLevel;
  std::string id;      // of the instance that this is meant for; empty: the one that the engine makes for a child
  std::string parent;  // id of the parent; empty: it has none
  int depth = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LifePlan, generation, seed, prefix, origin, id, parent, depth)

// The custom status of an instance, from its first turn on.
[[nodiscard]] std::string life_status(const LifePlan& plan);

// What an instance of "Life" completes with.
struct LifeOutput {
  std::string generation;
  std::string id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LifeOutput, generation, id)

// What clients send to instances of "Life": events, and messages of the queue "notes". An instance remembers the
// request in the values kLastEvent and kLastNote.
struct Note {
  std::string to;
  std::uint64_t request = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Note, to, request)
inline constexpr const char* kLastEvent = "event";
inline constexpr const char* kLastNote = "note";

// Input of the activity "Echo", which returns what it writes to the ledger as its key.
struct Echo {
  std::string generation;
  std::string prefix;
  std::uint32_t failures = 0;  // that many attempts fail
  bool detached = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Echo, generation, prefix, failures, detached)
struct Echoed {
  std::string generation;
  std::string key;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Echoed, generation, key)

// The ids that clients and parents fight for.
inline constexpr std::size_t kSharedIds = 5;
[[nodiscard]] std::string shared_id(const std::string& prefix, std::size_t number);
// Ids of instances of "Numbers" that children ask for, too.
inline constexpr std::size_t kContestedNumbers = 3;
[[nodiscard]] std::string contested_id(const std::string& prefix, std::size_t number);

// What an instance of "Numbers" has read of the queue "numbers" so far.
struct NumbersRead {
  int last = 0;
  int wanted = 0;  // from 1 to this one
  int sum = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NumbersRead, last, wanted, sum)

// An instance of "Chapters" continues as new until its last execution, and then ends like "Outcome".
struct Chapters {
  ExecutionId last = 1;
  std::string outcome;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Chapters, last, outcome)

enum class LifeNodeKind : std::uint8_t {
  kFast,      // with the fast path and a large cache
  kPlain,     // without the fast path, with a small cache; fetches only what it has code for
  kUncached,  // replays every turn
};
[[nodiscard]] const char* to_string(LifeNodeKind kind) noexcept;
// Throws std::invalid_argument.
[[nodiscard]] LifeNodeKind parse_life_node_kind(const std::string& text);
// Activities with such a tag run on such nodes only, and activities with kUnservedTag nowhere.
inline constexpr const char* kFastTag = "fast";
inline constexpr const char* kOtherTag = "other";
inline constexpr const char* kUnservedTag = "unserved";

// "Life": the plan. "Letter": completes with the first message of the queue "letters". "Numbers": reads the numbers
// from 1 on in their order, over several executions, and completes with their sum. "Outcome": completes with its input,
// or fails with it if it begins with kOwnFailure. "Chapters": see above. Plain nodes have no code for "Numbers".
[[nodiscard]] Registry life_registry(LifeNodeKind kind, const LifeLedger& ledger);

}  // namespace perdure::test
