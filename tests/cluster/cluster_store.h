// The stores that clusters work on.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "cluster/store_address.h"

namespace perdure::test {

// A store that several processes can open, empty at first. It goes with the object.
class ClusterStore {
 public:
  ClusterStore() = default;
  ClusterStore(const ClusterStore&) = delete;
  ClusterStore& operator=(const ClusterStore&) = delete;
  virtual ~ClusterStore() = default;
  [[nodiscard]] virtual StoreAddress address() const = 0;
};

[[nodiscard]] std::unique_ptr<ClusterStore> make_cluster_store(const std::string& name);

class OnAStore : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] StoreAddress address() const { return store_->address(); }

 private:
  std::unique_ptr<ClusterStore> store_ = make_cluster_store(GetParam());
};

#define PERDURE_ON_STORES(suite, ...)                                     \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, ::testing::Values(__VA_ARGS__), \
                           [](const auto& param) { return std::string(param.param); })
#define PERDURE_ON_EVERY_STORE(suite) PERDURE_ON_STORES(suite, "Sqlite", "Postgres")
// For tests that stop processes at any moment: one that has begun to write to an SQLite file holds everybody up.
#define PERDURE_ON_SERVERS(suite) PERDURE_ON_STORES(suite, "Postgres")

}  // namespace perdure::test
