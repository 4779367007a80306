// The store for a cluster: many processes on one PostgreSQL server, version 13 or later.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider.h>

namespace perdure {

struct PostgresOptions {
  // Where the tables are; made if it is missing. Stores in different schemas of one database know nothing of each
  // other.
  std::string schema = "perdure";
  // Connections that calls share; a call waits for one. One more is for waking up.
  std::size_t connections = 8;
  Milliseconds connect_timeout{10'000};
  // How long a call waits for the server before its connection is given up as lost.
  Milliseconds answer_timeout{30'000};
  // Waits are woken by the server. This is how often they look for themselves nevertheless,
  Milliseconds poll_interval{5'000};
  // and how often while the server cannot wake them.
  Milliseconds poll_interval_without_wake_ups{500};
  // now() is computed from the last time that the server has told, as long as that is no longer ago than this. 0: it asks
  // each time, which only a store needs whose time a test moves.
  Milliseconds time_tolerance{1'000};
  // Messages for an instance that never starts are dropped after this time.
  Milliseconds orphan_retention{86'400'000};
  Logger logger;
  Metrics metrics;
};

class PostgresProvider {
 public:
  // `url` is what libpq takes: "postgresql://user@host:5432/database?sslmode=verify-full" or "host=... dbname=...",
  // with several hosts for a primary and its standbys. A password that it does not name comes from PGPASSWORD or the
  // password file; no password appears in an error or a log. Creates or migrates the schema. Throws ProviderFailure:
  // kIncompatibleStore for a schema that a newer version wrote or a server that is too old, kUnavailable if the server
  // cannot be reached, kInvalidArgument for options that cannot work.
  [[nodiscard]] static std::shared_ptr<Provider> connect(const std::string& url, const PostgresOptions& options = {});
};

}  // namespace perdure
