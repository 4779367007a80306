// Statement: SQL that is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sqlite3.h>

#include "ceiling/sqlite_file.h"

namespace ceiling {

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK) {
      die(database, sql);
    }
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Statement& bind(int index, std::int64_t value) {
    sqlite3_bind_int64(statement_, index, value);
    return *this;
  }
  Statement& bind(int index, const std::string& blob) {
    sqlite3_bind_blob64(statement_, index, blob.data(), blob.size(), SQLITE_STATIC);
    return *this;
  }
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) die(database_, sqlite3_sql(statement_));
    return false;
  }
  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  // As a reader would: the bytes leave SQLite.
  [[nodiscard]] std::string bytes(int column) const {
    const void* data = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  void reset() { sqlite3_reset(statement_); }
  std::int64_t run() {
    while (step()) {
    }
    reset();
    return sqlite3_changes64(database_);
  }

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace ceiling
