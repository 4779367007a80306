#include "lifecycles/life_rows.h"

#include <array>
#include <memory>
#include <optional>

#include "providers/sqlite/connection.h"
#include "support/postgres_session.h"

namespace perdure::test {

namespace {

constexpr std::array kTables = {"instances",  "executions",        "history",         "messages", "activities",
                                "key_values", "key_value_changes", "custom_statuses", "sessions"};

}  // namespace

std::string leftover_rows(const StoreAddress& address, bool with_sessions) {
  constexpr std::string_view kSqlite = "sqlite:";
  std::optional<sqlite::Connection> file;
  std::optional<PostgresSession> server;
  if (address.url.starts_with(kSqlite)) {
    file.emplace(address.url.substr(kSqlite.size()), sqlite::Connection::Mode::kReadOnly, Milliseconds(10'000));
  } else {
    server.emplace(address.url);
  }
  std::string found;
  for (const char* const table : kTables) {
    if (!with_sessions && table == std::string_view("sessions")) continue;
    const std::string query = "SELECT count(*) FROM " + (file ? "" : address.schema + ".") + table;
    const std::string rows = file ? std::to_string(file->integer(query.c_str())) : server->value(query);
    if (rows != "0") found += (found.empty() ? "" : ", ") + rows + " rows of " + table;
  }
  return found;
}

}  // namespace perdure::test
