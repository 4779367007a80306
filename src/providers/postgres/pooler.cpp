#include "providers/postgres/pooler.h"

#include <string>

namespace perdure::postgres {

namespace {

constexpr const char* kSession = "SELECT pg_backend_pid()";

// A pooler gives its clients process numbers of its own.
bool is_of_pooler(const Connection& connection, const std::string& session) {
  return session != std::to_string(connection.server_process());
}

// Nobody else sends this text: the process number is unique among the clients of a pooler.
std::string marked_statement(const Connection& connection, int look) {
  return std::string(kSession) + " /* look " + std::to_string(look) + " of client " +
         std::to_string(connection.server_process()) + " */";
}

// True if the one who asks has the session itself, or if the last statement in the session is not the expected one. The
// server may hide a statement or record none.
std::string is_used_by_others(const std::string& session, const std::string& expected_statement) {
  return "SELECT pg_backend_pid() = " + session + " OR EXISTS (SELECT FROM pg_stat_activity WHERE pid = " + session +
         " AND query NOT IN ('', '<insufficient privilege>', '" + expected_statement + "'))";
}

// A pooler in transaction mode gives a session to each transaction. The session of this connection then becomes another
// one, or another client uses it. Every statement here is a transaction of its own and sets nothing.
//
// A pooler that hands out its sessions in turn could return each connection to its own session in every look. The number
// of questions therefore differs from look to look. A server that is connected directly needs two looks only. Fifty looks
// cost a pooler in session mode a few milliseconds.
bool shares_its_session(Connection& connection, const ConnectionOptions& options, Deadline deadline) {
  constexpr int kLooksAtServer = 2;
  constexpr int kLooksAtPooler = 50;
  constexpr int kMostQuestions = 3;
  Connection other(options, Connection::Untouched(), deadline);
  const std::string own = connection.execute(kSession, deadline);
  const int looks = is_of_pooler(connection, own) ? kLooksAtPooler : kLooksAtServer;
  for (int look = 0; look < looks; ++look) {
    const std::string statement = marked_statement(connection, look);
    if (connection.execute(statement, deadline) != own) return true;
    const std::string question = is_used_by_others(own, statement);
    for (int asked = 0; asked <= look % kMostQuestions; ++asked) {
      if (other.execute(question, deadline) == "t") return true;
    }
  }
  return false;
}

}  // namespace

void refuse_shared_session(Connection& connection, const ConnectionOptions& options, Deadline deadline) {
  if (!shares_its_session(connection, options, deadline)) return;
  throw PostgresError(std::string(kSharedSession),
                      "the pooler shares sessions between connections, but prepared statements and LISTEN need one "
                      "session");
}

void refuse_shared_session_of_pooler(Connection& connection, const ConnectionOptions& options, Deadline deadline) {
  if (!is_of_pooler(connection, connection.execute(kSession, deadline))) return;
  refuse_shared_session(connection, options, deadline);
}

}  // namespace perdure::postgres
