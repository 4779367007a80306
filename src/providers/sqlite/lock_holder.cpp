#include "providers/sqlite/lock_holder.h"

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>

#include <sys/stat.h>

namespace perdure::sqlite {

namespace {

// Where SQLite locks the right to write: in a byte of the shared memory, or, for a process that has the file for
// itself, in bytes of the file from the pending byte on.
constexpr std::uint64_t kWriteLockOfLog = 120;
constexpr std::uint64_t kPendingByte = 0x40000000;

struct LockLine {
  std::string mode;
  long process = 0;
  std::string inode;
  std::uint64_t first = 0;
};

// "1: POSIX  ADVISORY  WRITE 1234 08:01:5678 120 120"
std::optional<LockLine> parse_lock(const std::string& line) {
  std::istringstream words(line);
  std::string number;
  std::string type;
  std::string advisory;
  std::string file;
  LockLine lock;
  if (!(words >> number >> type >> advisory >> lock.mode >> lock.process >> file >> lock.first)) return std::nullopt;
  lock.inode = file.substr(file.rfind(':') + 1);
  return lock;
}

std::string inode_text(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0 ? std::to_string(found.st_ino) : std::string();
}

// The kernel shows the device of the file system, which is not always that of stat(): inode and byte must do.
std::optional<long> holder_of(const std::string& path) {
  const std::string log_inode = inode_text(path + "-shm");
  const std::string file_inode = inode_text(path);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    const std::optional<LockLine> lock = parse_lock(line);
    if (!lock || lock->mode != "WRITE" || lock->process <= 0) continue;
    const bool is_log = lock->inode == log_inode && lock->first == kWriteLockOfLog;
    if (is_log || (lock->inode == file_inode && lock->first >= kPendingByte)) return lock->process;
  }
  return std::nullopt;
}

}  // namespace

std::string describe_lock_holder(const std::string& path) {
  const std::optional<long> process = holder_of(path);
  if (!process) return {};
  std::string text = " (process " + std::to_string(*process);
  // "1234 (name) T ...", where the name may hold anything but ends with the last parenthesis.
  std::ifstream file("/proc/" + std::to_string(*process) + "/stat");
  std::string state;
  std::getline(file, state);
  const std::size_t begin = state.find('(');
  const std::size_t end = state.rfind(')');
  if (begin != std::string::npos && end > begin && end + 2 < state.size()) {
    text += " '" + state.substr(begin + 1, end - begin - 1) + "'";
    if (state[end + 2] == 'T' || state[end + 2] == 't') text += ", which is stopped,";
  }
  return text + " has locked it)";
}

}  // namespace perdure::sqlite
