// The stores that the tests of this folder run on.
#pragma once

#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/memory_provider.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/provider_validation.h>
#include "support/temporary_folder.h"

namespace perdure::testing {

using test::TemporaryFolder;

// Of all stores: those that are compared must not differ in it.
inline constexpr Timestamp kBeginning{Milliseconds{1'700'000'000'000}};
inline constexpr Milliseconds kOrphanRetention{3'600'000};

[[nodiscard]] std::unique_ptr<ProviderFactory> make_memory_factory();
[[nodiscard]] std::unique_ptr<ProviderFactory> make_sqlite_file_factory();
[[nodiscard]] std::unique_ptr<ProviderFactory> make_sqlite_memory_factory();

}  // namespace perdure::testing
