// The lines of /proc/locks by which an error names the process that holds a store.
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "providers/sqlite/lock_holder.h"
#include "support/temporary_folder.h"

namespace perdure::sqlite {
namespace {

constexpr LockedFile kSharedMemory{.device_major = 8, .device_minor = 26, .inode = 5'678};
constexpr LockedFile kStore{.device_major = 8, .device_minor = 26, .inode = 5'677};

std::optional<long> holder_by(const std::string& lines) {
  std::istringstream locks(lines);
  return lock_holder(locks, kSharedMemory, kStore);
}

TEST(SqliteLockHolder, IsTheProcessThatLocksTheByteOfTheWriter) {
  EXPECT_EQ(holder_by("1: POSIX  ADVISORY  READ 11 08:1a:5678 120 120\n"
                      "2: POSIX  ADVISORY  WRITE 12 08:1a:5678 123 123\n"
                      "3: POSIX  ADVISORY  WRITE 13 08:1a:5678 120 120\n"),
            13);
  EXPECT_EQ(holder_by("1: POSIX  ADVISORY  WRITE 14 08:1a:5677 1073741824 1073742335\n"), 14);
}

// An inode number is unique on one device only.
TEST(SqliteLockHolder, IsNotAProcessThatLocksThatInodeOnAnotherDevice) {
  EXPECT_EQ(holder_by("1: POSIX  ADVISORY  WRITE 15 08:1b:5678 120 120\n"
                      "2: POSIX  ADVISORY  WRITE 16 09:1a:5677 1073741824 EOF\n"),
            std::nullopt);
}

TEST(SqliteLockHolder, SkipsLinesThatItCannotRead) {
  EXPECT_EQ(holder_by("1: -> POSIX  ADVISORY  WRITE 17 08:1a:5678 120 120\n"
                      "2: POSIX  ADVISORY  WRITE 18 <none>:0 120 120\n"
                      "3: POSIX  ADVISORY  WRITE -1 08:1a:5678 120 120\n"
                      "\n"
                      "4: POSIX  ADVISORY  WRITE 19 08:1a:5678 120 120\n"),
            19);
}

TEST(SqliteLockHolder, NamesAFileAsTheSystemDoes) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("locked");
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 120;
  lock.l_len = 1;
  ASSERT_EQ(::fcntl(file, F_SETLK, &lock), 0);
  std::ifstream locks("/proc/locks");
  EXPECT_EQ(lock_holder(locks, locked_file(path), std::nullopt), ::getpid());
  ::close(file);
  EXPECT_EQ(locked_file(folder.file("absent")), std::nullopt);
}

}  // namespace
}  // namespace perdure::sqlite
