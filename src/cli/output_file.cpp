#include "cli/output_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit_code.h"

namespace perdure::cli {

namespace {

constexpr mode_t kRights = S_IRWXU | S_IRWXG | S_IRWXO;
constexpr mode_t kRightsOfNewFile = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Read, not set and set back: other threads of the process make files too.
mode_t current_umask() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "Umask:" || !(status >> word)) continue;
    return static_cast<mode_t>(std::strtoul(word.c_str(), nullptr, 8)) & kRights;
  }
  return S_IRWXG | S_IRWXO;
}

// /dev/stdout, /dev/fd/3 and the like are links too, to what the process has opened already.
std::optional<int> descriptor_of(const std::filesystem::path& path) {
  const auto number_in = [](const std::filesystem::path& name) -> std::optional<int> {
    std::error_code error;
    const auto folder = std::filesystem::canonical(name.parent_path(), error);
    if (error || folder != "/proc/" + std::to_string(::getpid()) + "/fd") return std::nullopt;
    const std::string text = name.filename().string();
    int number = -1;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  };
  if (const std::optional<int> number = number_in(path)) return number;
  std::error_code error;
  const auto destination = std::filesystem::read_symlink(path, error);
  return !error && destination.is_absolute() ? number_in(destination) : std::nullopt;
}

// Opening its name again would begin at the start of a file, and fail for a socket or a file of another user.
int duplicate(const std::string& option, const std::string& path, int number) {
  const int flags = ::fcntl(number, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
    throw CommandError(kUsage, option + ": cannot write to '" + path + "': it is open for reading only");
  }
  const int descriptor = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) throw CommandError(kUsage, option + ": cannot write to '" + path + "': " + error_text(errno));
  return descriptor;
}

// A signal may come just before a call that would wait, so no call waits for long.
constexpr int kPauseMs = 50;

bool is_set(const std::atomic<bool>* stop) {
  return stop != nullptr && *stop;
}

[[noreturn]] void throw_without_reader(const std::string& option, const std::string& path) {
  throw CommandError(kNegative, option + ": interrupted while '" + path + "' had no reader; nothing was written");
}

// Waits for the reader of a pipe, which may begin later.
int open_directly(const std::string& option, const std::string& path, const std::atomic<bool>* stop) {
  struct stat there = {};
  const bool is_pipe = ::stat(path.c_str(), &there) == 0 && S_ISFIFO(there.st_mode);
  int descriptor = -1;
  while ((descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0) {
    const bool has_no_reader = errno == ENXIO && is_pipe;
    if (errno != EINTR && !has_no_reader) break;
    if (is_set(stop)) throw_without_reader(option, path);
    if (has_no_reader) (void)::poll(nullptr, 0, kPauseMs);
  }
  if (descriptor < 0) throw CommandError(kUsage, option + ": cannot write to '" + path + "': " + error_text(errno));
  return descriptor;
}

// Only a descriptor that others share blocks, and it stays so for them.
bool may_block(int descriptor) {
  struct stat there = {};
  return ::fstat(descriptor, &there) == 0 && !S_ISREG(there.st_mode) &&
         (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0;
}

}  // namespace

DescriptorBuffer::DescriptorBuffer(int descriptor, const std::atomic<bool>* stop)
    : descriptor_(descriptor), may_block_(may_block(descriptor)), stop_(stop) {
  setp(buffer_.data(), end());
}

DescriptorBuffer::~DescriptorBuffer() {
  ::close(descriptor_);
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (sync() != 0) return traits_type::eof();
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  *pptr() = traits_type::to_char_type(character);
  pbump(1);
  return character;
}

int DescriptorBuffer::sync() {
  for (const char* next = pbase(); next != pptr();) {
    auto size = static_cast<std::size_t>(pptr() - next);
    if (may_block_) size = std::min<std::size_t>(size, PIPE_BUF);  // which a pipe takes at once when it is ready
    const ssize_t written = may_block_ && !waits_for_reader() ? -1 : ::write(descriptor_, next, size);
    if (written < 0 && (errno == EINTR || errno == EAGAIN) && waits_for_reader()) continue;
    if (written < 0) {
      if (error_ == 0) error_ = errno;
      return -1;
    }
    next += written;
  }
  setp(buffer_.data(), end());
  return 0;
}

bool DescriptorBuffer::waits_for_reader() const {
  pollfd reader = {.fd = descriptor_, .events = POLLOUT, .revents = 0};
  do {  // also after the reader has gone, which write() reports
    if (::poll(&reader, 1, is_set(stop_) ? 0 : kPauseMs) > 0) return true;
  } while (!is_set(stop_));
  errno = EINTR;
  return false;
}

OutputFile::OutputFile(const std::string& option, const std::string& path, const std::atomic<bool>* stop)
    : OutputFile(path, open_target(option, path, stop), stop) {}

OutputFile::OutputFile(std::string path, Target target, const std::atomic<bool>* stop)
    : path_(std::move(path)),
      target_(std::move(target)),
      temporary_(target_.temporary),
      buffer_(target_.descriptor, stop),
      stream_(&buffer_) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
}

