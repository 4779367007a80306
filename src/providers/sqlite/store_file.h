// StoreFile: the file that a store was opened on, and those of its log. Names can lead elsewhere later: a link is
// re-pointed, a file is deleted, moved or replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <perdure/provider_error.h>
#include "providers/sqlite/connection.h"

namespace perdure::sqlite {

// Any thread may use it, once it is complete.
class StoreFile {
 public:
  // The file of `connection`, which stays open for as long as this object lives: its inode is not used again until
  // then. Throws ProviderFailure with kUnavailable if the file is replaced at this moment.
  explicit StoreFile(const Connection& connection);

  // Absolute and without links, so it does not depend on the working directory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Completes it after the first transaction: from now on the log (-wal) and its shared memory (-shm) are checked too.
  // SQLite keeps both while a connection that has read is open. Without them other processes see neither the commits
  // nor the locks of this one.
  void remember_log();
  // Returns the error with which every call fails once a path no longer leads to its file. One stat() for each file.
  // Ignores a stat() that fails for another reason, for example because a directory cannot be searched at the moment.
  [[nodiscard]] std::optional<ProviderError> problem() const;
  // Throws ProviderFailure unless `connection` has opened this file: kStoreFailed, or kUnavailable if the path cannot
  // be followed at the moment.
  void check(const Connection& connection) const;

 private:
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  struct LogFile {
    std::string path;
    Identity identity;
  };
  // Absent: the file cannot be asked.
  [[nodiscard]] static std::optional<Identity> identity_of(const std::string& path);
  [[nodiscard]] static bool has_moved(const std::string& path, const Identity& identity);
  [[nodiscard]] ProviderError moved() const;

  std::string path_;
  std::optional<Identity> identity_;  // absent: a file system layer of the user keeps it elsewhere
  std::vector<LogFile> log_;
};

}  // namespace perdure::sqlite
