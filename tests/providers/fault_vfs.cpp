#include "providers/fault_vfs.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <sqlite3.h>

namespace perdure::testing {

namespace {

constexpr std::size_t kCalls = 9;
constexpr std::size_t kRoles = 4;
constexpr std::size_t kSector = 512;

constexpr bool is_change(FileCall call) noexcept {
  return call == FileCall::kWrite || call == FileCall::kTruncate || call == FileCall::kSync ||
         call == FileCall::kDelete;
}

// Locks are the operating system's, not the disk's: they work without power, so that everything can be closed.
constexpr bool needs_power(FileCall call) noexcept {
  return call != FileCall::kLock && call != FileCall::kShmLock;
}

FileRole role_of(std::string_view path) noexcept {
  if (path.ends_with("-wal")) return FileRole::kLog;
  if (path.ends_with("-journal")) return FileRole::kJournal;
  return path.empty() || path.ends_with("-shm") ? FileRole::kOther : FileRole::kDatabase;
}

struct Change {
  FileCall call = FileCall::kWrite;
  std::size_t offset = 0;  // of a truncation: the size
  std::string bytes;
};

// What a disk holds of one file, and what it was told since the last sync.
struct DiskFile {
  bool exists = false;
  std::string bytes;
  std::vector<Change> pending;

  void apply(const Change& change) {
    exists = change.call != FileCall::kDelete;
    if (change.call != FileCall::kWrite) {
      bytes.resize(change.offset);
      return;
    }
    if (bytes.size() < change.offset + change.bytes.size()) bytes.resize(change.offset + change.bytes.size());
    bytes.replace(change.offset, change.bytes.size(), change.bytes);
  }
  void sync() {
    exists = true;
    for (const Change& change : std::exchange(pending, {})) apply(change);
  }
  // The folder's sync, which says which files there are.
  void sync_deletion() {
    const auto is_deletion = [](const Change& change) { return change.call == FileCall::kDelete; };
    const auto behind = std::find_if(pending.rbegin(), pending.rend(), is_deletion).base();
    for (auto change = pending.begin(); change != behind; ++change) apply(*change);
    pending.erase(pending.begin(), behind);
  }
  void keep_some(std::minstd_rand& dice) {
    for (Change& change : std::exchange(pending, {})) {
      const auto choice = dice() % 4;
      if (choice == 0) continue;
      if (choice == 1 && change.call == FileCall::kWrite)
        change.bytes.resize(change.bytes.size() / 2 / kSector * kSector);
      apply(change);
    }
  }
};

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

class FaultVfs::Implementation {
 public:
  Implementation();
  ~Implementation() { sqlite3_vfs_unregister(&vfs_); }

  // Counts the operation and answers what SQLite is told instead of its result, SQLITE_OK if it may go on.
  int before(FileOperation operation);
  // Whether a file may grow to this size.
  [[nodiscard]] bool has_room(const std::string& path, std::uint64_t size) const;
  void note_open(const std::string& path);
  void note_change(const std::string& path, Change change);
  void note_sync(const std::string& path);
  void note_folder_sync();

  [[nodiscard]] sqlite3_vfs& below() const noexcept { return *below_; }

  std::string name_;
  mutable std::mutex mutex_;
  mutable std::condition_variable counted_;
  Hook hook_;
  std::array<std::array<std::uint64_t, kRoles>, kCalls> counts_{};
  std::optional<std::uint64_t> capacity_;
  std::uint64_t changes_ = 0;
  std::optional<std::uint64_t> changes_left_;
  bool has_power_ = true;
  std::map<std::string, DiskFile> disk_;

