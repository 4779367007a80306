#include "support/postgres_bouncer.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/free_port.h"
#include "support/postgres_programs.h"
#include "support/postgres_server.h"
#include "support/postgres_session.h"

namespace perdure::test {

namespace {

constexpr const char* kProgram = "/usr/sbin/pgbouncer";
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kPause{5};

bool accepts_connections(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool accepted = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(socket);
  return accepted;
}

}  // namespace

PgBouncer::PgBouncer(const PostgresServer& server, const std::string& pool_mode, int sessions)
    : PgBouncer(server.port(), pool_mode, sessions) {}

PgBouncer::PgBouncer(int server_port, const std::string& pool_mode, int sessions)
    : server_port_(server_port), sessions_(sessions) {
  if (!std::filesystem::exists(kProgram)) throw std::runtime_error("there is no pgbouncer: make setup installs it");
  give_to_postgres_user(folder_.path());
  constexpr int kTries = 5;
  for (int tries = 1;; ++tries) {
    port_ = free_port();  // another process may take it before pgbouncer does
    configure(pool_mode);
    start();
    if (answers()) return;
    if (process_->ended_within(kPause) && tries < kTries) continue;
    std::ifstream file(folder_.file("log"));
    throw std::runtime_error("pgbouncer does not answer. Its log:\n" +
                             std::string(std::istreambuf_iterator<char>(file), {}));
  }
}

// Returns false if it has ended or takes too long.
bool PgBouncer::answers() const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (PQping(url().c_str()) != PQPING_OK) {
    if (process_->ended_within(kPause) || std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

void PgBouncer::configure(const std::string& pool_mode) const {
  std::ofstream(folder_.file("pgbouncer.ini")) << "[databases]\n"
                                               << "* = host=127.0.0.1 port=" << server_port_ << " user=postgres\n"
                                               << "[pgbouncer]\n"
                                               << "listen_addr = 127.0.0.1\n"
                                               << "listen_port = " << port_ << "\n"
                                               << "listen_backlog = 1024\n"  // for clients while it stands still
                                               << "unix_socket_dir =\n"
                                               << "auth_type = any\n"
                                               << "admin_users = postgres\n"
                                               << "server_login_retry = 1\n"
                                               // Its own limits, for a machine that stands still.
                                               << "server_connect_timeout = 600\n"
                                               << "client_login_timeout = 600\n"
                                               << "query_wait_timeout = 600\n"
                                               << "default_pool_size = " << sessions_ << "\n"
                                               << "pool_mode = " << pool_mode << "\n";
}

void PgBouncer::start() {
  process_ = std::make_unique<PostgresProcess>(kProgram, std::vector<std::string>{folder_.file("pgbouncer.ini")},
                                               folder_.path(), folder_.file("log"), SIGTERM);
}

PgBouncer::~PgBouncer() = default;

// Without a look at the server, which may be silent.
void PgBouncer::restart() {
  process_.reset();
  start();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!accepts_connections(port_)) {
    if (process_->ended_within(kPause) || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("pgbouncer does not start again");
    }
  }
}

void PgBouncer::restart(const std::string& pool_mode) {
  configure(pool_mode);
  restart();
}

void PgBouncer::reload(const std::string& pool_mode) const {
  configure(pool_mode);
  PostgresSession console(url("pgbouncer"));
  console.execute("RELOAD");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    for (const PostgresSession::Row& row : console.rows_of("SHOW CONFIG")) {
      if (row.at(0) == "pool_mode" && row.at(1) == pool_mode) return;
    }
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("pgbouncer does not change its mode");
  }
}

int PgBouncer::queries() const {
  PostgresSession console(url("pgbouncer"));
  for (const PostgresSession::Row& row : console.rows_of("SHOW STATS_TOTALS")) {
    if (row.at(0) == "postgres") return std::stoi(row.at(2));
  }
  return 0;
}

void PgBouncer::stand_still() const {
  process_->send(SIGSTOP);
}

void PgBouncer::go_on() const {
  process_->send(SIGCONT);
}

std::string PgBouncer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

}  // namespace perdure::test
