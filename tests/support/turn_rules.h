// Rules that every turn of every orchestration keeps, checked from its values alone and without the engine's own
// bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <perdure/event.h>
#include <perdure/limits.h>
#include "replay/turn.h"
#include "support/random_program.h"

namespace perdure::test {

// A rule that was broken, in a sentence; nothing if all is well.
using Broken = std::optional<std::string>;

// The turn of an execution that the engine ended: its code did not run, or what it did was discarded.
[[nodiscard]] bool ended_without_code(const std::vector<Event>& turn);

// How two outcomes of the same turn differ.
[[nodiscard]] Broken difference(const TurnOutcome& one, const TurnOutcome& other);

// The events of a turn and what leaves with it: numbering, order, nothing twice, every decision sent or withheld.
class TurnRules {
 public:
  [[nodiscard]] Broken check(const TurnRequest& request, const TurnOutcome& outcome, bool has_parent);

 private:
  struct Sent {
    std::set<EventId> activities;
    std::set<EventId> timers;
    std::set<EventId> children;
    std::multiset<std::string> detached;
    int to_parent = 0;
    int continued = 0;
  };
  [[nodiscard]] Broken check_order(const TurnRequest& request, const TurnOutcome& outcome);
  [[nodiscard]] Broken check_sources(const Event& event);
  [[nodiscard]] Broken check_inputs(const TurnRequest& request, const TurnOutcome& outcome) const;
  [[nodiscard]] Broken check_sent(const TurnOutcome& outcome, const Sent& sent, bool has_parent) const;
  [[nodiscard]] Broken check_cancelled(const TurnOutcome& outcome, EventId first_new) const;
  [[nodiscard]] Broken check_cancelled_child(const std::string& child, EventId first_new) const;

  std::vector<Event> history_;
  std::optional<std::string> custom_status_;
  std::set<EventId> settled_;
  std::set<EventId> cancel_requested_;
};

// Events and queue messages reach whom they are meant for, nothing is lost, and a join waits for all: an account of
// what came in and what the code saw of it.
class ChannelRules {
 public:
  explicit ChannelRules(const Limits& limits = {}) : limits_(limits) {}
  [[nodiscard]] Broken check(const TurnOutcome& outcome, const Observations& seen);

 private:
  struct Arrival {
    std::string data;
    bool taken;
    bool first_input;
  };
  [[nodiscard]] Broken check_events(const TurnOutcome& outcome, const Observations& seen);
  [[nodiscard]] Broken give(const std::string& name, const std::vector<Arrival>& arrivals, bool dropped);
  [[nodiscard]] Broken check_queues(const TurnOutcome& outcome, const Observations& seen);
  [[nodiscard]] Broken check_joins(const TurnOutcome& outcome, const Observations& seen);
  using Unread = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Unread unread() const;
  [[nodiscard]] bool may_be_carried(const Unread& unread) const;
  [[nodiscard]] Broken check_carried(const TurnOutcome& outcome) const;

  Limits limits_;
  std::map<std::string, std::set<EventId>> open_waits_;
  std::set<std::string> unknown_;            // names of which this account cannot know who got what
  std::map<EventId, std::string> expected_;  // what a subscription must receive
  std::map<EventId, std::string> wait_names_;
  EventId waited_before_ = 0;  // an open wait with a smaller id must take an event of this turn
  std::vector<std::pair<std::string, std::string>> delivered_;  // queue, message
  std::set<std::string> read_;
  std::size_t reads_seen_ = 0;
  std::set<EventId> settled_;
  std::size_t joined_seen_ = 0;
};

// Of every select, the part with the earliest event won.
[[nodiscard]] Broken check_selections(const std::vector<Event>& history, const Observations& seen);

}  // namespace perdure::test
