#include "cli/torture_store.h"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <perdure/provider_admin.h>
#ifdef PERDURE_CLI_POSTGRES
#include "providers/postgres/connection.h"
#endif

namespace perdure::cli {

namespace {

std::string fresh_schema() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return "torture_" + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) + "_" +
         std::to_string(::getpid());
}

void require_empty(Provider& store, const std::string& place, const char* way_out) {
  const SystemMetrics metrics = store.admin()->system_metrics().value();
  const QueueDepths depths = store.admin()->queue_depths().value();
  if (metrics.instances == 0 && depths.messages + depths.delayed_messages == 0) return;
  throw std::invalid_argument("the store '" + place + "' is in use, with " + std::to_string(metrics.instances) +
                              " instances; " + way_out);
}

void remove_sqlite_file(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-processes"}) {
    std::error_code error;
    std::filesystem::remove(path + suffix, error);
    if (error) throw std::runtime_error(path + suffix + " cannot be removed: " + error.message());
  }
}

#ifdef PERDURE_CLI_POSTGRES
void drop_schema(const std::string& url, const std::string& schema, Milliseconds patience) {
  try {
    const postgres::ConnectionOptions options{
        .url = url, .schema = schema, .connect_timeout = patience, .answer_timeout = patience};
    postgres::Connection connection(options, postgres::deadline_after(2 * patience));
    connection.execute("DROP SCHEMA IF EXISTS " + connection.quoted_name(schema) + " CASCADE");
  } catch (const postgres::PostgresError& error) {
    throw std::runtime_error("the schema " + schema + " cannot be dropped: " + error.what());
  }
}
#endif

}  // namespace

TortureStore::TortureStore(StoreArgument argument, bool schema_given, SqliteSynchronous synchronous)
    : argument_(std::move(argument)) {
  const char* way_out = "name a file that does not exist";
  if (argument_.kind == StoreKind::kSqlite) {
    if (argument_.place == ":memory:") {
      throw std::invalid_argument("processes cannot share a store in memory; name a file, as sqlite:PATH");
    }
    made_ = !std::filesystem::exists(argument_.place);
  } else {
    way_out = "omit --schema to use a new one";
    made_ = !schema_given;
    if (made_) argument_.schema = fresh_schema();
  }
  OpenOptions options;
  options.create = true;
  options.synchronous = synchronous;
  provider_ = open_store(argument_, options);
  require_empty(*provider_, place(), way_out);
}

std::string TortureStore::place() const {
  const std::string text = describe(argument_);
  return argument_.kind == StoreKind::kSqlite ? text : text + ", schema " + argument_.schema;
}

void TortureStore::remove([[maybe_unused]] Milliseconds patience) {
  provider_.reset();
  if (!made_) return;
  if (argument_.kind == StoreKind::kSqlite) remove_sqlite_file(argument_.place);
#ifdef PERDURE_CLI_POSTGRES
  if (argument_.kind == StoreKind::kPostgres) drop_schema(argument_.place, argument_.schema, patience);
#endif
}

}  // namespace perdure::cli
