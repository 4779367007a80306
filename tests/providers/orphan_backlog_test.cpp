// A large backlog of messages for instances that never start, in SQLite.
#include <gtest/gtest.h>

#include "providers/factories.h"
#include "providers/orphan_backlog_suite.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Providers, OrphanBacklog,
                         ::testing::Values(BacklogStore{"SqliteFile", make_sqlite_file_factory},
                                           BacklogStore{"SqliteMemory", make_sqlite_memory_factory}),
                         backlog_store_name);

}  // namespace
}  // namespace perdure::testing
