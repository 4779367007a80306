// Lost and damaged rows of a SQLite store.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "providers/lost_rows_suite.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

class DamagedSqliteStore final : public DamagedStore {
 public:
  [[nodiscard]] std::shared_ptr<Provider> open() override { return SqliteProvider::open(path_); }
  void change(const std::string& statement) override { open_plainly(path_).execute(statement.c_str()); }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.file("store.db");
};

std::unique_ptr<DamagedStore> make_damaged_sqlite_store() {
  return std::make_unique<DamagedSqliteStore>();
}

INSTANTIATE_TEST_SUITE_P(Providers, LostRows, ::testing::Values(LostRowsStore{"Sqlite", make_damaged_sqlite_store}),
                         lost_rows_store_name);

}  // namespace
}  // namespace perdure::testing