 private:
  sqlite3_vfs* below_;
  sqlite3_vfs vfs_{};
};

namespace {

using Implementation = FaultVfs::Implementation;

// An open file: SQLite allocates the bytes, with those of the file below behind them.
struct OpenFile {
  sqlite3_file base;
  Implementation* vfs;
  std::string* path;
  FileRole role;
  sqlite3_file* below;
};
constexpr std::size_t kBelowOffset = (sizeof(OpenFile) + 15) / 16 * 16;

OpenFile& opened(sqlite3_file* file) noexcept {
  return *reinterpret_cast<OpenFile*>(file);
}
int before(sqlite3_file* file, FileCall call) {
  return opened(file).vfs->before({.call = call, .role = opened(file).role});
}

int close_file(sqlite3_file* file) {
  OpenFile& self = opened(file);
  const int code = self.below->pMethods == nullptr ? SQLITE_OK : self.below->pMethods->xClose(self.below);
  delete self.path;
  return code;
}

int read_file(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  if (before(file, FileCall::kRead) != SQLITE_OK) return SQLITE_IOERR_READ;
  return opened(file).below->pMethods->xRead(opened(file).below, data, size, offset);
}

int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const int fault = before(file, FileCall::kWrite);
  if (fault != SQLITE_OK) return fault == SQLITE_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  OpenFile& self = opened(file);
  if (!self.vfs->has_room(*self.path, static_cast<std::uint64_t>(offset + size))) return SQLITE_FULL;
  const int code = self.below->pMethods->xWrite(self.below, data, size, offset);
  if (code == SQLITE_OK) {
    self.vfs->note_change(*self.path, {.call = FileCall::kWrite,
                                       .offset = static_cast<std::size_t>(offset),
                                       .bytes = {static_cast<const char*>(data), static_cast<std::size_t>(size)}});
  }
  return code;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (before(file, FileCall::kTruncate) != SQLITE_OK) return SQLITE_IOERR_TRUNCATE;
  OpenFile& self = opened(file);
  const int code = self.below->pMethods->xTruncate(self.below, size);
  if (code == SQLITE_OK) {
    self.vfs->note_change(*self.path,
                          {.call = FileCall::kTruncate, .offset = static_cast<std::size_t>(size), .bytes = {}});
  }
  return code;
}

int sync_file(sqlite3_file* file, int /*flags*/) {
  if (before(file, FileCall::kSync) != SQLITE_OK) return SQLITE_IOERR_FSYNC;
  opened(file).vfs->note_sync(*opened(file).path);
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return opened(file).below->pMethods->xFileSize(opened(file).below, size);
}

int lock_file(sqlite3_file* file, int level) {
  if (const int fault = before(file, FileCall::kLock); fault != SQLITE_OK) return SQLITE_IOERR_LOCK;
  return opened(file).below->pMethods->xLock(opened(file).below, level);
}

int unlock_file(sqlite3_file* file, int level) {
  return opened(file).below->pMethods->xUnlock(opened(file).below, level);
}

int check_reserved_lock(sqlite3_file* file, int* answer) {
  return opened(file).below->pMethods->xCheckReservedLock(opened(file).below, answer);
}

int control_file(sqlite3_file* file, int what, void* argument) {
  return opened(file).below->pMethods->xFileControl(opened(file).below, what, argument);
}

int sector_size(sqlite3_file* file) {
  return opened(file).below->pMethods->xSectorSize(opened(file).below);
}

int characteristics(sqlite3_file* file) {
  return opened(file).below->pMethods->xDeviceCharacteristics(opened(file).below);
}

int map_shared(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  if (before(file, FileCall::kShmMap) != SQLITE_OK) return SQLITE_IOERR_SHMSIZE;
  return opened(file).below->pMethods->xShmMap(opened(file).below, region, size, extend, memory);
}

int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  if (before(file, FileCall::kShmLock) != SQLITE_OK) return SQLITE_IOERR_SHMLOCK;
  return opened(file).below->pMethods->xShmLock(opened(file).below, offset, count, flags);
}

void order_shared(sqlite3_file* file) {
  opened(file).below->pMethods->xShmBarrier(opened(file).below);
}

int unmap_shared(sqlite3_file* file, int delete_it) {
  return opened(file).below->pMethods->xShmUnmap(opened(file).below, delete_it);
}

// Version 2: shared memory for the log's index, but no mapped reads, which could not be counted.
constexpr sqlite3_io_methods kMethods = {
    2,           close_file,   read_file,           write_file,   truncate_file, sync_file,       file_size,
    lock_file,   unlock_file,  check_reserved_lock, control_file, sector_size,   characteristics, map_shared,
    lock_shared, order_shared, unmap_shared,        nullptr,      nullptr};

Implementation& implementation_of(sqlite3_vfs* vfs) noexcept {
  return *static_cast<Implementation*>(vfs->pAppData);
}

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  Implementation& implementation = implementation_of(vfs);
  file->pMethods = nullptr;
  const std::string name = path == nullptr ? "" : path;
  if (implementation.before({.call = FileCall::kOpen, .role = role_of(name)}) != SQLITE_OK) return SQLITE_CANTOPEN;
  if (!name.empty()) implementation.note_open(name);
  auto* below = reinterpret_cast<sqlite3_file*>(reinterpret_cast<std::byte*>(file) + kBelowOffset);
  const int code = implementation.below().xOpen(&implementation.below(), path, below, flags, out_flags);
  if (code != SQLITE_OK) return code;
  new (file) OpenFile{{&kMethods}, &implementation, new std::string(name), role_of(name), below};
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  Implementation& implementation = implementation_of(vfs);
  if (implementation.before({.call = FileCall::kDelete, .role = role_of(path)}) != SQLITE_OK) {
    return SQLITE_IOERR_DELETE;
  }
  const int code = implementation.below().xDelete(&implementation.below(), path, 0);
  if (code != SQLITE_OK) return code;
  // Without the folder's sync the file may be back after a power cut.
  implementation.note_change(path, {.call = FileCall::kDelete, .offset = 0, .bytes = {}});
  if (sync_folder != 0) implementation.note_folder_sync();
  return SQLITE_OK;
}

}  // namespace

FaultVfs::Implementation::Implementation() : below_(sqlite3_vfs_find(nullptr)) {
  static std::mutex names;
  static int last = 0;
  {
    const std::scoped_lock guard(names);
    name_ = "perdure-fault-" + std::to_string(++last);
  }
  vfs_ = *below_;
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(kBelowOffset) + below_->szOsFile;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  sqlite3_vfs_register(&vfs_, 0);
}

