// The stores that the tests of this folder run on.
#pragma once

#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/memory_provider.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/provider_validation.h>
#include "support/temporary_folder.h"
#include "testing/clock_factory.h"

namespace perdure::testing {

using test::TemporaryFolder;

[[nodiscard]] std::unique_ptr<ProviderFactory> make_memory_factory();
[[nodiscard]] std::unique_ptr<ProviderFactory> make_sqlite_file_factory();
[[nodiscard]] std::unique_ptr<ProviderFactory> make_sqlite_memory_factory();

}  // namespace perdure::testing
