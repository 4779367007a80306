// The store of one run of `perdure torture`.
#pragma once

#include <memory>
#include <string>

#include <perdure/types.h>
#include "cli/store_argument.h"

namespace perdure::cli {

// Empty at first. What the run itself has made, a file or a schema, goes with remove().
class TortureStore {
 public:
  // Without a schema of the user's it makes a fresh one. Throws std::invalid_argument for a store that is not empty or
  // that processes cannot share, and what open_store throws.
  TortureStore(StoreArgument argument, bool schema_given, SqliteSynchronous synchronous);

  [[nodiscard]] const std::shared_ptr<Provider>& provider() const noexcept { return provider_; }
  [[nodiscard]] const StoreArgument& argument() const noexcept { return argument_; }
  // For people: where it is.
  [[nodiscard]] std::string place() const;
  // Whether remove() would.
  [[nodiscard]] bool is_removable() const noexcept { return made_; }
  // Closes it. Throws std::runtime_error, also if the server needs longer than `patience` to connect or to remove it;
  // then it can be called again.
  void remove(Milliseconds patience = Milliseconds(30'000));

 private:
  StoreArgument argument_;
  bool made_ = false;
  std::shared_ptr<Provider> provider_;
};

}  // namespace perdure::cli
