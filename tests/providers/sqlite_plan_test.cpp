// No statement of the hot paths walks over a table or sorts, however much the store holds.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "providers/sqlite/schema.h"
#include "providers/sqlite/sql.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

// `explained` must outlive the connection, which knows its statements by their addresses.
std::vector<std::string> plan_of(sqlite::Connection& connection, const std::string& explained) {
  std::vector<std::string> plan;
  sqlite::Query query = connection.query(explained.c_str());
  while (query.step()) plan.push_back(query.text(3));
  return plan;
}

// Sorting is fine where few rows can come together.
bool may_sort(const char* statement) {
  // Those that nobody started in time.
  return statement == sqlite::sql::kExpiredActivities;
}

TEST(SqlitePlans, NoHotStatementScansOrSorts) {
  std::vector<std::string> explained;
  for (const char* statement : sqlite::sql::kHotStatements) {
    explained.push_back(std::string("EXPLAIN QUERY PLAN ") + statement);
  }
  sqlite::Connection connection = open_plainly(":memory:");
  sqlite::migrate(connection, ":memory:", sqlite::migrations());
  for (std::size_t index = 0; index < explained.size(); ++index) {
    const char* statement = sqlite::sql::kHotStatements[index];
    for (const std::string& line : plan_of(connection, explained[index])) {
      const bool scans = line.starts_with("SCAN") && line != "SCAN CONSTANT ROW";
      EXPECT_FALSE(scans) << line << "\n  " << statement;
      EXPECT_TRUE(may_sort(statement) || line.find("TEMP B-TREE") == std::string::npos) << line << "\n  " << statement;
    }
  }
}

TEST(SqlitePlans, EachHotStatementIsListedOnce) {
  auto statements = sqlite::sql::kHotStatements;
  std::sort(statements.begin(), statements.end());
  EXPECT_EQ(std::adjacent_find(statements.begin(), statements.end()), statements.end());
}

}  // namespace
}  // namespace perdure::testing
