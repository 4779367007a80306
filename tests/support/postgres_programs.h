// The programs of an installed PostgreSQL. They refuse to run as root, so root runs them as the user `postgres`.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace perdure::test {

// A program is named as in the server's folder, or by its path.

// Makes the file or folder the property of the user that the programs run as.
void give_to_postgres_user(const std::filesystem::path& path);

// A program that runs until it is told to end, as the server does.
class PostgresProcess {
 public:
  // Starts it in `folder`, its output at the end of the file `log`. It gets `signal_at_our_death` when the thread that
  // called this ends, so call it from one that lives as long as the test. Throws std::runtime_error.
  PostgresProcess(const std::string& program, const std::vector<std::string>& arguments,
                  const std::filesystem::path& folder, const std::filesystem::path& log, int signal_at_our_death);
  PostgresProcess(const PostgresProcess&) = delete;
  PostgresProcess& operator=(const PostgresProcess&) = delete;
  ~PostgresProcess();  // SIGKILL, if it still runs

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void send(int signal) const;
  // Whether it has ended; waits that long, if it must.
  [[nodiscard]] bool ended_within(std::chrono::milliseconds patience);

 private:
  pid_t id_;
  bool ended_ = false;
};

// Runs the program in `folder` to its end and answers what it printed. Throws std::runtime_error, with that, if it
// fails.
std::string run_postgres_program(const std::string& program, const std::vector<std::string>& arguments,
                                 const std::filesystem::path& folder);

}  // namespace perdure::test
