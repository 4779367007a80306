#include "providers/memory/sessions.h"

#include <algorithm>

#include "providers/times.h"

namespace perdure::memory {

const Session* Sessions::holder(const std::string& session, Timestamp now) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.locked_until > now ? &found->second : nullptr;
}

void Sessions::claim(const std::string& session, const SessionFetch& claimant, Timestamp now) {
  sessions_[session] = {.owner = claimant.owner, .locked_until = shifted(now, claimant.lock_timeout), .last_use = now};
}

void Sessions::use(const std::optional<std::string>& session, Timestamp now) {
  if (session && holder(*session, now) != nullptr) sessions_[*session].last_use = now;
}

std::size_t Sessions::renew(std::span<const std::string> owners, Milliseconds extend_for, Milliseconds idle_timeout,
                            Timestamp now) {
  std::size_t renewed = 0;
  for (auto& [id, session] : sessions_) {
    if (session.locked_until <= now || shifted(session.last_use, idle_timeout) <= now) continue;
    if (std::find(owners.begin(), owners.end(), session.owner) == owners.end()) continue;
    session.locked_until = shifted(now, extend_for);
    ++renewed;
  }
  return renewed;
}

std::size_t Sessions::forget_unused(const std::function<bool(const std::string&)>& is_needed, Timestamp now) {
  return std::erase_if(sessions_,
                       [&](const auto& entry) { return entry.second.locked_until <= now && !is_needed(entry.first); });
}

}  // namespace perdure::memory
