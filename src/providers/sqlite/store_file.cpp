#include "providers/sqlite/store_file.h"

#include <cerrno>

#include <sys/stat.h>

namespace perdure::sqlite {

StoreFile::StoreFile(const Connection& connection) : path_(connection.file_name()), identity_(identity_of(path_)) {
  if (!connection.has_moved()) return;
  throw ProviderFailure(
      {ProviderErrorKind::kUnavailable, path_ + ": the file was replaced while it was opened; retry"});
}

std::optional<StoreFile::Identity> StoreFile::identity_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return Identity{.device = found.st_dev, .inode = found.st_ino};
}

bool StoreFile::has_moved(const std::string& path, const Identity& identity) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return errno == ENOENT || errno == ENOTDIR;
  return identity != Identity{.device = found.st_dev, .inode = found.st_ino};
}

void StoreFile::remember_log() {
  for (const char* const suffix : {"-wal", "-shm"}) {
    const std::string path = path_ + suffix;
    if (const std::optional<Identity> found = identity_of(path)) log_.push_back({path, *found});
  }
}

std::optional<ProviderError> StoreFile::problem() const {
  if (!identity_) return std::nullopt;
  if (has_moved(path_, *identity_)) return moved();
  for (const LogFile& file : log_) {
    if (!has_moved(file.path, file.identity)) continue;
    return ProviderError(ProviderErrorKind::kStoreFailed,
                         file.path +
                             ": the file was deleted, moved or replaced while the store was open, and commits may be "
                             "lost; end all processes that have the store open, then reopen it, and restore a backup "
                             "if commits are missing");
  }
  return std::nullopt;
}

void StoreFile::check(const Connection& connection) const {
  if (!identity_) return;
  if (const std::optional<ProviderError> found = problem()) throw ProviderFailure(*found);
  if (!connection.has_moved()) return;
  if (identity_of(path_) == identity_) throw ProviderFailure(moved());  // it led elsewhere when it was opened
  throw ProviderFailure(
      {ProviderErrorKind::kUnavailable, path_ + ": the path cannot be followed; check the rights on its directories"});
}

ProviderError StoreFile::moved() const {
  return {ProviderErrorKind::kStoreFailed,
          path_ +
              ": the file was deleted, moved or replaced while the store was open, and commits since then may be lost; "
              "restore the file, then reopen the store"};
}

}  // namespace perdure::sqlite
