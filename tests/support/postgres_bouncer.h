// PgBouncer: the connection pooler, in front of a server of the test. It goes with the object.
#pragma once

#include <memory>
#include <string>

#include "support/temporary_folder.h"

namespace perdure::test {

class PostgresProcess;
class PostgresServer;

class PgBouncer {
 public:
  // `pool_mode` is "session", "transaction" or "statement"; `sessions` is their limit. Returns when it answers. Throws
  // std::runtime_error with the end of its log.
  PgBouncer(const PostgresServer& server, const std::string& pool_mode, int sessions = 50);
  // In front of what listens on that port of 127.0.0.1, for example a proxy.
  PgBouncer(int server_port, const std::string& pool_mode, int sessions = 50);
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;
  ~PgBouncer();

  // Its console, for commands like "KILL postgres", is the database "pgbouncer".
  [[nodiscard]] std::string url(const std::string& database = "postgres") const;
  [[nodiscard]] int port() const noexcept { return port_; }

  // Cuts all its connections, and returns when it accepts new ones on the same port.
  void restart();
  // The same in another mode.
  void restart(const std::string& pool_mode);
  // Changes the mode and cuts nothing. Returns when the mode has changed.
  void reload(const std::string& pool_mode) const;
  // Round trips of its clients so far.
  [[nodiscard]] int queries() const;
  // SIGSTOP and SIGCONT: while it stands still, it is silent for clients and for the server.
  void stand_still() const;
  void go_on() const;

 private:
  void configure(const std::string& pool_mode) const;
  void start();
  [[nodiscard]] bool answers() const;

  TemporaryFolder folder_;
  int server_port_;
  int port_ = 0;
  int sessions_;
  std::unique_ptr<PostgresProcess> process_;
};

}  // namespace perdure::test
