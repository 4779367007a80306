#include "cli/store_argument.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <perdure/provider_error.h>
#include "cli/redaction.h"
#include "providers/server_address.h"
#ifdef PERDURE_CLI_POSTGRES
#include <perdure/postgres_provider.h>
#endif

namespace perdure::cli {

namespace {

constexpr std::string_view kSqlitePrefix = "sqlite:";

[[noreturn]] void refuse_file(const std::string& message) {
  throw ProviderFailure(ProviderError{ProviderErrorKind::kUnavailable, message});
}

// SQLite would make a store of an empty file, and a disk error of a device.
void check_sqlite_file(const std::string& path, bool create) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (found.type() == std::filesystem::file_type::not_found) {
    if (create) return;
    refuse_file("there is no store at '" + path +
                "'; pass --create to start or import, or run a program that creates it");
  }
  if (error)
    refuse_file("the store '" + path + "' cannot be reached: " + error.message() +
                "; check the permissions on its path");
  if (!std::filesystem::is_regular_file(found)) {
    refuse_file("'" + path + (std::filesystem::is_directory(found) ? "' is a directory" : "' is not a regular file") +
                "; name the file of a store");
  }
  if (!create && std::filesystem::file_size(path, error) == 0 && !error) {
    refuse_file("the file '" + path +
                "' is empty and not a store; name another file, or pass --create to start or import");
  }
}

std::shared_ptr<Provider> open_sqlite(const std::string& path, const OpenOptions& options) {
  if (path != ":memory:") check_sqlite_file(path, options.create);
  SqliteOptions sqlite;
  sqlite.synchronous = options.synchronous;
  sqlite.read_only = options.read_only && path != ":memory:";
  sqlite.metrics = options.metrics;
  return SqliteProvider::open(path, sqlite);
}

std::shared_ptr<Provider> open_postgres([[maybe_unused]] const StoreArgument& store,
                                        [[maybe_unused]] const OpenOptions& options) {
#ifdef PERDURE_CLI_POSTGRES
  PostgresOptions postgres;
  postgres.schema = store.schema;
  postgres.metrics = options.metrics;
  return PostgresProvider::connect(store.place, postgres);
#else
  throw std::invalid_argument("this program was built without PostgreSQL; build it with PERDURE_BUILD_POSTGRES=ON");
#endif
}

}  // namespace

StoreArgument parse_store(std::string_view text) {
  if (text.empty()) {
    throw std::invalid_argument(
        "no store given; pass --store sqlite:PATH or --store postgres://..., or set PERDURE_STORE");
  }
  if (text.starts_with(kSqlitePrefix)) {
    text.remove_prefix(kSqlitePrefix.size());
    if (text.empty()) throw std::invalid_argument("the store 'sqlite:' has no path; write sqlite:PATH");
    // Not repeated: it may hold a password.
    if (names_a_server(text)) {
      throw std::invalid_argument(
          "the store 'sqlite:...' names a server or contains a password; leave 'sqlite:' out, or write a path "
          "that begins with / or ./ and has neither '://' nor 'password=' in it");
    }
    return {.kind = StoreKind::kSqlite, .place = std::string(text)};
  }
  if (text.starts_with("postgres://") || text.starts_with("postgresql://")) {
    return {.kind = StoreKind::kPostgres, .place = std::string(text)};
  }
  // Not repeated: it may hold a password.
  throw std::invalid_argument("the store must be written as sqlite:PATH or postgres://USER@HOST:PORT/DATABASE");
}

std::size_t host_position(std::string_view url) {
  const std::size_t scheme = url.find("://") + 3;
  const std::size_t end = url.find_first_of("@/", scheme);
  return end != std::string_view::npos && url[end] == '@' ? end + 1 : scheme;
}

std::string describe(const StoreArgument& store) {
  if (store.kind == StoreKind::kSqlite) return redacted(std::string(kSqlitePrefix) + store.place);
  const std::string text = redacted(store.place);
  return text.substr(0, text.find('?'));
}

std::shared_ptr<Provider> open_store(const StoreArgument& store, const OpenOptions& options) {
  return store.kind == StoreKind::kSqlite ? open_sqlite(store.place, options) : open_postgres(store, options);
}

}  // namespace perdure::cli
