// PostgreSQL does what the memory provider does.
#include <gtest/gtest.h>

#include "postgres/postgres_factory.h"
#include "providers/differential_suite.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Postgres, Differential, in_shares({{"Postgres", make_postgres_factory}}, 40), share_name);

}  // namespace
}  // namespace perdure::testing
