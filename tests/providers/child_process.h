// A process beside the test, with a store of its own on the same file; see sqlite_child.cpp for what it can be told.
#pragma once

#include <string>

#include <sys/types.h>

namespace perdure::testing {

class ChildProcess {
 public:
  // Returns when its store is open. Throws ValidationFailure.
  explicit ChildProcess(const std::string& store);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // closes its store and ends, unless it was killed

  void tell(const std::string& command);
  // The next line that it writes; empty once it is gone.
  [[nodiscard]] std::string answer();
  std::string ask(const std::string& command);
  // SIGKILL; returns when the process is gone.
  void kill();

 private:
  void reap();

  pid_t process_ = 0;
  int commands_ = -1;
  int answers_ = -1;
  std::string buffer_;
};

}  // namespace perdure::testing
