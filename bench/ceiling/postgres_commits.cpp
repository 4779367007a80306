// What PostgreSQL asks for one commit: one transaction in one round trip.
#include "ceiling/ceiling.h"
#include "ceiling/postgres_schema.h"

namespace ceiling {

namespace {

constexpr const char* kCommitTables =
    "CREATE TABLE history(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data bytea NOT NULL);"
    "CREATE TABLE activities(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data bytea NOT NULL)";

}  // namespace

std::vector<double> postgres_commits(const Load& load) {
  PostgresSchema schema(load);
  schema.session().execute(kCommitTables);
  bench::Session session(load.path);
  schema.enter(session);
  session.prepare("history", "INSERT INTO history(data) SELECT * FROM unnest($1::bytea[])");
  session.prepare("forget", "DELETE FROM activities WHERE id < $1::bigint");
  session.prepare("activity", "INSERT INTO activities(data) SELECT * FROM unnest($1::bytea[]) RETURNING id");
  const std::string events(load.events_bytes, 'e');
  const std::string message(load.message_bytes, 'm');
  std::vector<double> microseconds;
  std::int64_t next = 1;
  const Stopwatch watch;
  do {
    const Stopwatch one;
    const auto answers = session.run({{"history", bench::Values().repeat(events, 1)},
                                      {"forget", bench::Values().add(next)},
                                      {"activity", bench::Values().repeat(message, 1)}});
    microseconds.push_back(one.seconds() * 1e6);
    next = answers[2].integer(0, 0) + 1;
  } while (watch.seconds() < load.seconds && !load.stopped());
  return microseconds;
}

}  // namespace ceiling
