// InstanceFilter, made ready to be asked of many instances.
#pragma once

#include <optional>
#include <set>
#include <string>

#include <perdure/provider_admin.h>
#include "providers/memory/key_row.h"

namespace perdure::memory {

class InstanceMatcher {
 public:
  // Borrows the filter.
  explicit InstanceMatcher(const InstanceFilter& filter);

  // A row without an instance never matches.
  [[nodiscard]] bool operator()(const KeyRow& row) const;

 private:
  [[nodiscard]] bool status_matches(ExecutionStatus status) const;

  const InstanceFilter& filter_;
  std::optional<std::set<std::string>> ids_;
};

}  // namespace perdure::memory
