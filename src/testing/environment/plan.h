// Plan: what a test wants to be called at virtual times, in their order and, at equal times, in the order of planning.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <perdure/activity_context.h>
#include <perdure/types.h>

namespace perdure::testing {

// An activity, whichever attempt at it.
struct ActivityIdentity {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  EventId activity_id = 0;
  auto operator<=>(const ActivityIdentity&) const = default;
};

class Plan {
 public:
  using Call = std::shared_ptr<perdure::detail::ActivityCall>;
  struct Entry {
    std::function<void()> function;
    Call owner;                   // the activity that planned it, and waits for virtual time by that; or null
    bool only_for_owner = false;  // it is void when nobody waits for the owner any more
    bool comes_first = false;     // it was planned for a later moment, and comes before everything else of that moment
  };

  void add(Timestamp at, Entry entry);
  // Timestamp::max(): never.
  [[nodiscard]] Timestamp next();
  [[nodiscard]] std::optional<Entry> take_due(Timestamp now);
  // Something that this activity planned is still to come.
  [[nodiscard]] bool has_of(const ActivityIdentity& owner) const { return owners_.contains(owner); }
  // The process is gone, and with it what was void without its activities. The rest is the world outside, and comes.
  void disown();

 private:
  using Entries = std::multimap<Timestamp, Entry>;

  void erase(Entries::iterator entry);
  void erase_void_ones_at_the_front();

  Entries entries_;
  std::multiset<ActivityIdentity> owners_;
};

[[nodiscard]] ActivityIdentity identity_of(const perdure::detail::ActivityCall& call);

}  // namespace perdure::testing
