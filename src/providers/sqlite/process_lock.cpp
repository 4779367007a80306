#include "providers/sqlite/process_lock.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perdure/provider_error.h>

namespace perdure::sqlite {

namespace {

constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW;
constexpr char kMark = 1;

// Locks of the open file description, not of the process: closing another descriptor of the file, as any library in
// this process may do, does not release them, and two stores in one process see each other.
struct flock byte_lock(std::int64_t process, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = process;
  lock.l_len = 1;
  return lock;
}

// Only for a file that was just created: an existing one may be a link that leads out of the directory.
void resemble(int file, const std::string& store) {
  struct stat model = {};
  if (::stat(store.c_str(), &model) != 0) return;
  const uid_t owner = ::geteuid() == 0 ? model.st_uid : static_cast<uid_t>(-1);
  // A group that this process is not a member of cannot be given; the mode is the store's all the same.
  if (::fchown(file, owner, model.st_gid) != 0) errno = 0;
  if (::fchmod(file, model.st_mode & 0666) != 0) errno = 0;
}

// Returns -1 and sets errno if it cannot be created, EEXIST if it is there.
//
// The file gets its name when it has its mode: another process that opened it before would be refused. File systems
// that know no files without names, and systems without /proc, create it in two steps.
int create(const std::string& path, const std::string& store) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const int nameless = ::open(folder.empty() ? "." : folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (nameless >= 0) {
    resemble(nameless, store);
    const std::string opened = "/proc/self/fd/" + std::to_string(nameless);
    if (::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return nameless;
    const int error = errno;
    ::close(nameless);
    errno = error;
    if (error == EEXIST) return -1;
  }
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, 0600);
  if (file >= 0) resemble(file, store);
  return file;
}

// Returns -1 and sets errno if it cannot be opened.
int open_or_create(const std::string& path, const std::string& store, bool& writable) {
  for (;;) {
    int file = ::open(path.c_str(), O_RDWR | kFlags);
    if (file >= 0) return file;
    if (errno == EACCES) {
      writable = false;
      return ::open(path.c_str(), O_RDONLY | kFlags);
    }
    if (errno != ENOENT) return -1;
    file = create(path, store);
    if (file >= 0) return file;
    if (errno != EEXIST) return -1;
  }
}

}  // namespace

ProcessLocks::ProcessLocks(const std::string& store) : path_(store + "-processes") {
  file_ = open_or_create(path_, store, writable_);
  if (file_ < 0) {
    const bool no_descriptor = errno == EMFILE || errno == ENFILE;
    fail(no_descriptor ? "out of file descriptors; raise the limit (ulimit -n, fs.file-max)"
                       : "check that the directory and the file are accessible");
  }
  struct stat found = {};
  if (::fstat(file_, &found) == 0) {
    device_ = found.st_dev;
    inode_ = found.st_ino;
  }
}

ProcessLocks::~ProcessLocks() {
  ::close(file_);
}

void ProcessLocks::fail(const std::string& what) const {
  const std::string why = std::generic_category().message(errno);
  throw ProviderFailure({ProviderErrorKind::kUnavailable, path_ + ": " + why + "; " + what});
}

bool ProcessLocks::lock(std::int64_t process) {
  if (is_locked(process)) return false;
  // A process that may only read the file takes a shared lock on the byte, which other processes see as well.
  struct flock lock = byte_lock(process, writable_ ? F_WRLCK : F_RDLCK);
  if (::fcntl(file_, F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    fail("the file cannot be locked; use a local file system");
  }
  // Without the mark, on a full disk or by one who may only read, the locks of this process expire when it dies.
  if (writable_ && ::pwrite(file_, &kMark, 1, process) != 1) errno = 0;
  return true;
}

bool ProcessLocks::is_locked(std::int64_t process) const {
  struct flock lock = byte_lock(process, F_WRLCK);
  // In doubt it is: its leases will expire.
  return ::fcntl(file_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

ProcessState ProcessLocks::state_of(std::int64_t process) const {
  if (is_locked(process)) return ProcessState::kOpen;
  char mark = 0;
  const bool was_locked = ::pread(file_, &mark, 1, process) == 1 && mark == kMark;
  return was_locked ? ProcessState::kGone : ProcessState::kUnknown;
}

bool ProcessLocks::has_moved() const {
  struct stat found = {};
  if (::stat(path_.c_str(), &found) != 0) return errno == ENOENT;
  return found.st_dev != device_ || found.st_ino != inode_;
}

}  // namespace perdure::sqlite
