// Stores of the same kind and at the same place as one that a user names, for the validation suite.
#pragma once

#include <memory>

#include <perdure/testing/provider_validation.h>
#include "cli/context.h"
#include "cli/store_argument.h"

namespace perdure::cli {

// Removes everything that it has made when it goes; what cannot be removed is told to `err`.
class ValidationStores {
 public:
  ValidationStores() = default;
  ValidationStores(const ValidationStores&) = delete;
  ValidationStores& operator=(const ValidationStores&) = delete;
  virtual ~ValidationStores() = default;
  // For one test. Must not outlive this object.
  [[nodiscard]] virtual std::unique_ptr<testing::ProviderFactory> make_factory() = 0;
};

// SQLite: files in a new folder beside the one that is named. PostgreSQL: new schemas of the database. What the user
// has is not opened. Throws ProviderFailure, CommandError, and std::invalid_argument as open_store does.
[[nodiscard]] std::unique_ptr<ValidationStores> make_validation_stores(const StoreArgument& store,
                                                                       const Context& context);

}  // namespace perdure::cli
