#include "providers/child_process.h"

#include <array>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/testing/provider_validation.h>

namespace perdure::testing {

namespace {

void check(int error, const char* what) {
  if (error != 0) throw ValidationFailure(std::string(what) + ": " + std::generic_category().message(error));
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

ChildProcess::ChildProcess(const std::string& store) {
  const Pipe commands;
  const Pipe answers;
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, commands.out, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answers.in, STDOUT_FILENO);
  std::string program = PERDURE_SQLITE_CHILD;
  std::string argument = store;
  std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  const int error = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(commands.out);
  ::close(answers.in);
  commands_ = commands.in;
  answers_ = answers.out;
  check(error, PERDURE_SQLITE_CHILD);
  if (const std::string first = answer(); first != "ready") throw ValidationFailure("the child said: " + first);
}

ChildProcess::~ChildProcess() {
  ::close(commands_);
  reap();
  ::close(answers_);
}

void ChildProcess::tell(const std::string& command) {
  const std::string line = command + "\n";
  const ssize_t written = ::write(commands_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) throw ValidationFailure("the child does not listen");
}

std::string ChildProcess::answer() {
  std::size_t end = buffer_.find('\n');
  while (end == std::string::npos) {
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

void ChildProcess::kill() {
  ::kill(process_, SIGKILL);
  reap();
}

void ChildProcess::reap() {
  if (process_ == 0) return;
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

}  // namespace perdure::testing
