#include "testing/cluster/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perdure::testing::cluster {

namespace {

void check(int error, const std::string& what) {
  if (error != 0) throw std::runtime_error(what + ": " + std::generic_category().message(error));
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    check(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe");
    out = ends[0];
    in = ends[1];
  }
  int out = -1;
  int in = -1;
};

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command, const std::string& error_log,
                           std::vector<std::string> environment) {
  const Pipe commands;
  const Pipe answers;
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, commands.out, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answers.in, STDOUT_FILENO);
  if (!error_log.empty()) {
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;  // of a name that is there twice the first counts
  variables.reserve(environment.size());
  for (std::string& variable : environment) variables.push_back(variable.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) variables.push_back(*inherited);
  variables.push_back(nullptr);
  const int error = ::posix_spawn(&process_, arguments.front(), &actions, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(commands.out);
  ::close(answers.in);
  commands_ = commands.in;
  answers_ = answers.out;
  if (error != 0) {
    process_ = 0;
    close_input();
    ::close(answers_);
    check(error, command.front());
  }
}

ChildProcess::~ChildProcess() {
  close_input();
  reap();
  ::close(answers_);
}

void ChildProcess::tell(const std::string& command) {
  const std::string line = command + "\n";
  const ssize_t written = ::write(commands_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) throw std::runtime_error("the child does not listen");
}

std::string ChildProcess::answer(Milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::size_t end = buffer_.find('\n');
  while (end == std::string::npos) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd answers{answers_, POLLIN, 0};
    const int ready = ::poll(&answers, 1, static_cast<int>(std::max(left, Milliseconds(0)).count()));
    if (ready == 0) throw std::runtime_error("the child does not respond");
    if (ready < 0 && errno != EINTR) check(errno, "poll");
    if (ready < 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(answers_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    end = buffer_.find('\n');
  }
  const std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::string ChildProcess::ask(const std::string& command) {
  tell(command);
  return answer();
}

bool ChildProcess::has_line() {
  pollfd answers{answers_, POLLIN, 0};
  while (buffer_.find('\n') == std::string::npos && ::poll(&answers, 1, 0) > 0) {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(answers_, bytes.data(), bytes.size());
    if (count <= 0) break;
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return buffer_.find('\n') != std::string::npos;
}

void ChildProcess::send(int signal) const {
  if (process_ == 0) throw std::runtime_error("the child has ended");
  check(::kill(process_, signal) == 0 ? 0 : errno, "kill");
}

void ChildProcess::await_stop() {
  int status = 0;
  while (::waitpid(process_, &status, WUNTRACED) < 0) {
    if (errno != EINTR) check(errno, "waitpid");
  }
  if (WIFSTOPPED(status)) return;
  process_ = 0;
  status_ = status;
  throw std::runtime_error("the child ended instead of being stopped, with wait status " + std::to_string(status));
}

bool ChildProcess::ended_within(Milliseconds patience) {
  constexpr int kPause = 2;  // milliseconds between two looks
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (process_ != 0) {
    const pid_t answer = ::waitpid(process_, &status_, WNOHANG);
    if (answer < 0 && errno != EINTR) check(errno, "waitpid");
    if (answer == process_) process_ = 0;
    if (process_ == 0 || std::chrono::steady_clock::now() >= deadline) break;
    ::poll(nullptr, 0, kPause);
  }
  return process_ == 0;
}

int ChildProcess::end() {
  close_input();
  reap();
  return status_;
}

void ChildProcess::kill() {
  if (process_ != 0) ::kill(process_, SIGKILL);
  reap();
}

void ChildProcess::close_input() {
  if (commands_ >= 0) ::close(commands_);
  commands_ = -1;
}

void ChildProcess::reap() {
  if (process_ == 0) return;
  while (::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

}  // namespace perdure::testing::cluster
