// SqliteFile: a file for bare SQLite that is new at first and gone in the end, with the store's settings.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <sqlite3.h>
#include <unistd.h>

namespace ceiling {

[[noreturn]] inline void die(sqlite3* database, const char* where) {
  throw std::runtime_error(std::string(where) + ": " + sqlite3_errmsg(database));
}

class SqliteFile {
 public:
  SqliteFile(std::string path, bool synced) : path_(std::move(path)) {
    remove();
    try {
      if (sqlite3_open(path_.c_str(), &database_) != SQLITE_OK) die(database_, path_.c_str());
      execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=OFF");
      set_synced(synced);
    } catch (...) {
      close();
      throw;
    }
  }
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile() { close(); }

  [[nodiscard]] sqlite3* database() const noexcept { return database_; }
  void execute(const char* sql) {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) die(database_, sql);
  }
  // Whether commits wait for the disk from now on.
  void set_synced(bool synced) {
    if (synced == synced_) return;
    execute(synced ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    synced_ = synced;
  }

 private:
  void close() {
    sqlite3_close_v2(database_);
    remove();
  }
  void remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
  }

  std::string path_;
  sqlite3* database_ = nullptr;
  bool synced_ = true;
};

}  // namespace ceiling
