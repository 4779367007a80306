#include "providers/postgres/schema.h"

#include <string>
#include <vector>

#include "providers/postgres/schema_scripts.h"

namespace perdure::postgres {

namespace {

// Whoever makes or changes any schema of ours holds this lock until it is done.
constexpr const char* kBegin = "BEGIN; SELECT pg_advisory_xact_lock(7238101124936)";
constexpr const char* kHasSchema = "SELECT 1 FROM pg_namespace WHERE nspname = $1::text";
constexpr const char* kHasTables =
    "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    "  WHERE n.nspname = $1::text AND c.relname = 'perdure_store'),"
    " EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text)";
constexpr const char* kVersion = "SELECT version FROM perdure_store";

[[noreturn]] void refuse(const std::string& schema, const std::string& why) {
  throw ProviderFailure(
      {ProviderErrorKind::kIncompatibleStore, "schema '" + schema + "': " + why + "; it was not changed"});
}

}  // namespace

std::span<const std::string> migrations() {
  static const std::vector<std::string> kSteps{std::string(kTablesScript) + kScheduleScript + kWorkerQueueScript +
                                               kOrchestratorQueueScript + kCommitScript + kDeletionScript +
                                               kWaitingScript};
  return kSteps;
}

// The common case, a schema that is up to date, takes no lock, so that many nodes can start at once.
void migrate(Connection& connection, const std::string& schema, std::span<const std::string> steps) {
  const auto version = [&]() -> std::int64_t {
    const Rows found = connection.run(kHasTables, Parameters(schema));
    if (found.boolean(0, 0)) return connection.run(kVersion).integer(0, 0);
    if (found.boolean(0, 1)) refuse(schema, "it contains tables of another application; name another schema");
    return 0;
  };
  const auto newest = static_cast<std::int64_t>(steps.size());
  const auto check = [&](std::int64_t current) {
    if (current > newest) {
      refuse(schema, "it has format " + std::to_string(current) + ", but this version of Perdure supports at most " +
                         std::to_string(newest) + "; use the newer version that wrote it");
    }
    return current == newest;
  };
  if (check(version())) return;
  connection.execute(kBegin);
  try {
    if (connection.run(kHasSchema, Parameters(schema)).empty()) {
      connection.execute("CREATE SCHEMA " + connection.quoted_name(schema));
    }
    std::int64_t current = version();
    if (!check(current)) {
      if (current == 0) {
        connection.execute("CREATE TABLE perdure_store(version bigint NOT NULL); INSERT INTO perdure_store VALUES(0)");
      }
      for (; current < newest; ++current) {
        connection.execute(steps[static_cast<std::size_t>(current)]);
        connection.execute("UPDATE perdure_store SET version = " + std::to_string(current + 1));
      }
    }
    connection.execute("COMMIT");
  } catch (...) {
    if (connection.is_usable()) connection.execute("ROLLBACK");
    throw;
  }
}

}  // namespace perdure::postgres
