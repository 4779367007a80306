// PostgreSQL does what the memory provider does; and what SQLite does, which imports instances too.
#include <gtest/gtest.h>

#include "postgres/postgres_factory.h"
#include "providers/differential_suite.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Postgres, Differential, in_shares({{"Postgres", make_postgres_factory}}, 40), share_name);
INSTANTIATE_TEST_SUITE_P(PostgresLikeSqlite, Differential,
                         in_shares({{"Postgres", make_postgres_factory, make_sqlite_memory_factory}}, 20), share_name);

}  // namespace
}  // namespace perdure::testing
