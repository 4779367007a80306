#include "support/postgres_server.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <unistd.h>

#include "support/free_port.h"
#include "support/postgres_programs.h"
#include "support/postgres_session.h"
#include "support/temporary_folder.h"

namespace perdure::test {

namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kServerPatience{60};   // for anything that a server does
constexpr std::chrono::milliseconds kServerPause{5};  // between two looks at it

struct ProcessState {
  char state = 0;
  pid_t parent = 0;
};

// Of a process that is gone: state 0.
ProcessState state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  ProcessState found;
  const std::size_t name_end = text.rfind(')');  // the name may contain anything
  if (name_end != std::string::npos) std::istringstream(text.substr(name_end + 1)) >> found.state >> found.parent;
  return found;
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto number = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (number > 0 && state_of(number).parent == process) children.push_back(number);
  }
  return children;
}

void pause() {
  ::poll(nullptr, 0, static_cast<int>(kServerPause.count()));
}

}  // namespace

// ---- Folder --------------------------------------------------------------------------------------------------------

// A process that is killed leaves its folder behind, which is some 40 MB, for the next to remove: nobody holds the lock
// on its file `in_use` any more.
class PostgresServer::Folder {
 public:
  Folder() {
    remove_abandoned();
    // Locked before it has its name: whoever finds it, finds it locked.
    const std::string unnamed = folder_.file("in_use.new");
    lock_.file = ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock_.file < 0 || ::flock(lock_.file, LOCK_EX | LOCK_NB) != 0) {
      throw std::runtime_error("cannot lock " + unnamed + ": " + std::generic_category().message(errno));
    }
    fs::rename(unnamed, folder_.file(kInUse));
    give_to_postgres_user(folder_.path());
  }
  [[nodiscard]] const fs::path& path() const noexcept { return folder_.path(); }
  [[nodiscard]] fs::path data() const { return path() / "data"; }
  [[nodiscard]] fs::path log() const { return path() / "log"; }

 private:
  static constexpr const char* kInUse = "postgres_in_use";

  static void remove_abandoned() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
      if (entry.path().filename().string().rfind("perdure-", 0) != 0) continue;
      const int lock = ::open((entry.path() / kInUse).c_str(), O_RDWR | O_CLOEXEC);
      if (lock < 0) continue;
      if (::flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
      ::close(lock);
    }
  }

  struct Lock {
    int file = -1;
    Lock() = default;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() {
      if (file >= 0) ::close(file);
    }
  };

  Lock lock_;  // outlives the folder: two that remove it at the same time get in each other's way
  TemporaryFolder folder_;
};

// ---- PostgresServer ------------------------------------------------------------------------------------------------

PostgresServer::PostgresServer(Empty) : folder_(std::make_unique<Folder>()) {}

PostgresServer::PostgresServer(const PostgresServerOptions& options) : PostgresServer(Empty()) {
  run_tool("initdb", {"--pgdata", data_folder(), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
                      "--no-sync"});
  configure(options);
  start();
}

PostgresServer::~PostgresServer() {
  if (running()) {
    process_->send(SIGQUIT);
    if (!process_->ended_within(std::chrono::seconds(10))) kill();
  }
  // A server that was killed could not remove its segment of shared memory.
  std::ifstream file(data_folder() / "postmaster.pid");
  std::string line;
  for (int number = 1; number <= 7; ++number) std::getline(file, line);
  int key = 0;
  int segment = 0;
  if (std::istringstream(line) >> key >> segment) ::shmctl(segment, IPC_RMID, nullptr);
}

std::string PostgresServer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::string PostgresServer::socket_url(const std::string& database) const {
  return "postgresql:///" + database + "?user=postgres&host=" + folder_->path().string() +
         "&port=" + std::to_string(port_);
}

fs::path PostgresServer::data_folder() const {
  return folder_->data();
}

void PostgresServer::configure(const PostgresServerOptions& options) const {
  std::ofstream file(data_folder() / "postgresql.conf", std::ios::app);
  // Shared memory in the folder, so that nothing of a killed server is left elsewhere.
  file << "max_connections = " << options.max_connections << "\n"
       << "shared_buffers = 64MB\n"
       << "dynamic_shared_memory_type = mmap\n"
       << "log_line_prefix = '%m [%p] %a '\n"
       << "lc_messages = 'C'\n"
       << "timezone = 'UTC'\n";
  // Not synchronous_commit: a commit that was answered would not outlive a crash of the server.
  if (!options.durable) file << "fsync = off\nfull_page_writes = off\n";
  for (const std::string& setting : options.settings) file << setting << "\n";
  if (!file.flush()) throw failure("postgresql.conf cannot be written");
}

// ---- its life ----

