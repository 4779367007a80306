// What a store answered, as the client's exceptions.
#pragma once

#include <utility>

#include <perdure/client_error.h>
#include <perdure/provider_error.h>

namespace perdure {

template <class T>
T value_of(ProviderResult<T>&& result) {
  if (!result) throw ClientError(result.error());
  return std::move(result).value();
}

}  // namespace perdure
