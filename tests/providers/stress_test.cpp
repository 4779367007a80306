// Threads on the stores of one process.
#include <gtest/gtest.h>

#include "providers/factories.h"
#include "providers/stress_suite.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Providers, Stress,
                         ::testing::Values(StressedStore{"Memory", make_memory_factory},
                                           StressedStore{"SqliteFile", make_sqlite_file_factory},
                                           StressedStore{"SqliteMemory", make_sqlite_memory_factory}),
                         stressed_name);

}  // namespace
}  // namespace perdure::testing
