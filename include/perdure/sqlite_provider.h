// The default store: one SQLite file, in this process or shared by several.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider.h>

namespace perdure {

enum class SqliteSynchronous : std::uint8_t {
  kFull,    // what was committed survives a power cut
  kNormal,  // survives the end of the process, not always that of the machine; several times faster
};

struct SqliteOptions {
  SqliteSynchronous synchronous = SqliteSynchronous::kFull;
  // Messages for an instance that never starts are dropped after this time.
  Milliseconds orphan_retention{86'400'000};
  // How long a call waits for other processes that write.
  Milliseconds busy_timeout{10'000};
  // Opens an existing store to look at it: nothing is created or changed, no place on the disk is needed, and calls
  // that would change something fail with kUnsupported. Where SQLite cannot share memory with other processes because
  // the disk is full, each read locks the file for itself, which fails with kBusy while another process has it open.
  bool read_only = false;
  std::shared_ptr<Clock> clock;  // null: the machine's
  std::string vfs;               // SQLite's file system layer by name; empty: its default
  Logger logger;
  Metrics metrics;
};

class SqliteProvider {
 public:
  // Opens or creates the file; ":memory:" is a store that ends with the last reference to it. Leases of processes that
  // died are released. Throws ProviderFailure: kIncompatibleStore for a foreign file or one of a newer version (which
  // is left as it is), kInvalidArgument for an empty path and for the URL or the settings of a server (whose text is
  // not repeated, because it may hold a password), kUnavailable if it cannot be opened, also for want of file
  // descriptors or threads; kBusy, kDiskFull, kCorruptData or kStoreFailed if the file can be opened and its first
  // transaction fails.
  //
  // A child process of fork() cannot use the store: every call fails there at once, and the destructor does nothing.
  // SQLite shares state between connections of a process, so open the store after fork(), or exec a program.
  [[nodiscard]] static std::shared_ptr<Provider> open(const std::string& path, const SqliteOptions& options = {});
};

}  // namespace perdure
