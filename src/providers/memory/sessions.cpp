#include "providers/memory/sessions.h"

#include <iterator>
#include <vector>

#include "model/planted_fault.h"
#include "providers/times.h"

namespace perdure::memory {

const Session* Sessions::holder(const std::string& session, Timestamp now) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.locked_until > now ? &found->second : nullptr;
}

Sessions::Holding Sessions::held_by(const std::string& owner, Timestamp now) const {
  const Order& order = order_of(owner);
  const auto first = first_held(order, now);
  if (first == order.end()) return {};
  return {.sessions = static_cast<std::size_t>(std::distance(first, order.end())), .first_end = first->first};
}

void Sessions::claim(const std::string& session, const SessionFetch& claimant, Timestamp now) {
  Session& claimed = sessions_[session];
  remove_from_order(session, claimed);
  claimed = {.owner = claimant.owner, .locked_until = shifted(now, claimant.lock_timeout), .last_use = now};
  by_owner_[claimed.owner].emplace(claimed.locked_until, session);
}

void Sessions::use(const std::optional<std::string>& session, Timestamp now) {
  if (session && holder(*session, now) != nullptr) sessions_[*session].last_use = now;
}

std::size_t Sessions::renew(std::span<const std::string> owners, Milliseconds extend_for, Milliseconds idle_timeout,
                            Timestamp now) {
  std::size_t renewed = 0;
  for (const std::string& owner : std::set<std::string>(owners.begin(), owners.end())) {
    const Order& order = order_of(owner);
    const std::vector<Order::value_type> held(first_held(order, now), order.end());
    for (const auto& [end, id] : held) {
      Session& session = sessions_.at(id);
      if (planted(PlantedFault::kOneSessionRenewed) && renewed > 0) break;
      const bool idle = shifted(session.last_use, idle_timeout) <= now;
      remove_from_order(id, session);
      session.locked_until = idle ? now : shifted(now, extend_for);
      by_owner_[owner].emplace(session.locked_until, id);
      if (!idle) ++renewed;
    }
  }
  return renewed;
}

std::size_t Sessions::forget_unused(const std::function<bool(const std::string&)>& is_needed, Timestamp now) {
  return std::erase_if(sessions_, [&](const auto& entry) {
    const auto& [id, session] = entry;
    if (session.locked_until > now || is_needed(id)) return false;
    remove_from_order(id, session);
    return true;
  });
}

const Sessions::Order& Sessions::order_of(const std::string& owner) const {
  static const Order kNone;
  const auto order = by_owner_.find(owner);
  return order == by_owner_.end() ? kNone : order->second;
}

Sessions::Order::const_iterator Sessions::first_held(const Order& order, Timestamp now) {
  return order.lower_bound({shifted(now, Milliseconds{1}), std::string()});
}

void Sessions::remove_from_order(const std::string& id, const Session& session) {
  const auto order = by_owner_.find(session.owner);
  if (order == by_owner_.end()) return;
  order->second.erase({session.locked_until, id});
  if (order->second.empty()) by_owner_.erase(order);
}

}  // namespace perdure::memory
