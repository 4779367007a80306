#include "support/postgres_programs.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perdure::test {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::generic_category().message(error));
}

// ---- where they are ----

// Debian's place: a folder for each major version.
std::optional<fs::path> newest_debian_folder() {
  std::optional<fs::path> newest;
  int newest_version = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", none)) {
    const std::string name = entry.path().filename().string();
    int version = 0;
    std::from_chars(name.data(), name.data() + name.size(), version);
    if (version > newest_version && fs::exists(entry.path() / "bin/postgres")) {
      newest_version = version;
      newest = entry.path() / "bin";
    }
  }
  return newest;
}

std::optional<fs::path> folder_in_path() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::exists(fs::path(folder) / "postgres")) return folder;
  }
  return std::nullopt;
}

fs::path find_program(const std::string& program) {
  static const std::optional<fs::path> kFolder = [] {
    auto folder = newest_debian_folder();
    return folder ? folder : folder_in_path();
  }();
  if (!kFolder) {
    throw std::runtime_error(
        "there is no PostgreSQL server in /usr/lib/postgresql/*/bin or PATH: install Debian's package postgresql "
        "(make setup), or set PERDURE_TEST_POSTGRES to the URL of a server that tests may use");
  }
  return *kFolder / program;  // which is the program itself if it is a path
}

// ---- who runs them ----

struct Account {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

// Absent: they run as ourselves.
const std::optional<Account>& other_account() {
  static const std::optional<Account> kAccount = []() -> std::optional<Account> {
    if (::geteuid() != 0) return std::nullopt;
    const passwd* const entry = ::getpwnam("postgres");
    if (entry == nullptr) {
      throw std::runtime_error(
          "PostgreSQL does not run as root, and there is no user postgres: install Debian's "
          "package postgresql, or run the tests as another user");
    }
    Account account{.user = entry->pw_uid, .group = entry->pw_gid, .groups = std::vector<gid_t>(64)};
    int count = static_cast<int>(account.groups.size());
    if (::getgrouplist("postgres", entry->pw_gid, account.groups.data(), &count) < 0) {
      throw std::runtime_error("the user postgres is in more than 64 groups");
    }
    account.groups.resize(static_cast<std::size_t>(count));
    return account;
  }();
  return kAccount;
}

// ---- processes ----

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }
  [[nodiscard]] int number() const noexcept { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct Launch {
  std::string program;
  std::vector<char*> arguments;
  std::string folder;
  std::optional<Account> account;
  int output = -1;
  int signal_at_our_death = SIGKILL;
  pid_t parent = 0;
};

// Between fork and exec, where nothing may be allocated. A change of the user forgets the signal, so that comes later.
[[noreturn]] void become(const Launch& launch) {
  constexpr int kCannotStart = 127;
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  if (::dup2(input, STDIN_FILENO) < 0 || ::dup2(launch.output, STDOUT_FILENO) < 0 ||
      ::dup2(launch.output, STDERR_FILENO) < 0) {
    ::_exit(kCannotStart);
  }
  if (launch.account) {
    const Account& account = *launch.account;
    if (::setgroups(account.groups.size(), account.groups.data()) != 0 || ::setgid(account.group) != 0 ||
        ::setuid(account.user) != 0) {
      ::_exit(kCannotStart);
    }
  }
  ::prctl(PR_SET_PDEATHSIG, launch.signal_at_our_death);
  if (::getppid() != launch.parent) ::_exit(kCannotStart);  // it died before it could be watched
  if (::chdir(launch.folder.c_str()) != 0) ::_exit(kCannotStart);
  ::execv(launch.program.c_str(), launch.arguments.data());
  ::_exit(kCannotStart);
}

pid_t start_program(const std::string& name, const std::vector<std::string>& arguments, const fs::path& folder,
                    int output, int signal_at_our_death) {
  std::vector<std::string> words{find_program(name).string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Launch launch{.program = words.front(),
                .arguments = {},
                .folder = folder.string(),
                .account = other_account(),
                .output = output,
                .signal_at_our_death = signal_at_our_death,
                .parent = ::getpid()};
  for (std::string& word : words) launch.arguments.push_back(word.data());
  launch.arguments.push_back(nullptr);
  const pid_t process = ::fork();
  if (process == 0) become(launch);
  if (process < 0) fail("cannot start " + launch.program, errno);
  return process;
}

std::string read_all(int from) {
  std::string text;
  for (std::array<char, 4096> bytes{};;) {
    const ssize_t count = ::read(from, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

void give_to_postgres_user(const fs::path& path) {
  if (!other_account()) return;
  if (::chown(path.c_str(), other_account()->user, other_account()->group) != 0) {
    fail("cannot give " + path.string() + " to the user postgres", errno);
  }
}

PostgresProcess::PostgresProcess(const std::string& program, const std::vector<std::string>& arguments,
                                 const fs::path& folder, const fs::path& log, int signal_at_our_death) {
  const FileDescriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (output.number() < 0) fail("cannot write to " + log.string(), errno);
  id_ = start_program(program, arguments, folder, output.number(), signal_at_our_death);
}

PostgresProcess::~PostgresProcess() {
  send(SIGKILL);
  while (!ended_within(std::chrono::seconds(1))) {
  }
}

void PostgresProcess::send(int signal) const {
  if (!ended_) ::kill(id_, signal);
}

bool PostgresProcess::ended_within(std::chrono::milliseconds patience) {
  constexpr int kPause = 5;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!ended_ && ::waitpid(id_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    ::poll(nullptr, 0, kPause);
  }
  ended_ = true;
  return true;
}

std::string run_postgres_program(const std::string& program, const std::vector<std::string>& arguments,
                                 const fs::path& folder) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe", errno);
  const FileDescriptor from(ends[0]);
  FileDescriptor into(ends[1]);
  const pid_t process = start_program(program, arguments, folder, into.number(), SIGKILL);
  into.close();
  std::string printed = read_all(from.number());
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  throw std::runtime_error(program +
                           (WIFEXITED(status) ? " failed with " + std::to_string(WEXITSTATUS(status))
                                              : " died of signal " + std::to_string(WTERMSIG(status))) +
                           " and said:\n" + printed);
}

}  // namespace perdure::test
