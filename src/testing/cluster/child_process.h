// A process beside this one: commands go to its standard input and answers come from its standard output, a line each.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include <perdure/types.h>

namespace perdure::testing::cluster {

class ChildProcess {
 public:
  // The program with its arguments, and what its environment has beyond ours ("NAME=value"). What it writes to standard
  // error is appended to the file, or goes where ours goes. Throws std::runtime_error, as everything here does.
  explicit ChildProcess(std::vector<std::string> command, const std::string& error_log = {},
                        std::vector<std::string> environment = {});
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // as end()

  void tell(const std::string& command);
  // The next line that it writes; empty once it is gone. Throws if it does not come in time.
  [[nodiscard]] std::string answer(Milliseconds patience = Milliseconds(100'000));
  std::string ask(const std::string& command);
  // Whether answer() would return a line at once.
  [[nodiscard]] bool has_line();

  void send(int signal) const;
  // Returns when a signal has stopped the process, so that SIGCONT would let it go on.
  void await_stop();
  // Whether it is gone, or will be within that time; asks for nothing.
  [[nodiscard]] bool ended_within(Milliseconds patience);
  // Closes its standard input, which asks it to end, and returns its wait status when it is gone.
  int end();
  // SIGKILL, also for one that is stopped; returns when the process is gone.
  void kill();
  [[nodiscard]] pid_t id() const noexcept { return process_; }  // 0: it is gone
  // Of one that is gone.
  [[nodiscard]] int wait_status() const noexcept { return status_; }

 private:
  void close_input();
  void reap();

  pid_t process_ = 0;  // 0: gone
  int status_ = 0;
  int commands_ = -1;
  int answers_ = -1;
  std::string buffer_;
};

}  // namespace perdure::testing::cluster
