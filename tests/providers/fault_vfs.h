// A file system for SQLite that counts, blocks and fails what goes through it, and can lose power. It lies over the
// default one: files are real, and once it is gone the default one opens them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace perdure::testing {

enum class FileCall : std::uint8_t { kOpen, kRead, kWrite, kTruncate, kSync, kDelete, kLock, kShmMap, kShmLock };
enum class FileRole : std::uint8_t { kDatabase, kLog, kJournal, kOther };
enum class Fault : std::uint8_t { kNone, kDiskFull, kInputOutput };

struct FileOperation {
  FileCall call = FileCall::kRead;
  FileRole role = FileRole::kOther;
};

// Registered with SQLite from its construction to its end, which must come after that of all connections.
class FaultVfs {
 public:
  FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  ~FaultVfs();

  // For SqliteOptions::vfs.
  [[nodiscard]] const std::string& name() const noexcept;

  // Called before each operation, on the thread that does it, after it was counted; it may block. What it answers
  // happens instead of the operation. Empty: nothing is disturbed.
  using Hook = std::function<Fault(const FileOperation&)>;
  void set_hook(Hook hook);

  // A write that would make the files together larger fails as on a full disk. Absent: there is always room.
  void set_capacity(std::optional<std::uint64_t> bytes);

  // Operations so far; without a role: on all files.
  [[nodiscard]] std::uint64_t count(FileCall call, std::optional<FileRole> role = std::nullopt) const;
  [[nodiscard]] std::uint64_t count_all() const;
  // Returns once as many were counted.
  void wait_for(FileCall call, FileRole role, std::uint64_t count) const;

  // ---- Power. A sync costs nothing here: what it makes durable is kept in memory. ----

  // Operations that change a disk: writes, truncations, syncs, deletions.
  [[nodiscard]] std::uint64_t changes() const;
  // The change after `count` more of them does not happen, and nothing works from then on.
  void lose_power_after(std::uint64_t count);
  [[nodiscard]] bool has_lost_power() const;
  // Makes the files what the disk would hold: everything that was synced, and of the rest nothing or, with a seed, some
  // writes, whole or torn. When all files are closed.
  void restore_files(std::optional<std::uint32_t> seed = std::nullopt);

  class Implementation;  // what SQLite calls

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace perdure::testing