int FaultVfs::Implementation::before(FileOperation operation) {
  Hook hook;
  {
    const std::scoped_lock guard(mutex_);
    ++counts_[static_cast<std::size_t>(operation.call)][static_cast<std::size_t>(operation.role)];
    if (is_change(operation.call)) {
      ++changes_;
      if (changes_left_ && (*changes_left_)-- == 0) has_power_ = false;
      if (!has_power_) changes_left_.reset();
    }
    if (!has_power_ && needs_power(operation.call)) return SQLITE_IOERR;
    hook = hook_;
  }
  counted_.notify_all();
  switch (hook ? hook(operation) : Fault::kNone) {
    case Fault::kNone:
      return SQLITE_OK;
    case Fault::kDiskFull:
      return SQLITE_FULL;
    case Fault::kInputOutput:
      break;
  }
  return SQLITE_IOERR;
}

bool FaultVfs::Implementation::has_room(const std::string& path, std::uint64_t size) const {
  const std::scoped_lock guard(mutex_);
  if (!capacity_) return true;
  std::uint64_t sum = 0;
  for (const auto& [other, file] : disk_) {
    std::error_code missing;
    const std::uintmax_t bytes = std::filesystem::file_size(other, missing);
    const std::uint64_t there = missing ? 0 : bytes;
    if (other == path && size <= there) return true;
    sum += other == path ? size : there;
  }
  return sum <= *capacity_;
}

void FaultVfs::Implementation::note_open(const std::string& path) {
  const std::scoped_lock guard(mutex_);
  const auto [entry, is_new] = disk_.try_emplace(path);
  if (!is_new || !std::filesystem::exists(path)) return;
  entry->second = {.exists = true, .bytes = read_whole(path), .pending = {}};
}

void FaultVfs::Implementation::note_change(const std::string& path, Change change) {
  const std::scoped_lock guard(mutex_);
  disk_[path].pending.push_back(std::move(change));
}

void FaultVfs::Implementation::note_sync(const std::string& path) {
  bool is_new = false;
  {
    const std::scoped_lock guard(mutex_);
    is_new = !disk_[path].exists;
    disk_[path].sync();
  }
  // SQLite's own layer syncs the folder with the first sync of a new log or journal.
  if (is_new && role_of(path) != FileRole::kDatabase) note_folder_sync();
}

void FaultVfs::Implementation::note_folder_sync() {
  const std::scoped_lock guard(mutex_);
  for (auto& [path, file] : disk_) file.sync_deletion();
}

FaultVfs::FaultVfs() : implementation_(std::make_unique<Implementation>()) {}
FaultVfs::~FaultVfs() = default;

const std::string& FaultVfs::name() const noexcept {
  return implementation_->name_;
}

void FaultVfs::set_hook(Hook hook) {
  const std::scoped_lock guard(implementation_->mutex_);
  implementation_->hook_ = std::move(hook);
}

void FaultVfs::set_capacity(std::optional<std::uint64_t> bytes) {
  const std::scoped_lock guard(implementation_->mutex_);
  implementation_->capacity_ = bytes;
}

std::uint64_t FaultVfs::count(FileCall call, std::optional<FileRole> role) const {
  const std::scoped_lock guard(implementation_->mutex_);
  const auto& counts = implementation_->counts_[static_cast<std::size_t>(call)];
  if (role) return counts[static_cast<std::size_t>(*role)];
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) sum += count;
  return sum;
}

std::uint64_t FaultVfs::count_all() const {
  std::uint64_t sum = 0;
  for (std::size_t call = 0; call < kCalls; ++call) sum += count(static_cast<FileCall>(call));
  return sum;
}

void FaultVfs::wait_for(FileCall call, FileRole role, std::uint64_t count) const {
  std::unique_lock lock(implementation_->mutex_);
  const std::uint64_t& counted =
      implementation_->counts_[static_cast<std::size_t>(call)][static_cast<std::size_t>(role)];
  implementation_->counted_.wait(lock, [&] { return counted >= count; });
}

std::uint64_t FaultVfs::changes() const {
  const std::scoped_lock guard(implementation_->mutex_);
  return implementation_->changes_;
}

void FaultVfs::lose_power_after(std::uint64_t count) {
  const std::scoped_lock guard(implementation_->mutex_);
  implementation_->changes_left_ = count;
}

bool FaultVfs::has_lost_power() const {
  const std::scoped_lock guard(implementation_->mutex_);
  return !implementation_->has_power_;
}

void FaultVfs::restore_files(std::optional<std::uint32_t> seed) {
  const std::scoped_lock guard(implementation_->mutex_);
  std::minstd_rand dice(seed.value_or(0) + 1);
  for (auto& [path, file] : std::exchange(implementation_->disk_, {})) {
    std::filesystem::remove(path + "-shm");
    if (seed) file.keep_some(dice);
    std::filesystem::remove(path);
    if (file.exists) std::ofstream(path, std::ios::binary) << file.bytes;
  }
}

}  // namespace perdure::testing
