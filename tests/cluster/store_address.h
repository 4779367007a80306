// Opening the store at an address, in the tests and in their nodes.
#pragma once

#include <memory>
#include <string_view>

#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include "testing/cluster/worker_options.h"

namespace perdure::test {

using testing::cluster::StoreAddress;

inline std::shared_ptr<Provider> open_store(const StoreAddress& address, const Logger& logger = {}) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.url.starts_with(kSqlite)) {
    SqliteOptions options;
    options.logger = logger;
    return SqliteProvider::open(address.url.substr(kSqlite.size()), options);
  }
  PostgresOptions options;
  options.schema = address.schema;
  options.connections = 4;
  options.logger = logger;
  return PostgresProvider::connect(address.url, options);
}

}  // namespace perdure::test
