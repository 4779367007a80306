// SmallVolume: a file system in memory that can be filled. It is mounted where only this process and its children see
// it, so it goes with them, however they end.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "support/temporary_folder.h"

namespace perdure::test::storm {

// The process may not mount file systems.
class NotPermitted final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Call it before the process has threads and children. Throws NotPermitted.
void hide_mounts_of_this_process();

class SmallVolume {
 public:
  // Throws NotPermitted.
  explicit SmallVolume(std::size_t mebibytes);
  SmallVolume(const SmallVolume&) = delete;
  SmallVolume& operator=(const SmallVolume&) = delete;
  ~SmallVolume();

  // A folder on it, of the user that PostgreSQL runs as.
  [[nodiscard]] std::string tablespace() const { return mount_point() + "/tables"; }
  // Takes all space that is left, until free().
  void fill() const;
  void free() const;
  [[nodiscard]] std::size_t mebibytes_in_use() const;

 private:
  [[nodiscard]] std::string mount_point() const { return folder_.file("volume"); }

  TemporaryFolder folder_;
};

}  // namespace perdure::test::storm
