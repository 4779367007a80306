// Opening and closing a store.
#include "providers/sqlite/sqlite_store.h"

#include <chrono>
#include <functional>
#include <new>
#include <system_error>
#include <thread>

#include <unistd.h>

#include "providers/server_address.h"
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
      throw ProviderFailure({ProviderErrorKind::kUnavailable,
                             "SQLite cannot use a write-ahead log in this directory; use a local file system"});
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
  connection->execute(
      "PRAGMA secure_delete=OFF; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY;"
      // Cuts a log that was longer, once it begins anew.
      "PRAGMA journal_size_limit=16777216");
  migrate(*connection, path, migrations());
  return connection;
}

// `alone`: SQLite locks the file and keeps the log's index in its own memory, for want of memory that it could share.
std::unique_ptr<Connection> open_reader(const std::string& path, const SqliteOptions& options, bool alone) {
  auto reader = std::make_unique<Connection>(path, Connection::Mode::kReadWrite, options.busy_timeout, options.vfs);
  if (alone) reader->execute("PRAGMA locking_mode=EXCLUSIVE");
  reader->execute("PRAGMA query_only=ON; PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY");
  return reader;
}

// Whether the file could still be read alone.
bool lacks_shared_memory(const ProviderError& error) {
  return error.kind() == ProviderErrorKind::kDiskFull || error.kind() == ProviderErrorKind::kUnavailable;
}

// After fork(), for an object whose destructor would touch what belongs to the parent.
template <class T>
void leave_to_parent(std::unique_ptr<T>& owned) noexcept {
  [[maybe_unused]] T* const left = owned.release();
}

}  // namespace

SqliteStore::SqliteStore(const std::string& path, const SqliteOptions& options)
    : in_memory_(path == kInMemory),
      time_(std::make_shared<StoreTime>(options.clock ? options.clock : std::make_shared<SystemClock>(),
                                        options.logger.with_target(log_target::kSqlite))) {
  saved_time_ = std::make_unique<SavedTime>(*time_, [this](Connection& writing) { return live_processes(writing); });
  if (!in_memory_) refuse_strange_file(path);
  if (options.read_only) {
    open_for_reading(path, options);
    return;
  }
  if (!in_memory_) refuse_foreign_file(path, options.busy_timeout, options.vfs, migrations());
  std::unique_ptr<Connection> connection = open_for_writing(path, options);
  if (!in_memory_) {
    file_.emplace(*connection);
    process_locks_ = std::make_unique<ProcessLocks>(file_->path());
    saved_time_->join(*connection);
    time_->when_jumped([this]() noexcept { save_time(); });
  }
  make_readers(options, false);
  writer_ = std::make_unique<Writer>(
      std::move(connection),
      Store::Options{.orphan_retention = options.orphan_retention,
                     .logger = options.logger.with_target(log_target::kSqlite),
                     .metrics = options.metrics},
      Writer::Options{
          .sync_commits = options.synchronous == SqliteSynchronous::kFull && !in_memory_,
          .begin_time = [this](Connection& writing) { return saved_time_->begin(writing); },
          .save_time = [this](Connection& writing, bool has_changes) { saved_time_->save(writing, has_changes); },
          .begun = [this](Store& store) { keep_number(store); },
          .verify = [this] { return file_ ? file_->problem() : std::nullopt; },
          .committed =
              [this](const Changes& changes) {
                must_take_number_ = false;
                wake_ups_->changed(changes);
              },
          .failed = [this] { wake_ups_->changed_all(); }});
  enter();
  if (file_) file_->remember_log();
}

void SqliteStore::make_readers(const SqliteOptions& options, bool alone) {
  std::function<std::unique_ptr<Connection>()> open;
  if (file_) {
    SqliteOptions how;
    how.busy_timeout = options.busy_timeout;
    how.vfs = options.vfs;
    open = [this, how, alone] {
      std::unique_ptr<Connection> reader = open_reader(file_->path(), how, alone);
      file_->check(*reader);
      return reader;
    };
    readers_ = std::make_unique<Readers>(open, alone ? 0 : Readers::kIdleConnections);
  }
  if (alone) open = {};  // an open connection would lock out all other processes
  wake_ups_ = std::make_unique<WakeUps>(time_, open, [this] { return file_->problem().has_value(); });
}

void SqliteStore::open_for_reading(const std::string& path, const SqliteOptions& options) {
  if (in_memory_) {
    throw ProviderFailure(
        {ProviderErrorKind::kInvalidArgument, "a store in memory starts empty; open it without read_only"});
  }
  const auto open = [&](bool alone) {
    std::unique_ptr<Connection> reader = open_reader(path, options, alone);
    check_readable(*reader, path, migrations());
    file_.emplace(*reader);
    saved_time_->join(*reader);
    static_cast<void>(saved_time_->peek(*reader));  // now() continues from it
    return reader;
  };
  bool alone = false;
  try {
    refuse_foreign_file(path, options.busy_timeout, options.vfs, migrations());
    file_holder_ = open(false);
    file_->remember_log();
  } catch (const SqliteError& error) {
    if (!lacks_shared_memory(as_provider_error(error))) throw;
    alone = true;
  } catch (const ProviderFailure& failure) {
    if (!lacks_shared_memory(failure.error())) throw;
    alone = true;
  }
  if (alone) open(true);  // and closed again
  make_readers(options, alone);
}

