// PostgresSchema: an empty store on the server that tests share, with a clock that stands still until it is moved.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <perdure/postgres_provider.h>
#include <perdure/types.h>
#include "support/postgres_session.h"
#include "testing/postgres_clock.h"

namespace perdure::test {

// The statements of docs/clusters.md that give a role all rights that a node needs on a schema that is there.
[[nodiscard]] std::string documented_rights(const std::string& schema, const std::string& role);

// To make a schema costs more than most tests, so the server keeps those that were made, and a test gets one that
// nobody uses, emptied. Thread-safe.
class PostgresSchema {
 public:
  explicit PostgresSchema(Timestamp start);
  PostgresSchema(const PostgresSchema&) = delete;
  PostgresSchema& operator=(const PostgresSchema&) = delete;
  // Nobody may use a provider on it any more.
  ~PostgresSchema();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // A provider on it, with these options but for the schema. There may be several. On the tests' own server its role
  // has the documented rights and no others.
  [[nodiscard]] std::shared_ptr<Provider> connect(PostgresOptions options = {}) const;
  // Lets time pass, for the server and for the steady clock of every provider on it; waits that are going on notice.
  void advance(Milliseconds by);
  // Sets the clock of the server.
  void step(Milliseconds by);

 private:
  [[nodiscard]] std::shared_ptr<Provider> connect_to(const std::string& url, PostgresOptions options) const;
  [[nodiscard]] bool take(int number);
  [[nodiscard]] bool is_prepared();
  void prepare();

  std::mutex mutex_;
  PostgresSession session_;  // holds the lock that says that the schema is in use
  std::string name_;
  std::shared_ptr<testing::ServerSteadyClock> clock_ = std::make_shared<testing::ServerSteadyClock>();
};

}  // namespace perdure::test
