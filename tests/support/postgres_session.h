// PostgresSession: a connection of a test, to look at a server and to change what a store would not.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace perdure::test {

class PostgresSession {
 public:
  // Throws std::runtime_error, like everything here, with the server's words.
  explicit PostgresSession(const std::string& url);
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;
  PostgresSession(PostgresSession&&) noexcept = default;
  PostgresSession& operator=(PostgresSession&&) noexcept = default;
  ~PostgresSession() = default;

  using Row = std::vector<std::string>;  // NULL is empty

  // Several statements, without values.
  void execute(const std::string& statements);
  // The same, with the rows of the last one. For PgBouncer's console, too.
  std::vector<Row> rows_of(const std::string& statements);
  // One statement; $1 is the first of the values.
  std::vector<Row> rows(const std::string& statement, const std::vector<std::string>& values = {});
  // The first column of its first row; empty if there is none.
  std::string value(const std::string& statement, const std::vector<std::string>& values = {});

 private:
  struct Close {
    void operator()(void* connection) const noexcept;
  };
  std::unique_ptr<void, Close> connection_;  // a PGconn
};

}  // namespace perdure::test
