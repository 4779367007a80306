// The validation suite on PostgreSQL.
#include <perdure/testing/gtest.h>
#include "postgres/postgres_factory.h"

namespace perdure::testing {
namespace {

const std::size_t kPostgres = register_provider_validation("Postgres", make_postgres_factory);

TEST(ValidationSuite, IsRegistered) {
  EXPECT_GT(kPostgres, 200U);
}

}  // namespace
}  // namespace perdure::testing
