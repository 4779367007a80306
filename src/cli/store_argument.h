// A store as users write it: sqlite:PATH or postgres://...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <perdure/metrics.h>
#include <perdure/provider.h>
#include <perdure/sqlite_provider.h>

namespace perdure::cli {

enum class StoreKind : std::uint8_t { kSqlite, kPostgres };

struct StoreArgument {
  StoreKind kind = StoreKind::kSqlite;
  std::string place;               // a path, or what libpq takes
  std::string schema = "perdure";  // of PostgreSQL
};

// "sqlite:PATH", "postgres://..." or "postgresql://...". Throws std::invalid_argument that says what may be written.
[[nodiscard]] StoreArgument parse_store(std::string_view text);

// Where the host begins: behind user and password, which may hold a '?' or a ':'. libpq looks for them alike.
[[nodiscard]] std::size_t host_position(std::string_view url);

// As it was written, without the password.
[[nodiscard]] std::string describe(const StoreArgument& store);

struct OpenOptions {
  bool create = false;  // a SQLite file that is missing; else it is an error, so that a typing mistake leaves no file
  bool read_only = false;  // SQLite: needs no right to write, and no place on the disk
  SqliteSynchronous synchronous = SqliteSynchronous::kFull;
  Metrics metrics;
};

// Throws ProviderFailure; std::invalid_argument for PostgreSQL in a program that was built without it.
[[nodiscard]] std::shared_ptr<Provider> open_store(const StoreArgument& store, const OpenOptions& options = {});

}  // namespace perdure::cli
