// Which process holds a store, for the error of one that has waited for it in vain.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace perdure::sqlite {

// Returns " (process 1234 'name', which is stopped, holds it)", or nothing if the operating system does not show it.
// The file is not opened: closing it would release SQLite's locks of this process.
[[nodiscard]] std::string describe_lock_holder(const std::string& path);

// A file as /proc/locks names it.
struct LockedFile {
  std::uint64_t device_major = 0;
  std::uint64_t device_minor = 0;
  std::uint64_t inode = 0;
  bool operator==(const LockedFile&) const = default;
};

// Returns the file at `path`; nothing if there is none. The device is that of the mount (/proc/self/mountinfo), as in
// /proc/locks: stat() shows another one on file systems with subvolumes.
[[nodiscard]] std::optional<LockedFile> locked_file(const std::string& path);

// Returns the process that may write, by the lines of `locks`, which are those of /proc/locks.
[[nodiscard]] std::optional<long> lock_holder(std::istream& locks, const std::optional<LockedFile>& shared_memory,
                                              const std::optional<LockedFile>& store);

}  // namespace perdure::sqlite
