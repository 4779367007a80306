// What SQLite asks for one commit.
#include <chrono>
#include <utility>

#include <sqlite3.h>

#include "ceiling/ceiling.h"
#include "ceiling/sqlite_file.h"

namespace ceiling {

std::vector<double> sqlite_commits(const Load& load) {
  SqliteFile file(load.path, load.synced);
  file.execute("CREATE TABLE history(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
  file.execute("CREATE TABLE activities(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
  const std::string commit = "BEGIN IMMEDIATE; INSERT INTO history(data) VALUES(zeroblob(" +
                             std::to_string(load.events_bytes) +
                             ")); DELETE FROM activities; INSERT INTO activities(data) VALUES(zeroblob(" +
                             std::to_string(load.message_bytes) + ")); COMMIT";
  std::vector<double> microseconds;
  const Stopwatch watch;
  do {
    const Stopwatch one;
    file.execute(commit.c_str());
    microseconds.push_back(one.seconds() * 1e6);
  } while (watch.seconds() < load.seconds && !load.stopped());
  return microseconds;
}

}  // namespace ceiling
