// Sessions: which worker the activities of a session go to, and for how long.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include <perdure/fetch.h>
#include <perdure/types.h>

namespace perdure::memory {

struct Session {
  std::string owner;
  Timestamp locked_until{};
  Timestamp last_use{};
};

class Sessions {
 public:
  // Who holds it; null: nobody.
  [[nodiscard]] const Session* holder(const std::string& session, Timestamp now) const;
  // Claims or extends it.
  void claim(const std::string& session, const SessionFetch& claimant, Timestamp now);
  // Counts as use, if somebody holds it.
  void use(const std::optional<std::string>& session, Timestamp now);

  // Extends what these owners hold and have used within `idle_timeout`; answers how many.
  std::size_t renew(std::span<const std::string> owners, Milliseconds extend_for, Milliseconds idle_timeout,
                    Timestamp now);
  // Forgets what nobody holds and no activity needs; answers how many.
  std::size_t forget_unused(const std::function<bool(const std::string&)>& is_needed, Timestamp now);

 private:
  std::map<std::string, Session> sessions_;
};

}  // namespace perdure::memory