OutputFile::Target OutputFile::open_target(const std::string& option, const std::string& path,
                                           const std::atomic<bool>* stop) {
  struct stat there = {};
  const bool exists = ::lstat(path.c_str(), &there) == 0;
  if (path.empty() || path.ends_with('/') || (exists && S_ISDIR(there.st_mode))) {
    throw CommandError(kUsage, option + ": '" + path + "' is not the name of a file");
  }
  Target target;
  if (exists && S_ISLNK(there.st_mode)) {
    if (const std::optional<int> number = descriptor_of(path)) {
      target.is_stream = true;
      target.descriptor = duplicate(option, path, *number);
      return target;
    }
    std::error_code ignored;
    throw CommandError(kUsage, option + ": '" + path + "' is a symbolic link to '" +
                                   std::filesystem::read_symlink(path, ignored).string() + "'; name the target file");
  }
  if (exists && !S_ISREG(there.st_mode)) {
    target.descriptor = open_directly(option, path, stop);
    return target;
  }
  target.replaces = exists;
  target.mode = exists ? there.st_mode & kRights : kRightsOfNewFile & ~current_umask();
  target.owner = there.st_uid;
  target.group = there.st_gid;
  target.temporary = directory_of(path) + "/.perdure-XXXXXX";
  target.descriptor = ::mkostemp(target.temporary.data(), O_CLOEXEC);
  if (target.descriptor < 0) {
    throw CommandError(kUsage, option + ": cannot write the file '" + path +
                                   "': cannot create a file in its directory (" + error_text(errno) + ")");
  }
  return target;
}

bool OutputFile::is_descriptor(int descriptor) const noexcept {
  struct stat mine = {};
  struct stat other = {};
  return target_.is_stream && ::fstat(target_.descriptor, &mine) == 0 && ::fstat(descriptor, &other) == 0 &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

// The rights come last: until then the file is the user's alone.
void OutputFile::give_rights() const {
  const int file = target_.descriptor;
  struct stat made = {};
  if (::fstat(file, &made) != 0) fail("could not be written", errno);
  if (target_.replaces && made.st_uid != target_.owner) (void)::fchown(file, target_.owner, target_.group);  // as root
  if (target_.replaces && made.st_gid != target_.group && ::fchown(file, static_cast<uid_t>(-1), target_.group) != 0) {
    fail("cannot be replaced with the same group; remove it, or write another file", errno);
  }
  if (::fchmod(file, target_.mode) != 0) fail("cannot be replaced with the same mode", errno);
}

void OutputFile::sync_directory() const {
  const int directory = ::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;  // one that may be written and not read cannot be synced
  const int error = ::fsync(directory) == 0 || errno == EINVAL ? 0 : errno;
  ::close(directory);
  if (error != 0) fail("was written, but its directory could not be synced", error);
}

void OutputFile::check_written() const {
  if (!stream_) fail("could not be written completely; is the disk full?", buffer_.error());
}

void OutputFile::finish() {
  stream_.flush();
  check_written();
  if (!is_replacement()) return;
  give_rights();
  if (::fsync(target_.descriptor) != 0) fail("could not be synced", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("could not be replaced", errno);
  temporary_.clear();
  sync_directory();
}

void OutputFile::fail(const std::string& what, int error) const {
  throw CommandError(kNegative,
                     "the file '" + path_ + "' " + what + (error != 0 ? " (" + error_text(error) + ")" : ""));
}

}  // namespace perdure::cli
