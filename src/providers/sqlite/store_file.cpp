#include "providers/sqlite/store_file.h"

#include <sys/stat.h>

namespace perdure::sqlite {

StoreFile::StoreFile(const Connection& connection) : path_(connection.file_name()), identity_(identity_of_path()) {
  if (!connection.has_moved()) return;
  throw ProviderFailure(
      {ProviderErrorKind::kUnavailable, path_ + ": the file was replaced while it was opened; retry"});
}

std::optional<StoreFile::Identity> StoreFile::identity_of_path() const {
  struct stat found = {};
  if (::stat(path_.c_str(), &found) != 0) return std::nullopt;
  return Identity{.device = found.st_dev, .inode = found.st_ino};
}

std::optional<ProviderError> StoreFile::problem() const {
  if (!identity_ || identity_of_path() == identity_) return std::nullopt;
  return moved();
}

void StoreFile::check(const Connection& connection) const {
  if (!identity_) return;
  if (connection.has_moved() || identity_of_path() != identity_) throw ProviderFailure(moved());
}

ProviderError StoreFile::moved() const {
  return {ProviderErrorKind::kStoreFailed,
          path_ +
              ": the file was deleted, moved or replaced while the store was open, and commits since then may be lost; "
              "restore the file, then reopen the store"};
}

}  // namespace perdure::sqlite
