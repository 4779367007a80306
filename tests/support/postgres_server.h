// PostgresServer: a PostgreSQL server of a test's own, in a temporary folder, that goes with the object and with the
// process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace perdure::test {

class PostgresProcess;

struct PostgresServerOptions {
  // Waits for the disk, as in production. Without it, what was committed outlives the death of the server, though not
  // that of the machine.
  bool durable = false;
  int max_connections = 100;
  std::vector<std::string> settings;  // more lines for postgresql.conf: "wal_level = logical"
};

// Not thread-safe. Everything throws std::runtime_error with the end of the server's log.
class PostgresServer {
 public:
  // Returns when it answers. The thread that starts a server must live as long as it is needed: it goes with that.
  explicit PostgresServer(const PostgresServerOptions& options = {});
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  // ---- where it is; none of this changes ----

  // Of the superuser, who needs no password; by TCP on 127.0.0.1.
  [[nodiscard]] std::string url(const std::string& database = "postgres") const;
  // The same by its Unix socket.
  [[nodiscard]] std::string socket_url(const std::string& database = "postgres") const;
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::filesystem::path data_folder() const;

  // ---- its life ----

  [[nodiscard]] bool running() const noexcept { return process_ != nullptr; }
  void start();
  // Ends sessions, writes everything, ends.
  void stop_fast();
  // Tells sessions that it ends, and ends at once: the next start recovers from the log.
  void stop_immediately();
  // SIGKILL for the server and all of its processes: nobody is told anything.
  void kill();
  void restart();

  // ---- its administration ----

  // The first value of the answer.
  std::string execute(const std::string& statement) const;
  // ALTER SYSTEM. Returns when new sessions have it; processes that were there notice a little later. Settings that
  // need a restart take effect with the next.
  void set(const std::string& name, const std::string& value) const;
  // Runs one of PostgreSQL's programs, such as pgbench, as the server's user and in its folder. Answers what it
  // printed.
  std::string run_tool(const std::string& program, const std::vector<std::string>& arguments) const;
  [[nodiscard]] std::string end_of_log(std::size_t lines = 30) const;

  // ---- replication ----

  // A running standby that streams from this server and calls itself `name`, which must be a plain word. It is
  // synchronous once that is in this server's synchronous_standby_names:
  //   auto standby = primary.make_standby("other");
  //   primary.set("synchronous_standby_names", "other");
  [[nodiscard]] std::unique_ptr<PostgresServer> make_standby(const std::string& name,
                                                             const PostgresServerOptions& options = {});
  // Makes a standby a primary. Returns when it takes writes.
  void promote() const;

 private:
  class Folder;
  struct Empty {};
  explicit PostgresServer(Empty);

  void configure(const PostgresServerOptions& options) const;
  [[nodiscard]] bool starts_on(int port);
  void end_with(int signal);
  [[nodiscard]] std::runtime_error failure(const std::string& what) const;

  std::unique_ptr<Folder> folder_;
  int port_ = 0;                              // 0: not chosen yet
  std::unique_ptr<PostgresProcess> process_;  // absent: not running
};

}  // namespace perdure::test