void PostgresServer::start() {
  if (running()) return;
  // Once it has a port it keeps it. Before, somebody else may take the one that was free a moment ago.
  for (int tries = 0; tries < 5; ++tries) {
    const int port = port_ != 0 ? port_ : free_port();
    if (starts_on(port)) {
      port_ = port;
      return;
    }
  }
  throw failure("no port could be had");
}

// False: somebody else has the port.
bool PostgresServer::starts_on(int port) {
  std::error_code none;
  const auto before = fs::file_size(folder_->log(), none);
  const auto log_begin = static_cast<std::streamoff>(none ? 0 : before);
  process_ = std::make_unique<PostgresProcess>(
      "postgres",
      std::vector<std::string>{"-D", data_folder(), "-c", "port=" + std::to_string(port), "-c",
                               "listen_addresses=127.0.0.1", "-c",
                               "unix_socket_directories=" + folder_->path().string()},
      folder_->path(), folder_->log(), SIGQUIT);
  const std::string by_socket = "host=" + folder_->path().string() + " port=" + std::to_string(port) + " user=postgres";
  const auto deadline = SteadyClock::now() + kServerPatience;
  while (PQping(by_socket.c_str()) != PQPING_OK) {
    if (process_->ended_within(kServerPause)) {
      process_.reset();
      std::ifstream log(folder_->log());
      log.seekg(log_begin);
      const std::string said(std::istreambuf_iterator<char>(log), {});
      if (said.find("Address already in use") != std::string::npos) return false;
      throw failure("it does not start");
    }
    if (SteadyClock::now() > deadline) throw failure("it does not answer");
  }
  return true;
}

void PostgresServer::end_with(int signal) {
  if (!running()) return;
  process_->send(signal);
  if (!process_->ended_within(kServerPatience)) throw failure("it does not end");
  process_.reset();
}

void PostgresServer::stop_fast() {
  end_with(SIGINT);
}

void PostgresServer::stop_immediately() {
  end_with(SIGQUIT);
}

void PostgresServer::kill() {
  if (!running()) return;
  process_->send(SIGSTOP);  // no new ones
  const std::vector<pid_t> children = children_of(process_->id());
  for (const pid_t child : children) ::kill(child, SIGKILL);
  end_with(SIGKILL);
  // Whoever inherits them may take his time to bury them.
  for (const pid_t child : children) {
    for (char state = 'R'; state != 0 && state != 'Z' && state != 'X'; state = state_of(child).state) pause();
  }
}

void PostgresServer::restart() {
  stop_fast();
  start();
}

// ---- its administration ----

std::string PostgresServer::execute(const std::string& statement) const {
  try {
    return PostgresSession(socket_url()).value(statement);
  } catch (const std::runtime_error& error) {
    throw failure(error.what());
  }
}

void PostgresServer::set(const std::string& name, const std::string& value) const {
  std::string quoted;
  for (const char letter : value) quoted += letter == '\'' ? "''" : std::string(1, letter);
  const std::string load_time = "SELECT pg_conf_load_time()";
  const std::string before = execute(load_time);
  execute("ALTER SYSTEM SET " + name + " = '" + quoted + "'");
  execute("SELECT pg_reload_conf()");
  const auto deadline = SteadyClock::now() + kServerPatience;
  while (execute(load_time) == before) {
    if (SteadyClock::now() > deadline) throw failure("it does not read its configuration");
    pause();
  }
}

std::string PostgresServer::run_tool(const std::string& program, const std::vector<std::string>& arguments) const {
  try {
    return run_postgres_program(program, arguments, folder_->path());
  } catch (const std::runtime_error& error) {
    throw failure(error.what());
  }
}

std::string PostgresServer::end_of_log(std::size_t lines) const {
  std::deque<std::string> last;
  std::ifstream file(folder_->log());
  for (std::string line; std::getline(file, line);) {
    last.push_back(line);
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const std::string& line : last) text += line + "\n";
  return text;
}

std::runtime_error PostgresServer::failure(const std::string& what) const {
  const std::string log = end_of_log();
  return std::runtime_error("PostgreSQL server in " + folder_->path().string() + ": " + what +
                            (log.empty() ? "\nIts log is empty." : "\nThe end of its log:\n" + log));
}

// ---- replication ----

std::unique_ptr<PostgresServer> PostgresServer::make_standby(const std::string& name,
                                                             const PostgresServerOptions& options) {
  std::unique_ptr<PostgresServer> standby(new PostgresServer(Empty()));
  // The slot keeps what the standby has not got yet, however long it is away.
  standby->run_tool(
      "pg_basebackup",
      {"--pgdata", standby->data_folder(), "--dbname", socket_url() + "&application_name=" + name, "--create-slot",
       "--slot=" + name, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"});
  standby->configure(options);
  standby->start();
  return standby;
}

void PostgresServer::promote() const {
  execute("SELECT pg_promote()");
}

}  // namespace perdure::test
