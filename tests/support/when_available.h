// Calls with limits that a busy machine may exceed: connecting to a server, or making a node on it.
#pragma once

#include <optional>
#include <utility>

#include <perdure/provider_error.h>
#include "support/eventually.h"

namespace perdure::test {

// What the call returns, which is repeated while it throws that the store is unavailable: a machine that stands still
// for longer than the limits is no failure of the store. Throws ProviderFailure.
template <class Call>
[[nodiscard]] auto when_available(const Call& call) {
  std::optional<decltype(call())> result;
  std::optional<ProviderFailure> last;
  const bool returned = eventually([&] {
    try {
      result.emplace(call());
    } catch (const ProviderFailure& failure) {
      if (failure.error().kind() != ProviderErrorKind::kUnavailable) throw;
      last.emplace(failure);
    }
    return result.has_value();
  });
  if (!returned) throw ProviderFailure(*last);
  return std::move(*result);
}

}  // namespace perdure::test
