// What the tables are, and how a file becomes a store of this version. docs/sqlite-format.md describes it to the byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "providers/sqlite/connection.h"

namespace perdure::sqlite {

// In the file's header: "PRDU".
inline constexpr std::int32_t kApplicationId = 0x50524455;

// The SQL that leads from version n to n + 1, where n is its position.
using Migrations = std::span<const char* const>;
[[nodiscard]] Migrations migrations();

// Throws ProviderFailure with kUnavailable for what is no regular file, which would fail later or never respond, and
// for a file with several hard links: under each name SQLite would keep a log of its own, so that two processes would
// write the same pages.
void refuse_strange_file(const std::string& path);

// Looks at the file without changing a byte of it. Throws ProviderFailure with kIncompatibleStore for a foreign file,
// and for one that a newer version wrote. A file that does not exist or is empty is fine.
void refuse_foreign_file(const std::string& path, Milliseconds busy_timeout, const std::string& vfs, Migrations steps);

// For a store that is only read: throws ProviderFailure as above, and also for a file that is empty or has an older
// format, which must be opened for writing first.
void check_readable(Connection& connection, const std::string& path, Migrations steps);

// Brings the open file to the newest version: each step in a transaction of its own, so that a crash leaves a file of
// some version, never one in between. Throws ProviderFailure as above, and SqliteError.
void migrate(Connection& connection, const std::string& path, Migrations steps);

}  // namespace perdure::sqlite
