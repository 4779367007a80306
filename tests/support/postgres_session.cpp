#include "support/postgres_session.h"

#include <stdexcept>

#include <libpq-fe.h>

namespace perdure::test {

namespace {

PGconn* of(const auto& connection) {
  return static_cast<PGconn*>(connection.get());
}

struct Clear {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

void check(const Answer& answer, PGconn* connection, const std::string& statement) {
  const ExecStatusType status = PQresultStatus(answer.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
  throw std::runtime_error(PQerrorMessage(connection) + ("in: " + statement));
}

std::vector<PostgresSession::Row> rows_in(const Answer& answer) {
  std::vector<PostgresSession::Row> rows;
  for (int row = 0; row < PQntuples(answer.get()); ++row) {
    rows.emplace_back();
    for (int column = 0; column < PQnfields(answer.get()); ++column) {
      rows.back().emplace_back(PQgetvalue(answer.get(), row, column));
    }
  }
  return rows;
}

}  // namespace

void PostgresSession::Close::operator()(void* connection) const noexcept {
  PQfinish(static_cast<PGconn*>(connection));
}

PostgresSession::PostgresSession(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  if (PQstatus(of(connection_)) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(of(connection_)));
  PQsetNoticeProcessor(of(connection_), [](void*, const char*) {}, nullptr);  // errors are enough
}

void PostgresSession::execute(const std::string& statements) {
  static_cast<void>(rows_of(statements));
}

std::vector<PostgresSession::Row> PostgresSession::rows_of(const std::string& statements) {
  const Answer answer(PQexec(of(connection_), statements.c_str()));
  check(answer, of(connection_), statements);
  return rows_in(answer);
}

std::vector<PostgresSession::Row> PostgresSession::rows(const std::string& statement,
                                                        const std::vector<std::string>& values) {
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  const Answer answer(PQexecParams(of(connection_), statement.c_str(), static_cast<int>(values.size()), nullptr,
                                   pointers.data(), nullptr, nullptr, 0));
  check(answer, of(connection_), statement);
  return rows_in(answer);
}

std::string PostgresSession::value(const std::string& statement, const std::vector<std::string>& values) {
  const std::vector<Row> all = rows(statement, values);
  return all.empty() || all.front().empty() ? std::string() : all.front().front();
}

}  // namespace perdure::test
