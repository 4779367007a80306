// What SQLite asks for one commit.
#include <chrono>
#include <utility>

#include <sqlite3.h>

#include "ceiling/ceiling.h"
#include "ceiling/sqlite_file.h"
#include "ceiling/sqlite_statement.h"

namespace ceiling {

std::vector<double> sqlite_commits(const Load& load) {
  SqliteFile file(load.path, load.synced);
  file.execute("CREATE TABLE history(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
  file.execute("CREATE TABLE activities(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
  Statement begin(file.database(), "BEGIN IMMEDIATE");
  Statement append(file.database(), "INSERT INTO history(data) VALUES(zeroblob(?1))");
  Statement finish(file.database(), "DELETE FROM activities");
  Statement schedule(file.database(), "INSERT INTO activities(data) VALUES(zeroblob(?1))");
  Statement commit(file.database(), "COMMIT");
  append.bind(1, static_cast<std::int64_t>(load.events_bytes));
  schedule.bind(1, static_cast<std::int64_t>(load.message_bytes));
  std::vector<double> microseconds;
  const Stopwatch watch;
  do {
    const Stopwatch one;
    for (Statement* const statement : {&begin, &append, &finish, &schedule, &commit}) statement->run();
    microseconds.push_back(one.seconds() * 1e6);
  } while (watch.seconds() < load.seconds && !load.stopped());
  return microseconds;
}

}  // namespace ceiling
