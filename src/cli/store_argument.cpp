#include "cli/store_argument.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <perdure/provider_error.h>
#ifdef PERDURE_CLI_POSTGRES
#include <perdure/postgres_provider.h>
#endif

namespace perdure::cli {

namespace {

constexpr std::string_view kSqlitePrefix = "sqlite:";

std::shared_ptr<Provider> open_sqlite(const std::string& path, const OpenOptions& options) {
  std::error_code error;
  if (!options.create && path != ":memory:" && !std::filesystem::exists(path, error)) {
    throw ProviderFailure(
        ProviderError{ProviderErrorKind::kUnavailable,
                      "there is no store at " + path +
                          "; a program that opens it makes it, and so do start and import with --create"});
  }
  SqliteOptions sqlite;
  sqlite.synchronous = options.synchronous;
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
  throw std::invalid_argument("this program was built without PostgreSQL: build it with PERDURE_BUILD_POSTGRES=ON");
#endif
}

}  // namespace

StoreArgument parse_store(std::string_view text) {
  if (text.empty()) {
    throw std::invalid_argument(
        "which store? Write --store sqlite:PATH or --store postgres://..., or set PERDURE_STORE to it");
  }
  if (text.starts_with(kSqlitePrefix)) {
    text.remove_prefix(kSqlitePrefix.size());
    if (text.empty()) throw std::invalid_argument("the store 'sqlite:' has no path: write sqlite:PATH");
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
  if (store.kind == StoreKind::kSqlite) return std::string(kSqlitePrefix) + store.place;
  const std::size_t host = host_position(store.place);
  std::string text = store.place.substr(0, store.place.find('?', host));  // where a password may stand as well
  const std::size_t password = text.find(':', text.find("://") + 3);
  if (password < host) text.erase(password, host - 1 - password);
  return text;
}

std::shared_ptr<Provider> open_store(const StoreArgument& store, const OpenOptions& options) {
  return store.kind == StoreKind::kSqlite ? open_sqlite(store.place, options) : open_postgres(store, options);
}

}  // namespace perdure::cli
