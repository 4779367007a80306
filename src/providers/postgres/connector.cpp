#include "providers/postgres/connector.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace perdure::postgres {

namespace {

// One look in twenty misses a pooler that other clients use at the time.
constexpr int kLooksAtServer = 2;
constexpr int kLooksAtPooler = 16;
constexpr int kLooksAtKnownPooler = 6;
constexpr int kMostQuestions = 3;

// The number of a process can be used again. The server hides the start of a session from other users.
constexpr const char* kName = "pid || '/' || (extract(epoch FROM backend_start) * 1000000)::bigint";

// Without names: the session of the connection alone.
std::string survey_text(const std::vector<std::string>& names) {
  std::string list = "''";
  for (const std::string& name : names) list += ", '" + name + "'";
  return "SELECT pg_backend_pid() || coalesce((SELECT string_agg(' ' || name, '') FROM (SELECT pid, " +
         std::string(kName) + " AS name FROM pg_stat_activity) sessions WHERE pid = pg_backend_pid() OR name IN (" +
         list + ")), '')";
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words{""};
  for (const char letter : text) {
    if (letter == ' ') {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  return words;
}

// No other client sends this text: the process number is unique among the clients of a pooler.
std::string marked_statement(const Connection& connection, int look) {
  return "SELECT pg_backend_pid() /* look " + std::to_string(look) + " of client " +
         std::to_string(connection.server_process()) + " */";
}

// True if the client that asks has the session itself, or if the last statement in the session is not the expected
// one. The server may hide a statement or record none.
std::string is_used_by_others(const std::string& session, const std::string& expected_statement) {
  return "SELECT pg_backend_pid() = " + session + " OR EXISTS (SELECT FROM pg_stat_activity WHERE pid = " + session +
         " AND query NOT IN ('', '<insufficient privilege>', '" + expected_statement + "'))";
}

// The second connection of a check. One with a limit is not required and leaves the check when it fails: in a pool that
// shares its sessions one is free soon, because transactions are short.
class Onlooker {
 public:
  Onlooker(const ConnectionOptions& options, std::optional<Milliseconds> limit, Deadline deadline)
      : is_required_(!limit), deadline_(deadline) {
    if (limit) {
      const auto now = std::chrono::steady_clock::now();
      deadline_ = std::min(deadline_after(*limit), now + (deadline - now) / 2);
    }
    attempt([&] { connection_.emplace(options, deadline_); });
  }
  [[nodiscard]] bool sees_use(const std::string& session, const std::string& expected_statement) {
    bool is_used = false;
    if (connection_) {
      attempt(
          [&] { is_used = connection_->execute(is_used_by_others(session, expected_statement), deadline_) == "t"; });
    }
    return is_used;
  }

 private:
  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (const PostgresError&) {
      if (is_required_) throw;
      connection_.reset();
    }
  }

  bool is_required_;
  Deadline deadline_;
  std::optional<Connection> connection_;
};

// A pooler in transaction mode gives a session to each transaction. The session of this connection then becomes another
// one, or another client uses it. Every statement here is a transaction of its own and sets nothing.
//
// A pooler that hands out its sessions in turn could return each connection to its own session in every look. The
// number of questions therefore differs from look to look.
bool is_shared(Connection& connection, const std::string& session, Onlooker& onlooker, int looks, Deadline deadline) {
  for (int look = 0; look < looks; ++look) {
    const std::string statement = marked_statement(connection, look);
    if (connection.execute(statement, deadline) != session) return true;
    for (int asked = 0; asked <= look % kMostQuestions; ++asked) {
      if (onlooker.sees_use(session, statement)) return true;
    }
  }
  return false;
}

}  // namespace

// The right to make a connection behind a pooler.
class Connector::Turn {
 public:
  Turn(Connector& connector, Deadline deadline) : connector_(connector) {
    std::unique_lock lock(connector_.mutex_);
    if (!connector_.turn_ended_->wait_until(lock, deadline, [this] { return !connector_.has_turn_; })) {
      throw PostgresError("08001", "the pooler did not respond to other connections of this process in time");
    }
    connector_.has_turn_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    {
      const std::scoped_lock guard(connector_.mutex_);
      connector_.has_turn_ = false;
    }
    connector_.turn_ended_->notify_one();
  }

 private:
  Connector& connector_;
};

bool Connector::is_behind_pooler() {
  const std::scoped_lock guard(mutex_);
  return behind_pooler_;
}

std::unique_ptr<Connection> Connector::connect(const ConnectionOptions& options, Deadline deadline) {
  std::optional<Turn> turn;
  if (is_behind_pooler()) turn.emplace(*this, deadline);
  auto connection = std::make_unique<Connection>(options, deadline);
  Survey found = survey(*connection, deadline);
  if (found.is_pooler && !turn) {
    turn.emplace(*this, deadline);
    found = survey(*connection, deadline);  // other connections may have been checked before this turn
  }
  check(*connection, options, std::move(found), deadline);
  connection->set_up(options.schema, deadline);
  return connection;
}

void Connector::check(Connection& connection, const ConnectionOptions& options, Deadline deadline) {
  check(connection, options, survey(connection, deadline), deadline);
}

void Connector::forget() noexcept {
  const std::scoped_lock guard(mutex_);
  checked_.clear();
}

Connector::Survey Connector::survey(Connection& connection, Deadline deadline) {
  std::vector<std::string> names;
  {
    const std::scoped_lock guard(mutex_);
    names = checked_;
  }
  std::vector<std::string> words = words_of(connection.execute(survey_text(names), deadline));
  Survey found;
  found.session = std::move(words.front());
  words.erase(words.begin());
  // A pooler gives its clients process numbers of its own.
  found.is_pooler = found.session != std::to_string(connection.server_process());
  found.was_checked = std::find_first_of(words.begin(), words.end(), names.begin(), names.end()) != words.end();
  found.names = std::move(words);
  return found;
}

void Connector::check(Connection& connection, const ConnectionOptions& options, Survey survey, Deadline deadline) {
  {
    const std::scoped_lock guard(mutex_);
    behind_pooler_ = survey.is_pooler;
    if (has_checked_ && !survey.is_pooler) return;
  }
  const bool is_known = survey.is_pooler && survey.was_checked;
  const int looks = is_known ? kLooksAtKnownPooler : survey.is_pooler ? kLooksAtPooler : kLooksAtServer;
  Onlooker onlooker(options, is_known ? std::optional(limit_for_free_session_) : std::nullopt, deadline);
  if (is_shared(connection, survey.session, onlooker, looks, deadline)) {
    forget();
    throw PostgresError(std::string(kSharedSession),
                        "the pooler shares sessions between connections, but prepared statements and LISTEN need one "
                        "session");
  }
  const std::scoped_lock guard(mutex_);
  has_checked_ = true;
  if (survey.is_pooler) checked_ = std::move(survey.names);
}

}  // namespace perdure::postgres
