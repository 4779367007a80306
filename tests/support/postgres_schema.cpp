#include "support/postgres_schema.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "support/postgres_shared.h"

namespace perdure::test {

namespace {

// The first half of the advisory locks, whose second half is the number of a schema.
constexpr const char* kLocks = "770031";

constexpr const char* kRole = "perdure_test_node";

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string milliseconds(Timestamp time) {
  return std::to_string(time.time_since_epoch().count());
}

}  // namespace

std::string documented_rights(const std::string& schema, const std::string& role) {
  std::ifstream file(std::string(PERDURE_TEST_DATA_DIR) + "/../../docs/clusters.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string begin = "```sql\nGRANT";
  const std::size_t found = text.find(begin);
  if (found == std::string::npos) throw std::runtime_error("docs/clusters.md does not list the rights any more");
  const std::size_t first = found + begin.find("GRANT");
  std::string rights = text.substr(first, text.find("```", first) - first);
  replace_all(rights, "SCHEMA perdure", "SCHEMA " + schema);
  replace_all(rights, "TO orders", "TO " + role);
  return rights;
}

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
  const std::string& url = shared_postgres_url();
  return connect_to(shared_postgres_is_borrowed() ? url : url + "?user=" + kRole, std::move(options));
}

std::shared_ptr<Provider> PostgresSchema::connect_to(const std::string& url, PostgresOptions options) const {
  options.schema = name_;
  options.time_tolerance = Milliseconds(0);
  if (!options.clock) options.clock = clock_;
  return PostgresProvider::connect(url, options);
}

void PostgresSchema::advance(Milliseconds by) {
  clock_->advance(by, [&] { step(by); });
  step(Milliseconds(0));  // for waits that have noticed the first change only
}

void PostgresSchema::step(Milliseconds by) {
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
  connect_to(shared_postgres_url(), {}).reset();                    // as its owner
  std::string empty;
  for (const auto& row : session_.rows("SELECT tablename FROM pg_tables WHERE schemaname = $1", {name_})) {
    const std::string table = name_ + "." + row.front();
    if (session_.value("SELECT count(*) FROM " + table) == "0") empty += (empty.empty() ? "'" : ", '") + table + "'";
  }
  session_.execute(testing::postgres_clock_script(name_, empty));
  if (shared_postgres_is_borrowed()) return;
  session_.execute(std::string("DO $$ BEGIN CREATE ROLE ") + kRole +
                   " LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
  session_.execute(documented_rights(name_, kRole));
}

}  // namespace perdure::test
