// World: the store of a storm and the way to it. Nodes and clients go through a proxy, pgbouncer and another proxy to a
// server whose tables are on a small volume and whose clock can be set.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include "small_volume.h"
#include "support/cutting_proxy.h"
#include "support/postgres_bouncer.h"
#include "support/postgres_server.h"
#include "testing/cluster/worker_options.h"

namespace perdure::test::storm {

// Not thread-safe; the thread that makes it must live as long.
class World {
 public:
  // Throws NotPermitted, and std::runtime_error if something does not start.
  World(std::size_t volume_mebibytes, Milliseconds lock_timeout);

  // As nodes reach it.
  [[nodiscard]] testing::cluster::StoreAddress address() const;
  // As the checks at the end reach it.
  [[nodiscard]] testing::cluster::StoreAddress direct_address() const;

  // Sets the server's clock: so much ahead of the machine's.
  void set_clock(Milliseconds ahead) const;

  [[nodiscard]] SmallVolume& volume() noexcept { return volume_; }
  [[nodiscard]] CuttingProxy& front() noexcept { return front_; }  // between nodes and pooler
  [[nodiscard]] CuttingProxy& back() noexcept { return back_; }    // between pooler and server
  [[nodiscard]] PgBouncer& pooler() noexcept { return pooler_; }

  // Errors in the log of the server because the volume was full.
  [[nodiscard]] std::size_t refused_for_space() const;
  // A line for each lock that was granted to two nodes.
  [[nodiscard]] std::vector<std::string> locks_granted_twice() const;

 private:
  SmallVolume volume_;
  PostgresServer server_;
  CuttingProxy back_;
  PgBouncer pooler_;
  CuttingProxy front_;
};

}  // namespace perdure::test::storm
