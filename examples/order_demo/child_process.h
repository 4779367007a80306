// This program again, as a process of its own.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace order_demo {

// How a process ended.
struct Death {
  int status = 0;

  [[nodiscard]] bool by_sigkill() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }
  [[nodiscard]] bool in_peace() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  [[nodiscard]] std::string text() const {
    if (by_sigkill()) return "killed by SIGKILL";
    if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
    return "ended with status " + std::to_string(WEXITSTATUS(status));
  }
};

class ChildProcess {
 public:
  // Its standard input is a pipe that stays open as long as this object, or its process, lives. What it prints is
  // appended to the file. Throws std::system_error.
  ChildProcess(std::vector<std::string> arguments, const std::string& log) {
    std::array<int, 2> input{};
    if (::pipe2(input.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot make a pipe for a worker");
    }
    input_ = input[1];
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const int error = ::posix_spawn(&id_, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(input[0]);
    if (error != 0) {
      ::close(input_);
      throw std::system_error(error, std::generic_category(), "cannot start a worker");
    }
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    close_input();
    if (death_) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

  [[nodiscard]] pid_t id() const { return id_; }

  // Absent as long as it lives.
  std::optional<Death> death() {
    int status = 0;
    if (!death_ && ::waitpid(id_, &status, WNOHANG) == id_) death_ = Death{status};
    return death_;
  }
  // Asks it to end. Absent if it has not after this time.
  std::optional<Death> end(std::chrono::milliseconds patience) {
    using namespace std::chrono_literals;
    close_input();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!death() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
    return death_;
  }

 private:
  void close_input() {
    if (input_ >= 0) ::close(std::exchange(input_, -1));
  }

  pid_t id_ = 0;
  int input_ = -1;
  std::optional<Death> death_;
};

}  // namespace order_demo
