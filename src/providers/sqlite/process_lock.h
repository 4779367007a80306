// Which stores are open: each locks one byte of a file next to the database. The operating system releases it when the
// process ends, however it ends.
#pragma once

#include <cstdint>
#include <string>

namespace perdure::sqlite {

// Whether the process with a number has its store open. kUnknown: it never locked its byte in this file, because the
// file was deleted since; its locks expire by time.
enum class ProcessState : std::uint8_t { kOpen, kGone, kUnknown };

class ProcessLocks {
 public:
  // Opens the file of the store at `store`, or creates it with the mode, owner and group of the store as far as this
  // process may set them. Reading suffices for a file that exists. Throws ProviderFailure.
  explicit ProcessLocks(const std::string& store);
  ProcessLocks(const ProcessLocks&) = delete;
  ProcessLocks& operator=(const ProcessLocks&) = delete;
  ~ProcessLocks();  // releases what was locked

  // Locks the byte of this process. Returns false if another store has it. Calls of several processes must not overlap.
  [[nodiscard]] bool lock(std::int64_t process);
  [[nodiscard]] ProcessState state_of(std::int64_t process) const;
  // Whether the file was deleted or replaced, so that other processes do not see what is locked in it. One stat().
  [[nodiscard]] bool has_moved() const;

 private:
  [[nodiscard]] bool is_locked(std::int64_t process) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  int file_ = -1;
  bool writable_ = true;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace perdure::sqlite
