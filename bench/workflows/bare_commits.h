// BareCommits: what the disk asks for one durable commit, with bare SQLite beside the store that is measured: a row of
// so many bytes is added and another one goes, in one transaction.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

namespace bench {

class BareCommits {
 public:
  explicit BareCommits(std::string path) : path_(std::move(path)) {
    remove();
    if (sqlite3_open(path_.c_str(), &database_) != SQLITE_OK) die("open");
    execute("PRAGMA journal_mode=WAL");
    execute("PRAGMA synchronous=FULL");
    execute("PRAGMA secure_delete=OFF");
    execute("CREATE TABLE history(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
    execute("CREATE TABLE activities(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
  }
  BareCommits(const BareCommits&) = delete;
  BareCommits& operator=(const BareCommits&) = delete;
  ~BareCommits() {
    sqlite3_close_v2(database_);
    remove();
  }

  void measure(std::size_t bytes) {
    const std::string half = "zeroblob(" + std::to_string(bytes / 2) + ")";
    const std::string step = "BEGIN IMMEDIATE; INSERT INTO history(data) VALUES(" + half +
                             "); DELETE FROM activities; INSERT INTO activities(data) VALUES(" + half + "); COMMIT";
    const auto begin = std::chrono::steady_clock::now();
    execute(step.c_str());
    milliseconds_.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  [[nodiscard]] const std::vector<double>& milliseconds() const { return milliseconds_; }

 private:
  void execute(const char* sql) {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) die(sql);
  }
  [[noreturn]] void die(const char* where) {
    throw std::runtime_error(std::string(where) + ": " + sqlite3_errmsg(database_));
  }
  void remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
  }

  std::string path_;
  sqlite3* database_ = nullptr;
  std::vector<double> milliseconds_;
};

}  // namespace bench
