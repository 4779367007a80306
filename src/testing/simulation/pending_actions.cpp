#include "testing/simulation/pending_actions.h"

#include <algorithm>
#include <chrono>

namespace perdure::testing::simulation {

namespace {

constexpr Milliseconds kFirstAgainAfter = std::chrono::seconds(1);
constexpr Milliseconds kLastAgainAfter = std::chrono::hours(24 * 7);

}  // namespace

PendingActions::PendingActions(std::vector<ClientAction> actions) {
  actions_.reserve(actions.size());
  for (ClientAction& action : actions) actions_.push_back({std::move(action), kFirstAgainAfter});
}

std::size_t PendingActions::due(Timestamp now) const {
  return static_cast<std::size_t>(
      std::count_if(actions_.begin(), actions_.end(), [now](const Action& each) { return each.what.at <= now; }));
}

std::size_t PendingActions::position(std::size_t index, Timestamp now) const {
  const auto found = std::find_if(actions_.begin(), actions_.end(),
                                  [&](const Action& each) { return each.what.at <= now && index-- == 0; });
  return static_cast<std::size_t>(found - actions_.begin());
}

const ClientAction& PendingActions::due_action(std::size_t index, Timestamp now) const {
  return actions_.at(position(index, now)).what;
}

void PendingActions::settle(std::size_t index, Timestamp now, bool done) {
  const std::size_t at = position(index, now);
  if (done) {
    actions_.erase(actions_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  Action& action = actions_.at(at);
  action.what.at = now + action.again_after;
  action.again_after = std::min(action.again_after * 2, kLastAgainAfter);
}

Timestamp PendingActions::next_moment() const {
  Timestamp next = Timestamp::max();
  for (const Action& action : actions_) next = std::min(next, action.what.at);
  return next;
}

bool PendingActions::all_in_vain() const {
  return std::all_of(actions_.begin(), actions_.end(),
                     [](const Action& action) { return action.again_after == kLastAgainAfter; });
}

std::string PendingActions::describe() const {
  std::string text;
  for (const Action& action : actions_) text += "; a client still wants to " + action.what.what;
  return text;
}

}  // namespace perdure::testing::simulation
