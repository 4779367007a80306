// Who is alive: each open store locks one byte of a file beside the database. The operating system releases it when the
// process ends, however it ends.
#pragma once

#include <cstdint>
#include <string>

namespace perdure::sqlite {

class ProcessLocks {
 public:
  // Opens or creates the file. Throws ProviderFailure.
  explicit ProcessLocks(const std::string& path);
  ProcessLocks(const ProcessLocks&) = delete;
  ProcessLocks& operator=(const ProcessLocks&) = delete;
  ~ProcessLocks();  // releases what was locked

  // Locks the byte of this process. False if somebody has it.
  [[nodiscard]] bool lock(std::int64_t process);
  // Somebody else holds the byte.
  [[nodiscard]] bool is_alive(std::int64_t process) const;

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace perdure::sqlite
