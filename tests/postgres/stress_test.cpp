// Threads on one store in PostgreSQL.
#include <gtest/gtest.h>

#include "postgres/postgres_factory.h"
#include "providers/stress_suite.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Postgres, Stress, ::testing::Values(StressedStore{"Postgres", make_postgres_factory}),
                         stressed_name);

}  // namespace
}  // namespace perdure::testing
