// A large backlog of messages for instances that never start, in PostgreSQL.
#include <gtest/gtest.h>

#include "postgres/postgres_factory.h"
#include "providers/orphan_backlog_suite.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Postgres, OrphanBacklog, ::testing::Values(BacklogStore{"Postgres", make_postgres_factory}),
                         backlog_store_name);

}  // namespace
}  // namespace perdure::testing
