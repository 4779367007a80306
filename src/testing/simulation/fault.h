// Fault: what can go wrong in a simulated cluster, and how often it did.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perdure::testing::simulation {

enum class Fault : std::uint8_t {
  kCrash,        // a node dies, and comes back later
  kCrashInCall,  // a node dies when the store has done what it asked, before it hears of it
  kLostAnswer,   // the store did what it was asked, and the node hears an error
  kStoreError,   // the store does nothing and answers an error
  kRepeated,     // a request reaches the store twice, and the second answer comes back
  kSlowCall,     // time passes between what the store did and its answer, other nodes go on
  kOutage,       // a node cannot reach the store for a while
  kPause,        // a node stands still, longer than its locks hold, and goes on as if nothing had been
  kTimeJump,     // time jumps for everybody: locks end, timers fall due together
  kClockOffset,  // the clock of a node is wrong for a while
  kUpgrade,      // a node is replaced by one with a newer version of the code
  kDamage,       // a stored event cannot be read any more
  kClockStep,    // the source of the store's time is set, back or forward
  kStoreOutage,  // for up to an hour the store refuses some or all calls of every node as failed
};
inline constexpr std::size_t kFaultKinds = 14;
// Faults that may strike at any step. The others have a step of their own (Scenery), so that they do not change the
// random choices for these.
inline constexpr std::size_t kThrownFaults = kFaultKinds - 2;

[[nodiscard]] std::string_view to_string(Fault fault) noexcept;

using FaultSet = std::bitset<kFaultKinds>;
using FaultCounts = std::array<std::size_t, kFaultKinds>;

[[nodiscard]] inline bool contains(const FaultSet& set, Fault fault) {
  return set[static_cast<std::size_t>(fault)];
}
// The other faults that strike calls need a node, and wait for its next call.
[[nodiscard]] inline bool strikes_clients(Fault fault) noexcept {
  return fault == Fault::kStoreError || fault == Fault::kRepeated || fault == Fault::kLostAnswer;
}
// "crash,pause"; "all"; "none". Throws std::invalid_argument that lists the names there are.
[[nodiscard]] FaultSet parse_faults(std::string_view list);
// The other way round.
[[nodiscard]] std::string to_string(const FaultSet& set);

}  // namespace perdure::testing::simulation
