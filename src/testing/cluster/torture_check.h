// What torture checks when everything has come to rest, and what it tells of workflows that do not.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include "testing/cluster/ledger.h"

namespace perdure::testing::cluster {

// A line for each thing that the ledger, the histories, the queues and the list of instances say and that cannot be
// true. `started` are the instances that a client has started, and no others; all have ended as they should. Throws
// std::runtime_error and ClientError if the store does not answer.
[[nodiscard]] std::vector<std::string> check_books(Provider& store, const Ledger& ledger,
                                                   const std::set<std::string>& started);

// The first few of these instances with the last events of their histories, and what is in the queues.
[[nodiscard]] std::vector<std::string> describe_stuck(const std::shared_ptr<Provider>& store,
                                                      const std::vector<std::string>& instances);

}  // namespace perdure::testing::cluster
