#include "support/postgres_schema.h"

#include <unistd.h>

#include "support/postgres_shared.h"
#include "testing/postgres_clock.h"

namespace perdure::test {

namespace {

// The first half of the advisory locks, whose second half is the number of a schema.
constexpr const char* kLocks = "770031";

std::string milliseconds(Timestamp time) {
  return std::to_string(time.time_since_epoch().count());
}

}  // namespace

PostgresSchema::PostgresSchema(Timestamp start) : session_(shared_postgres_url()) {
  for (int number = 1; !take(number); ++number) {
  }
  if (!is_prepared()) prepare();
  session_.value("SELECT " + name_ + ".test_begin($1)", {milliseconds(start)});
}

PostgresSchema::~PostgresSchema() {
  if (!shared_postgres_is_borrowed()) return;
  try {
    session_.execute("DROP SCHEMA " + name_ + " CASCADE");
  } catch (const std::exception&) {  // the server is gone, and the schema with it
  }
}

std::shared_ptr<Provider> PostgresSchema::connect(PostgresOptions options) const {
  options.schema = name_;
  options.time_tolerance = Milliseconds(0);
  return PostgresProvider::connect(shared_postgres_url(), options);
}

void PostgresSchema::advance(Milliseconds by) {
  const std::scoped_lock lock(mutex_);
  session_.value("SELECT " + name_ + ".test_advance($1)", {std::to_string(by.count())});
}

// On a server that outlives the tests, what an earlier build has made there is of no use.
bool PostgresSchema::take(int number) {
  name_ = "test_" + (shared_postgres_is_borrowed() ? std::to_string(::getpid()) + "_" : "") + std::to_string(number);
  return session_.value("SELECT pg_try_advisory_lock($1, $2)", {kLocks, std::to_string(number)}) == "t";
}

bool PostgresSchema::is_prepared() {
  return !session_.value("SELECT to_regproc($1)", {name_ + ".test_begin"}).empty();
}

// What is empty in a new store is emptied for each test.
void PostgresSchema::prepare() {
  session_.execute("DROP SCHEMA IF EXISTS " + name_ + " CASCADE");  // of somebody who was killed while he prepared it
  connect().reset();
  std::string empty;
  for (const auto& row : session_.rows("SELECT tablename FROM pg_tables WHERE schemaname = $1", {name_})) {
    const std::string table = name_ + "." + row.front();
    if (session_.value("SELECT count(*) FROM " + table) == "0") empty += (empty.empty() ? "'" : ", '") + table + "'";
  }
  session_.execute(testing::postgres_clock_script(name_, empty));
}

}  // namespace perdure::test
