#include "small_volume.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "support/postgres_programs.h"

namespace perdure::test::storm {

namespace {

void require(bool done, const char* what) {
  if (!done) throw NotPermitted(std::string(what) + " is not permitted: " + std::generic_category().message(errno));
}

}  // namespace

void hide_mounts_of_this_process() {
  require(::unshare(CLONE_NEWNS) == 0, "a mount namespace");
  require(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "to hide mounts");
}

SmallVolume::SmallVolume(std::size_t mebibytes) {
  std::filesystem::create_directory(mount_point());
  const std::string options = "size=" + std::to_string(mebibytes) + "m";
  require(::mount("tmpfs", mount_point().c_str(), "tmpfs", 0, options.c_str()) == 0, "to mount a file system");
  std::filesystem::create_directory(tablespace());
  for (const std::string& path : {folder_.path().string(), mount_point(), tablespace()}) give_to_postgres_user(path);
}

SmallVolume::~SmallVolume() {
  ::umount2(mount_point().c_str(), MNT_DETACH);
}

void SmallVolume::fill() const {
  const int file = ::open((mount_point() + "/filler").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "the filler of the volume");
  const std::string block(1 << 20, 'x');
  for (std::size_t size = block.size(); size > 0;) {
    const ssize_t written = ::write(file, block.data(), size);
    if (written <= 0) size /= 2;
  }
  ::close(file);
}

void SmallVolume::free() const {
  std::filesystem::remove(mount_point() + "/filler");
}

std::size_t SmallVolume::mebibytes_in_use() const {
  const std::filesystem::space_info space = std::filesystem::space(mount_point());
  return (space.capacity - space.free) >> 20U;
}

}  // namespace perdure::test::storm
