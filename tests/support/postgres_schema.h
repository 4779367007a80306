// PostgresSchema: an empty store on the server that tests share, with a clock that stands still until it is moved.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <perdure/postgres_provider.h>
#include <perdure/types.h>
#include "support/postgres_session.h"

namespace perdure::test {

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
  // A provider on it, with these options but for the schema. There may be several.
  [[nodiscard]] std::shared_ptr<Provider> connect(PostgresOptions options = {}) const;
  // Moves its clock; waits that are going on notice.
  void advance(Milliseconds by);

 private:
  [[nodiscard]] bool take(int number);
  [[nodiscard]] bool is_prepared();
  void prepare();

  std::mutex mutex_;
  PostgresSession session_;  // holds the lock that says that the schema is in use
  std::string name_;
};

}  // namespace perdure::test
