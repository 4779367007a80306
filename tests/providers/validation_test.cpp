// The validation suite on every provider that is linked in.
#include <perdure/testing/gtest.h>
#include "providers/factories.h"

namespace perdure::testing {
namespace {

const std::size_t kMemory = register_provider_validation("Memory", make_memory_factory);
const std::size_t kSqliteFile = register_provider_validation("SqliteFile", make_sqlite_file_factory);
const std::size_t kSqliteMemory = register_provider_validation("SqliteMemory", make_sqlite_memory_factory);

TEST(ValidationSuite, IsRegisteredForEveryProvider) {
  EXPECT_GT(kMemory, 200U);
  EXPECT_EQ(kSqliteFile, kMemory);
  EXPECT_EQ(kSqliteMemory, kMemory);
}

}  // namespace
}  // namespace perdure::testing
