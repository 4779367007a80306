// The stores that the tests of this folder run on.
#pragma once

#include <memory>

#include <perdure/testing/provider_validation.h>

namespace perdure::testing {

// On the server that tests share.
[[nodiscard]] std::unique_ptr<ProviderFactory> make_postgres_factory();

}  // namespace perdure::testing
