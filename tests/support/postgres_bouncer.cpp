#include "support/postgres_bouncer.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <libpq-fe.h>

#include "support/free_port.h"
#include "support/postgres_programs.h"
#include "support/postgres_server.h"

namespace perdure::test {

namespace {

constexpr const char* kProgram = "/usr/sbin/pgbouncer";
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kPause{5};

}  // namespace

PgBouncer::PgBouncer(const PostgresServer& server, const std::string& pool_mode) : port_(free_port()) {
  if (!std::filesystem::exists(kProgram)) throw std::runtime_error("there is no pgbouncer: make setup installs it");
  give_to_postgres_user(folder_.path());
  const std::string configuration = folder_.file("pgbouncer.ini");
  std::ofstream(configuration) << "[databases]\n"
                               << "* = host=127.0.0.1 port=" << server.port() << " user=postgres\n"
                               << "[pgbouncer]\n"
                               << "listen_addr = 127.0.0.1\n"
                               << "listen_port = " << port_ << "\n"
                               << "unix_socket_dir =\n"
                               << "auth_type = any\n"
                               << "default_pool_size = 50\n"
                               << "pool_mode = " << pool_mode << "\n";
  const std::string log = folder_.file("log");
  process_ = std::make_unique<PostgresProcess>(kProgram, std::vector<std::string>{configuration}, folder_.path(), log,
                                               SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (PQping(url().c_str()) != PQPING_OK) {
    if (process_->ended_within(kPause) || std::chrono::steady_clock::now() > deadline) {
      std::ifstream file(log);
      throw std::runtime_error("pgbouncer does not answer. Its log:\n" +
                               std::string(std::istreambuf_iterator<char>(file), {}));
    }
  }
}

PgBouncer::~PgBouncer() = default;

std::string PgBouncer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

}  // namespace perdure::test
