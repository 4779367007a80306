#include "ceiling/postgres_server.h"

#include "postgres/server_cpu.h"
#include "postgres/session.h"

namespace ceiling {

class PostgresServer::Connection {
 public:
  explicit Connection(const std::string& url) : session(url), cpu(session.server_process()) {}

  bench::Session session;
  bench::ServerCpu cpu;
};

PostgresServer::PostgresServer(const std::string& url) : connection_(std::make_unique<Connection>(url)) {}

PostgresServer::~PostgresServer() = default;

std::string PostgresServer::setting(const std::string& name) {
  return connection_->session.text("SHOW " + name);
}

void PostgresServer::drop_schema(const std::string& name) {
  connection_->session.execute("DROP SCHEMA IF EXISTS " + name + " CASCADE");
}

std::uint64_t PostgresServer::write_transactions() {
  // Only what writes gets a number.
  return std::stoull(connection_->session.text("SELECT pg_snapshot_xmax(pg_current_snapshot())"));
}

std::optional<double> PostgresServer::cpu_seconds() const {
  return connection_->cpu.seconds();
}

}  // namespace ceiling
