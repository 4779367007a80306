// The server of a run of ctest. `start <folder> [<pid>]` starts it and tells its URL in a file of the folder; `stop`
// with the same arguments ends it. It ends by itself when the process <pid> is gone; that is ctest, our parent, unless
// said otherwise. Does nothing when PERDURE_TEST_POSTGRES names a server.
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/postgres_server.h"
#include "support/postgres_shared.h"

namespace {

namespace fs = std::filesystem;

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + std::generic_category().message(errno));
}

// Readable when the process has ended.
int open_process(pid_t process) {
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
}

// Until that process is gone or somebody tells us to end.
void watch(pid_t process, const sigset_t& ends) {
  const int gone = open_process(process);
  if (gone < 0 && errno == ESRCH) return;
  check(gone >= 0, "pidfd_open");
  const int told = ::signalfd(-1, &ends, SFD_CLOEXEC);
  check(told >= 0, "signalfd");
  std::array<pollfd, 2> either{pollfd{gone, POLLIN, 0}, pollfd{told, POLLIN, 0}};
  while (::poll(either.data(), either.size(), -1) < 0 && errno == EINTR) {
  }
}

// The file: the URL, and the process to tell that it should end.
void write_file(const fs::path& file, const std::string& url) {
  const fs::path unfinished = file.string() + ".new";
  std::ofstream(unfinished) << url << "\n" << ::getpid() << "\n";
  fs::rename(unfinished, file);
}

// The process that owns the server. It answers through `answers`: the URL, or what went wrong.
void supervise(const fs::path& file, pid_t watched, int answers) {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signal);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const auto answer = [answers](const std::string& text) {
    check(::write(answers, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
    ::close(answers);
  };
  try {
    const perdure::test::PostgresServer server(perdure::test::shared_postgres_options());
    write_file(file, server.url());
    answer(server.url());
    watch(watched, ends);
  } catch (const std::exception& error) {
    answer(std::string("failed: ") + error.what());
  }
  fs::remove(file);
}

int start(const fs::path& file, pid_t watched) {
  fs::create_directories(file.parent_path());
  fs::remove(file);  // of a process that had the same number
  std::array<int, 2> answers{};
  check(::pipe2(answers.data(), O_CLOEXEC) == 0, "pipe");
  const pid_t supervisor = ::fork();
  check(supervisor >= 0, "fork");
  if (supervisor == 0) {
    // Out of the terminal's reach, and without ctest's pipe, whose end ctest waits for.
    ::setsid();
    ::close(answers[0]);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
    supervise(file, watched, answers[1]);
    ::_exit(0);
  }
  ::close(answers[1]);
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t count = 1; count > 0;) {
    count = ::read(answers[0], bytes.data(), bytes.size());
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  std::cout << text << "\n";
  return text.rfind("postgresql:", 0) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Another process may have got the number of one that was killed.
bool is_ours(pid_t process) {
  std::error_code gone;
  return fs::read_symlink("/proc/" + std::to_string(process) + "/exe", gone) == fs::read_symlink("/proc/self/exe");
}

int stop(const fs::path& file) {
  std::ifstream in(file);
  std::string url;
  pid_t supervisor = 0;
  if (!std::getline(in, url) || !(in >> supervisor)) {
    std::cout << "no server runs: there is no " << file << "\n";
    return EXIT_SUCCESS;
  }
  const int gone = open_process(supervisor);
  if (gone < 0 || !is_ours(supervisor)) return EXIT_SUCCESS;
  ::kill(supervisor, SIGTERM);
  pollfd end{gone, POLLIN, 0};
  constexpr int kPatience = 60'000;
  if (::poll(&end, 1, kPatience) == 0) throw std::runtime_error("the server at " + url + " does not end");
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string command = count > 1 ? arguments[1] : "";
  if ((command != "start" && command != "stop") || count < 3 || count > 4) {
    std::cerr << "usage: " << arguments[0] << " start|stop <folder> [<pid>]\n";
    return 2;
  }
  if (perdure::test::shared_postgres_is_borrowed()) {
    std::cout << "PERDURE_TEST_POSTGRES names a server\n";
    return EXIT_SUCCESS;
  }
  const pid_t watched = count == 4 ? static_cast<pid_t>(std::stol(arguments[3])) : ::getppid();
  const fs::path file = perdure::test::shared_postgres_file(arguments[2], watched);
  return command == "start" ? start(file, watched) : stop(file);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return EXIT_FAILURE;
}
