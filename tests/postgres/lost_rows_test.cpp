// Lost and damaged rows of a store in PostgreSQL.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "providers/lost_rows_suite.h"
#include "support/postgres_schema.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::testing {
namespace {

class DamagedPostgresStore final : public DamagedStore {
 public:
  [[nodiscard]] std::shared_ptr<Provider> open() override { return schema_.connect(); }
  void change(const std::string& statement) override {
    test::PostgresSession session(test::shared_postgres_url());
    session.execute("SET search_path TO \"" + schema_.name() + "\"; " + statement);
  }

 private:
  test::PostgresSchema schema_{Timestamp(Milliseconds{1'700'000'000'000})};
};

std::unique_ptr<DamagedStore> make_damaged_postgres_store() {
  return std::make_unique<DamagedPostgresStore>();
}

INSTANTIATE_TEST_SUITE_P(Postgres, LostRows, ::testing::Values(LostRowsStore{"Postgres", make_damaged_postgres_store}),
                         lost_rows_store_name);

}  // namespace
}  // namespace perdure::testing
