// Sessions: which worker the activities of a session go to, and for how long.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

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
  // How many sessions an owner holds, and when it loses the first of them if it does nothing.
  struct Holding {
    std::size_t sessions = 0;
    Timestamp first_end = Timestamp::max();
  };
  [[nodiscard]] Holding held_by(const std::string& owner, Timestamp now) const;
  // Claims or extends it.
  void claim(const std::string& session, const SessionFetch& claimant, Timestamp now);
  // Counts as use, if somebody holds it.
  void use(const std::optional<std::string>& session, Timestamp now);

  // Extends the sessions that these owners hold and used within `idle_timeout`, and releases their other sessions;
  // returns how many it extended.
  std::size_t renew(std::span<const std::string> owners, Milliseconds extend_for, Milliseconds idle_timeout,
                    Timestamp now);
  // Forgets what nobody holds and no activity needs; answers how many.
  std::size_t forget_unused(const std::function<bool(const std::string&)>& is_needed, Timestamp now);

 private:
  using Order = std::set<std::pair<Timestamp, std::string>>;  // (locked_until, session)

  [[nodiscard]] const Order& order_of(const std::string& owner) const;
  // The one whose lock ends first; those before it are held by nobody.
  [[nodiscard]] static Order::const_iterator first_held(const Order& order, Timestamp now);
  void remove_from_order(const std::string& id, const Session& session);

  std::map<std::string, Session> sessions_;
  std::map<std::string, Order> by_owner_;  // what each has claimed and nobody took over, held or not
};

}  // namespace perdure::memory
