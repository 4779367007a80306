// Opening and closing a store.
#include "providers/sqlite/sqlite_store.h"

#include <chrono>
#include <functional>
#include <thread>

#include <unistd.h>

#include "providers/sqlite/schema.h"

namespace perdure::sqlite {

namespace {

constexpr const char* kInMemory = ":memory:";

void use_write_ahead_log(Connection& connection, Milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      Query mode = connection.query("PRAGMA journal_mode=WAL");
      mode.step();
      // A store in memory answers "memory"; anything else means that the file system cannot share memory.
      if (mode.text(0) == "wal" || mode.text(0) == "memory") return;
      throw ProviderFailure(
          {ProviderErrorKind::kUnavailable, "SQLite cannot keep a write-ahead log here; use a local file system"});
    } catch (const SqliteError& error) {
      // The one statement for which SQLite does not wait by itself: another process is just creating the file.
      const bool busy = as_provider_error(error).kind() == ProviderErrorKind::kBusy;
      if (!busy || std::chrono::steady_clock::now() > give_up) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

std::unique_ptr<Connection> open_for_writing(const std::string& path, const SqliteOptions& options) {
  auto connection =
      std::make_unique<Connection>(path, Connection::Mode::kReadWriteCreate, options.busy_timeout, options.vfs);
  use_write_ahead_log(*connection, options.busy_timeout);
  connection->checkpoint_by_hand();
  // Debian's SQLite overwrites what is deleted, which doubles the writes of a queue.
  connection->execute("PRAGMA secure_delete=OFF; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY");
  migrate(*connection, path, migrations());
  return connection;
}

}  // namespace

SqliteStore::SqliteStore(const std::string& path, const SqliteOptions& options)
    : in_memory_(path == kInMemory),
      clock_(std::make_shared<StoreClock>(options.clock ? options.clock : std::make_shared<SystemClock>())) {
  if (!in_memory_) refuse_foreign_file(path, options.busy_timeout, options.vfs, migrations());
  std::unique_ptr<Connection> connection = open_for_writing(path, options);
  std::function<std::unique_ptr<Connection>()> open_reader;
  if (!in_memory_) {
    open_reader = [path, patience = options.busy_timeout, vfs = options.vfs] {
      auto reader = std::make_unique<Connection>(path, Connection::Mode::kReadWrite, patience, vfs);
      reader->execute("PRAGMA query_only=ON; PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY");
      return reader;
    };
    readers_ = std::make_unique<Readers>(open_reader);
    process_locks_ = std::make_unique<ProcessLocks>(connection->file_name() + "-processes");
  }
  wake_ups_ = std::make_unique<WakeUps>(clock_, open_reader);
  writer_ = std::make_unique<Writer>(
      std::move(connection),
      Store::Options{.orphan_retention = options.orphan_retention,
                     .logger = options.logger.with_target(log_target::kSqlite),
                     .metrics = options.metrics},
      Writer::Options{.sync_commits = options.synchronous == SqliteSynchronous::kFull && !in_memory_,
                      .now = [this] { return clock_->now(); },
                      .committed = [this](const Changes& changes) { wake_ups_->changed(changes); },
                      .failed = [this] { wake_ups_->changed_all(); }});
  enter();
}

// Takes a number, and releases what processes that are gone have left behind.
void SqliteStore::enter() {
  if (!process_locks_) return;
  const ProviderResult<void> entered = change<void>(kDurable, [this](Store& store) {
    std::vector<std::int64_t> others;
    {
      Query query = store.connection().query("SELECT id FROM processes ORDER BY id");
      while (query.step()) others.push_back(query.integer(0));
    }
    std::int64_t next = 1;
    for (const std::int64_t other : others) {
      if (other == process_) continue;  // this is a second try
      if (!process_locks_->is_alive(other)) store.release_process(other);
      next = std::max(next, other + 1);
    }
    while (process_ == 0) {
      if (process_locks_->lock(next)) process_ = next;
      ++next;
    }
    store.connection().run("INSERT OR REPLACE INTO processes(id, pid, opened_at) VALUES(?1, ?2, ?3)", process_,
                           std::int64_t{::getpid()}, store.now());
    store.set_process(process_);
  });
  entered.value();
}

SqliteStore::~SqliteStore() {
  if (process_ != 0) {
    // What is still locked nobody can commit any more. If it cannot be released now, the next opening does it.
    static_cast<void>(change<void>(kDurable, [this](Store& store) { store.release_process(process_); }));
  }
  writer_.reset();
  wake_ups_.reset();
}

}  // namespace perdure::sqlite

namespace perdure {

std::shared_ptr<Provider> SqliteProvider::open(const std::string& path, const SqliteOptions& options) {
  if (path.empty()) throw ProviderFailure({ProviderErrorKind::kInvalidArgument, "a store needs a path; it is empty"});
  // A path is a path, also where SQLite would read a URI with options of its own.
  const std::string plain = path.starts_with("file:") ? "./" + path : path;
  try {
    return std::make_shared<sqlite::SqliteStore>(plain, options);
  } catch (const sqlite::SqliteError& error) {
    throw ProviderFailure(sqlite::as_provider_error(error));
  }
}

}  // namespace perdure
