#include "world.h"

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "cluster/store_address.h"
#include "lock_audit.h"
#include "support/postgres_session.h"

namespace perdure::test::storm {

namespace {

constexpr const char* kSchema = "perdure";

PostgresServerOptions server_options() {
  PostgresServerOptions options;
  options.max_connections = 200;
  return options;
}

// server_ms() of the store, with a clock that can be set. Its row is not on the small volume.
constexpr const char* kClockScript = R"(
  CREATE SCHEMA storm;
  CREATE TABLE storm.clock(ahead bigint NOT NULL) TABLESPACE pg_default;
  INSERT INTO storm.clock VALUES (0);
  CREATE OR REPLACE FUNCTION perdure.server_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    RETURN (date_part('epoch', clock_timestamp()) * 1000)::bigint + (SELECT c.ahead FROM storm.clock c);
  END $$;
)";

}  // namespace

World::World(std::size_t volume_mebibytes, Milliseconds lock_timeout)
    : volume_(volume_mebibytes),
      server_(server_options()),
      back_(static_cast<std::uint16_t>(server_.port())),
      pooler_(back_.port(), "session"),
      front_(static_cast<std::uint16_t>(pooler_.port())) {
  server_.execute("CREATE TABLESPACE storm LOCATION '" + volume_.tablespace() + "'");
  server_.execute("ALTER DATABASE postgres SET default_tablespace = 'storm'");
  open_store(direct_address()).reset();  // makes the schema
  PostgresSession session(server_.socket_url());
  session.execute(kClockScript);
  session.execute(lock_audit_script(kSchema, lock_timeout));
  if (session.value("SELECT count(*) FROM pg_class WHERE relname = 'history' AND reltablespace <> 0") != "1") {
    throw std::runtime_error("the tables of the store are not on the small volume");
  }
}

testing::cluster::StoreAddress World::address() const {
  return {"postgresql://postgres@127.0.0.1:" + std::to_string(front_.port()) + "/postgres", kSchema};
}

testing::cluster::StoreAddress World::direct_address() const {
  return {server_.url(), kSchema};
}

void World::set_clock(Milliseconds ahead) const {
  server_.execute("UPDATE storm.clock SET ahead = " + std::to_string(ahead.count()));
}

std::size_t World::refused_for_space() const {
  std::ifstream log(server_.data_folder().parent_path() / "log");
  std::size_t count = 0;
  for (std::string line; std::getline(log, line);) {
    if (line.find("No space left on device") != std::string::npos) ++count;
  }
  return count;
}

std::vector<std::string> World::locks_granted_twice() const {
  std::vector<std::string> lines;
  for (const auto& row : PostgresSession(server_.socket_url()).rows("SELECT what FROM perdure.locks_granted_twice")) {
    lines.push_back("a lock was granted twice: " + row.front());
  }
  return lines;
}

}  // namespace perdure::test::storm
