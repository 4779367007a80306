// StoreFile: the file that a store was opened on. Names can lead elsewhere later: a link is re-pointed, a file is
// deleted, moved or replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <perdure/provider_error.h>
#include "providers/sqlite/connection.h"

namespace perdure::sqlite {

// Immutable, so any thread may use it.
class StoreFile {
 public:
  // The file of `connection`, which stays open for as long as this object lives: its inode is not used again until
  // then. Throws ProviderFailure with kUnavailable if the file is replaced at this moment.
  explicit StoreFile(const Connection& connection);

  // Absolute and without links, so it does not depend on the working directory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns the error with which every call fails once the path no longer leads to the file. One stat().
  [[nodiscard]] std::optional<ProviderError> problem() const;
  // Throws ProviderFailure with kStoreFailed unless `connection` has opened this file.
  void check(const Connection& connection) const;

 private:
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  [[nodiscard]] std::optional<Identity> identity_of_path() const;
  [[nodiscard]] ProviderError moved() const;

  std::string path_;
  std::optional<Identity> identity_;  // absent: a file system layer of the user keeps it elsewhere
};

}  // namespace perdure::sqlite
