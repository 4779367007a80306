// The orchestration "Interpret", which carries out programs, and the activities that it uses.
#pragma once

#include <memory>
#include <string_view>

#include <perdure/registry.h>
#include "testing/simulation/interpreter_ledger.h"

namespace perdure::testing::simulation {

inline constexpr std::string_view kInterpret = "Interpret";
inline constexpr std::string_view kFirstVersion = "1.0.0";
inline constexpr std::string_view kSecondVersion = "2.0.0";
// Some node must serve the first one, and none the second.
inline constexpr std::string_view kServedTag = "served";
inline constexpr std::string_view kUnservedTag = "unserved";
// An orchestration and an activity that no node has.
inline constexpr std::string_view kUnknown = "Unknown";
// An orchestration that each replay finds to be nondeterministic.
inline constexpr std::string_view kDiverge = "Diverge";
// Of "Interpret"; no node has it.
inline constexpr std::string_view kUnservedVersion = "9.9.9";
// The event that a program awaits if it never ends by itself.
inline constexpr std::string_view kNeverRaised = "what never comes";
// The queue that clients write to.
inline constexpr std::string_view kInbox = "inbox";

// The activities that there are. The names are theirs in histories too.
namespace activity {
inline constexpr std::string_view kEcho = "Echo";
inline constexpr std::string_view kFlaky = "Flaky";
inline constexpr std::string_view kFails = "Fails";
inline constexpr std::string_view kFailsForGood = "FailsForGood";
inline constexpr std::string_view kNever = "Never";
inline constexpr std::string_view kDrops = "Drops";
inline constexpr std::string_view kProgress = "Progress";
inline constexpr std::string_view kLater = "Later";
inline constexpr std::string_view kRelease = "Release";
inline constexpr std::string_view kRaise = "Raise";
inline constexpr std::string_view kEnqueue = "Enqueue";
inline constexpr std::string_view kGreet = "Greet";      // version 2.0.0 begins with it
inline constexpr std::string_view kRetired = "Retired";  // never ends by itself
}  // namespace activity

// Generation 0: version 1.0.0. Generation 1: 2.0.0 beside it, and the activity that is new there. It lacks "Retired".
[[nodiscard]] Registry interpreter_registry(const std::shared_ptr<Ledger>& ledger, int generation);
// Just the activities, which registers them.
void add_interpreter_activities(Registry& registry, const std::shared_ptr<Ledger>& ledger, int generation);

// The key that tells clients that a signal is waited for.
[[nodiscard]] std::string waiting_key(const std::string& token);

}  // namespace perdure::testing::simulation
