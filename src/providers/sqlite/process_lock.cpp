#include "providers/sqlite/process_lock.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <perdure/provider_error.h>

namespace perdure::sqlite {

namespace {

// Locks of the open file description, not of the process: closing another descriptor of the file, as any library in
// this process may do, does not release them, and two stores in one process see each other.
struct flock byte_lock(std::int64_t process) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = process;
  lock.l_len = 1;
  return lock;
}

}  // namespace

ProcessLocks::ProcessLocks(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) {
    const std::string why = std::generic_category().message(errno);
    throw ProviderFailure(
        {ProviderErrorKind::kUnavailable, path_ + ": " + why + "; check that the folder is writable"});
  }
}

ProcessLocks::~ProcessLocks() {
  ::close(file_);
}

bool ProcessLocks::lock(std::int64_t process) {
  struct flock lock = byte_lock(process);
  if (::fcntl(file_, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  const std::string why = std::generic_category().message(errno);
  throw ProviderFailure({ProviderErrorKind::kUnavailable, path_ + ": cannot be locked: " + why});
}

bool ProcessLocks::is_alive(std::int64_t process) const {
  struct flock lock = byte_lock(process);
  // In doubt it is alive: its leases will expire.
  return ::fcntl(file_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace perdure::sqlite