// A store in memory has one process, without a number.
std::vector<std::int64_t> SqliteStore::live_processes(Connection& connection) const {
  if (!process_locks_) return {0};
  std::vector<std::int64_t> live;
  Query query = connection.query("SELECT id FROM processes");
  while (query.step()) {
    const std::int64_t process = query.integer(0);
    if (process == process_ || process_locks_->state_of(process) != ProcessState::kGone) live.push_back(process);
  }
  return live;
}

// After a jump, a transaction that changes nothing saves the time. If this one fails, the next one does it.
void SqliteStore::save_time() noexcept {
  if (!writer_) return;
  try {
    static_cast<void>(change<void>(kMayBeForgotten, [](Store&) {}));
  } catch (const std::exception&) {  // no memory, for example
  }
}

void SqliteStore::enter() {
  if (!process_locks_) return;
  change<void>(kDurable, [this](Store& store) { take_number(store); }).value();
}

void SqliteStore::take_number(Store& store) {
  std::vector<std::int64_t> others;
  {
    Query query = store.connection().query("SELECT id FROM processes ORDER BY id");
    while (query.step()) others.push_back(query.integer(0));
  }
  std::int64_t next = 1;
  for (const std::int64_t other : others) {
    if (other == process_) continue;  // this is a second try
    const ProcessState state = process_locks_->state_of(other);
    if (state == ProcessState::kGone) store.release_process(other);
    if (state == ProcessState::kUnknown) store.forget_process_without_locks(other);
    next = std::max(next, other + 1);
  }
  while (process_ == 0) {
    if (process_locks_->lock(next)) process_ = next;
    ++next;
  }
  store.connection().run("INSERT OR REPLACE INTO processes(id, pid, opened_at) VALUES(?1, ?2, ?3)", process_,
                         std::int64_t{::getpid()}, store.now());
  store.set_process(process_);
}

void SqliteStore::keep_number(Store& store) {
  if (process_ == 0 && !must_take_number_) return;  // not entered yet, or in memory
  if (process_locks_->has_moved()) {
    try {
      auto locks = std::make_unique<ProcessLocks>(file_->path());
      if (!locks->lock(process_)) process_ = 0;
      process_locks_ = std::move(locks);
      must_take_number_ = true;
    } catch (const ProviderFailure&) {
      return;  // the next transaction tries again; until then other processes let these locks expire
    }
  }
  if (must_take_number_) take_number(store);
}

std::optional<ProviderError> SqliteStore::failure() {
  if (writer_) {
    if (std::optional<ProviderError> failed = writer_->failure()) return failed;
  }
  std::optional<ProviderError> problem = file_ ? file_->problem() : std::nullopt;
  if (problem) fail_for_good(*problem);
  return problem;
}

void SqliteStore::fail_for_good(const ProviderError& error) {
  if (writer_) writer_->fail_for_good(error);  // one that is only read repeats its errors
}

ProviderError SqliteStore::not_writable() {
  return {ProviderErrorKind::kUnsupported, "the store was opened read-only; open it without read_only"};
}

SqliteStore::~SqliteStore() {
  if (!home_.is_this()) {
    // The threads are in the other process, and closing a connection here would touch its files.
    leave_to_parent(writer_);
    leave_to_parent(wake_ups_);
    leave_to_parent(readers_);
    leave_to_parent(process_locks_);
    leave_to_parent(file_holder_);
    return;
  }
  if (process_ != 0) {
    // What is still locked nobody can commit any more. If it cannot be released now, the next opening does it.
    try {
      static_cast<void>(change<void>(kDurable, [this](Store& store) { store.release_process(process_); }));
    } catch (const std::bad_alloc&) {  // likewise
    }
  }
  writer_.reset();
  wake_ups_.reset();
}

}  // namespace perdure::sqlite

namespace perdure {

std::shared_ptr<Provider> SqliteProvider::open(const std::string& path, const SqliteOptions& options) {
  if (path.empty())
    throw ProviderFailure({ProviderErrorKind::kInvalidArgument, "the path of the store must not be empty"});
  if (names_a_server(path)) {
    throw ProviderFailure({ProviderErrorKind::kInvalidArgument,
                           "the path of the store names a server or contains a password, so this error does not repeat "
                           "it; name a file, or use PostgresProvider::connect for a server"});
  }
  try {
    // A path is a path, also where SQLite would read a URI with options of its own.
    const std::string plain = path.starts_with("file:") ? "./" + path : path;
    return std::make_shared<sqlite::SqliteStore>(plain, options);
  } catch (const sqlite::SqliteError& error) {
    throw ProviderFailure(sqlite::as_provider_error(error));
  } catch (const std::system_error& error) {
    throw ProviderFailure(no_thread_to_open(path, error));
  } catch (const std::bad_alloc&) {
    throw ProviderFailure(
        {ProviderErrorKind::kUnavailable, "the store '" + path + "' cannot be opened: out of memory"});
  }
}

}  // namespace perdure
