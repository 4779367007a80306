#include "providers/sqlite/lock_holder.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace perdure::sqlite {

namespace {

// Where SQLite locks the right to write: in a byte of the shared memory, or, for a process that has the file for
// itself, in bytes of the file from the pending byte on.
constexpr std::uint64_t kWriteLockOfLog = 120;
constexpr std::uint64_t kPendingByte = 0x40000000;

struct LockLine {
  std::string mode;
  long process = 0;
  LockedFile file;
  std::uint64_t first = 0;
};

// Removes the digits before the separator, or to the end, from the front of `text` and returns their value.
std::optional<std::uint64_t> take_number(std::string_view& text, char separator, int base) {
  const std::size_t length = std::min(text.find(separator), text.size());
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + length, value, base);
  if (read.ec != std::errc() || read.ptr != text.data() + length) return std::nullopt;
  text.remove_prefix(std::min(length + 1, text.size()));
  return value;
}

// "08:01:5678": the device in hexadecimal digits, the inode in decimal ones.
std::optional<LockedFile> parse_file(std::string_view text) {
  const auto device_major = take_number(text, ':', 16);
  const auto device_minor = device_major ? take_number(text, ':', 16) : std::nullopt;
  const auto inode = device_minor ? take_number(text, ':', 10) : std::nullopt;
  if (!inode) return std::nullopt;
  return LockedFile{.device_major = *device_major, .device_minor = *device_minor, .inode = *inode};
}

// "1: POSIX  ADVISORY  WRITE 1234 08:01:5678 120 120"
std::optional<LockLine> parse_lock(const std::string& line) {
  std::istringstream words(line);
  std::string number;
  std::string type;
  std::string advisory;
  std::string file;
  LockLine lock;
  if (!(words >> number >> type >> advisory >> lock.mode >> lock.process >> file >> lock.first)) return std::nullopt;
  const auto parsed = parse_file(file);
  if (!parsed) return std::nullopt;
  lock.file = *parsed;
  return lock;
}

// Reads lines such as "36 35 98:0 /root /mount ...": a mount, its parent and its device, in decimal digits. Without
// such a line the device stays what it is.
void use_device_of_mount(LockedFile& file, std::uint64_t mount) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::uint64_t id = 0;
    std::uint64_t parent = 0;
    char colon = 0;
    LockedFile found = file;
    if (!(words >> id >> parent >> found.device_major >> colon >> found.device_minor) || id != mount) continue;
    file = found;
    return;
  }
}

}  // namespace

std::optional<LockedFile> locked_file(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  LockedFile file{.device_major = major(found.st_dev), .device_minor = minor(found.st_dev), .inode = found.st_ino};
#ifdef STATX_MNT_ID
  struct statx extended = {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &extended) == 0 && (extended.stx_mask & STATX_MNT_ID) != 0) {
    use_device_of_mount(file, extended.stx_mnt_id);
  }
#endif
  return file;
}

std::optional<long> lock_holder(std::istream& locks, const std::optional<LockedFile>& shared_memory,
                                const std::optional<LockedFile>& store) {
  for (std::string line; std::getline(locks, line);) {
    const std::optional<LockLine> lock = parse_lock(line);
    if (!lock || lock->mode != "WRITE" || lock->process <= 0) continue;
    const bool is_log = shared_memory && lock->file == *shared_memory && lock->first == kWriteLockOfLog;
    if (is_log || (store && lock->file == *store && lock->first >= kPendingByte)) return lock->process;
  }
  return std::nullopt;
}

std::string describe_lock_holder(const std::string& path) {
  std::ifstream locks("/proc/locks");
  const std::optional<long> process = lock_holder(locks, locked_file(path + "-shm"), locked_file(path));
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
