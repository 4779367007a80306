#include "testing/simulation/cluster.h"

#include <algorithm>
#include <utility>

namespace perdure::testing::simulation {

Cluster::Cluster(std::size_t nodes, int generation, std::shared_ptr<Provider> store, Code code, std::uint64_t seed,
                 RunLog& log)
    : store_(std::move(store)), code_(std::move(code)), dice_(seed), log_(log), members_(nodes) {
  for (std::size_t place = 0; place < nodes; ++place) {
    members_[place].name = "node " + std::to_string(place);
    members_[place].generation = generation;
    start(place);
  }
}

void Cluster::start(std::size_t place) {
  Member& member = members_[place];
  // The process before this one may have been left with locks that it could not know of.
  if (member.line) hinder(member, member.line->misled_at());
  member.line = std::make_shared<NodeStore>(store_);
  member.line->set_refusal(refusal_);
  member.line->set_witness(code_.witness);
  member.node = std::make_unique<SteppedNode>(member.line, code_.registry(member.generation),
                                              code_.options(place, member.generation), dice_.next());
}

void Cluster::stop(Member& member) {
  if (!member.node) return;
  const std::string id = member.node->id();
  member.node.reset();
  code_.ended(id);
}

void Cluster::say(const Member& member, Timestamp now, const std::string& text) {
  log_.begin(member.name);
  log_.add(now, text);
}

void Cluster::wake(Timestamp now) {
  if (refuses_until_ && *refuses_until_ <= now) {
    refuse(Refusal::kNone, now);
    refuses_until_.reset();
    log_.begin("");
    log_.add(now, "the store works again");
  }
  for (std::size_t place = 0; place < members_.size(); ++place) {
    Member& member = members_[place];
    if (!member.node && member.back_at <= now) {
      start(place);
      say(member, now, "starts with code of generation " + std::to_string(member.generation));
    }
    if (member.paused && *member.paused <= now) {
      member.paused.reset();
      say(member, now, "goes on");
    }
    if (member.cut_off && *member.cut_off <= now) {
      member.cut_off.reset();
      member.line->set_reachable(true);
      say(member, now, "reaches the store again");
    }
    if (member.wrong_clock && *member.wrong_clock <= now) {
      member.wrong_clock.reset();
      if (member.node) member.node->set_clock_offset(Milliseconds(0));
      say(member, now, "has the right time again");
    }
    if (member.leaving && member.node && member.node->choices() == 0 && member.node->idle()) {
      member.leaving = false;
      stop(member);
      member.back_at = now;
    }
  }
}

std::vector<Cluster::Choice> Cluster::choices() {
  std::vector<Choice> all;
  for (std::size_t place = 0; place < members_.size(); ++place) {
    if (!is_working(place)) continue;
    const std::size_t count = node(place).choices();
    for (std::size_t choice = 0; choice < count; ++choice) all.push_back({place, choice});
  }
  return all;
}

Timestamp Cluster::next_moment() const {
  Timestamp next = refuses_until_.value_or(Timestamp::max());
  for (const Member& member : members_) {
    if (!member.node) {
      next = std::min(next, member.back_at);
    } else if (member.paused) {
      next = std::min(next, *member.paused);
    } else {
      next = std::min(next, member.node->wake_at());
    }
    if (member.cut_off) next = std::min(next, *member.cut_off);
    if (member.wrong_clock) next = std::min(next, *member.wrong_clock);
  }
  return next;
}

bool Cluster::is_whole() const {
  return !refuses_until_ && std::all_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.node && !member.paused && !member.cut_off && !member.wrong_clock && !member.leaving;
  });
}

int Cluster::latest_generation() const {
  int latest = 0;
  for (const Member& member : members_) latest = std::max(latest, member.generation);
  return latest;
}

void Cluster::crash(std::size_t place, Timestamp back_at) {
  Member& member = members_[place];
  stop(member);
  hinder(member, back_at);
  member.back_at = back_at;
  member.paused.reset();
  member.cut_off.reset();
  member.wrong_clock.reset();
  member.leaving = false;
}

void Cluster::pause(std::size_t place, Timestamp until) {
  members_[place].paused = until;
  hinder(members_[place], until);
}

void Cluster::cut_off(std::size_t place, Timestamp until) {
  members_[place].cut_off = until;
  hinder(members_[place], until);
  members_[place].line->set_reachable(false);
}

void Cluster::refuse(Refusal refusal, Timestamp until) {
  refusal_ = refusal;
  refuses_until_ = until;
  hinder_all(until);
  for (Member& member : members_) {
    if (member.line) member.line->set_refusal(refusal);
  }
}

void Cluster::set_clock(std::size_t place, Milliseconds offset, Timestamp until) {
  members_[place].wrong_clock = until;
  hinder(members_[place], until);
  members_[place].node->set_clock_offset(offset);
}

void Cluster::upgrade(std::size_t place, bool in_good_order, Timestamp now) {
  Member& member = members_[place];
  ++member.generation;
  if (!in_good_order) return crash(place, now);
  hinder(member, now);
  member.leaving = true;
  member.node->drain();
  member.node->stop_activities();
}

void Cluster::hinder(Member& member, Timestamp until) {
  member.hindered = std::max(member.hindered, until);
  if (member.line) member.line->hinder();
}

void Cluster::hinder_all(Timestamp until) {
  for (Member& member : members_) hinder(member, until);
}

bool Cluster::was_hindered(const std::string& id, Timestamp since) const {
  const auto member = std::find_if(members_.begin(), members_.end(),
                                   [&](const Member& each) { return each.node && each.node->id() == id; });
  return member == members_.end() || std::max(member->hindered, member->line->misled_at()) >= since;
}

std::vector<std::string> Cluster::running_activities(Timestamp unhindered_since) const {
  std::vector<std::string> all;
  for (const Member& member : members_) {
    if (!member.node || std::max(member.hindered, member.line->misled_at()) >= unhindered_since) continue;
    for (const std::string& activity : member.node->running_activities()) all.push_back(member.name + ": " + activity);
  }
  return all;
}

void Cluster::end() {
  for (Member& member : members_) stop(member);
}

}  // namespace perdure::testing::simulation
