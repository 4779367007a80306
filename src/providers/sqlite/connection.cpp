#include "providers/sqlite/connection.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include <sqlite3.h>

#include "providers/sqlite/lock_holder.h"

namespace perdure::sqlite {

namespace {

// The primary code that an extended one belongs to.
constexpr int primary(int code) noexcept {
  return code & 0xFF;
}

// The primary code of what has happened, where SQLite calls it an error of the disk.
int meaning_of(const SqliteError& error) noexcept {
  // The log's index could not grow; SQLite has no other word for a full disk there.
  if (error.code() == SQLITE_IOERR_SHMSIZE) return SQLITE_FULL;
  // It could not be mapped.
  if (error.code() == SQLITE_IOERR_SHMMAP && error.system_error() == ENOMEM) return SQLITE_NOMEM;
  return primary(error.code());
}

}  // namespace

ProviderError as_provider_error(const SqliteError& error) {
  const std::string what = error.what();
  switch (meaning_of(error)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ProviderErrorKind::kBusy, what +
                                            "; another process has locked the store for too long; resume or end that "
                                            "process if it is stopped, and try again"};
    case SQLITE_FULL:
      return {ProviderErrorKind::kDiskFull, what + "; nothing was written; free disk space, and try again"};
    case SQLITE_NOMEM:
      return {ProviderErrorKind::kUnavailable, what + "; out of memory"};
    case SQLITE_IOERR:
      return {ProviderErrorKind::kStoreFailed, what + "; check the disk, then reopen the store"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ProviderErrorKind::kCorruptData, what + "; restore the store from a backup"};
    case SQLITE_TOOBIG:
      return {ProviderErrorKind::kInvalidArgument, what + "; SQLite cannot store a value of this size"};
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return {ProviderErrorKind::kInvalidArgument, what};
    case SQLITE_CANTOPEN:
      if (error.system_error() == EMFILE || error.system_error() == ENFILE) {
        return {ProviderErrorKind::kUnavailable,
                what + "; out of file descriptors: " + std::generic_category().message(error.system_error()) +
                    "; raise the limit (ulimit -n, fs.file-max), or close files"};
      }
      [[fallthrough]];
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ProviderErrorKind::kUnavailable, what + "; check that the directory exists and is writable"};
    default:
      return {ProviderErrorKind::kStoreFailed, what};
  }
}

bool is_duplicate(const SqliteError& error) noexcept {
  return error.code() == SQLITE_CONSTRAINT_UNIQUE || error.code() == SQLITE_CONSTRAINT_PRIMARYKEY;
}

bool leaves_doubt(const SqliteError& error) {
  return primary(error.code()) == SQLITE_IOERR && as_provider_error(error).kind() == ProviderErrorKind::kStoreFailed;
}

Query::~Query() {
  if (statement_ == nullptr) return;
  // Repeats the error of the last step, which step() has reported. The bindings stay: the next run replaces all of
  // them.
  sqlite3_reset(statement_);
}

bool Query::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_->fail(code);
}

std::int64_t Query::run() {
  while (step()) {
  }
  return sqlite3_changes64(sqlite3_db_handle(statement_));
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Query::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::string Query::text(int column) const {
  return std::string(bytes(column));
}

std::optional<std::int64_t> Query::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::optional<Timestamp> Query::optional_time(int column) const {
  if (is_null(column)) return std::nullopt;
  return time(column);
}

std::optional<std::string> Query::optional_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

void Query::bind(int index, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(statement_, index, value); code != SQLITE_OK) connection_->fail(code);
}

void Query::bind(int index, std::string_view text) {
  // A null pointer would bind NULL; an empty text is not that.
  const char* data = text.empty() ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) connection_->fail(code);
}

void Query::bind(int index, std::span<const char> blob) {
  const char* data = blob.empty() ? "" : blob.data();
  const int code = sqlite3_bind_blob64(statement_, index, data, blob.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) connection_->fail(code);
}

void Query::bind_null(int index) {
  if (const int code = sqlite3_bind_null(statement_, index); code != SQLITE_OK) connection_->fail(code);
}

void Connection::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

Connection::Connection(const std::string& path, Mode mode, Milliseconds busy_timeout, const std::string& vfs)
    : path_(path), busy_timeout_(std::min(busy_timeout, Milliseconds{std::numeric_limits<int>::max()})) {
  // A cache that connections share would make readers fail with SQLITE_LOCKED; the application may have asked for one.
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
  if (mode == Mode::kReadOnly) flags |= SQLITE_OPEN_READONLY;
  if (mode != Mode::kReadOnly) flags |= SQLITE_OPEN_READWRITE;
  if (mode == Mode::kReadWriteCreate) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (code != SQLITE_OK) {
    const int system_error = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
    const std::string message = path_ + ": " + (handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_));
    sqlite3_close(handle_);
    throw SqliteError(code, message, system_error);
  }
  sqlite3_busy_timeout(handle_, static_cast<int>(busy_timeout_.count()));
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close(handle_);
}

void Connection::execute(const char* sql) {
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) fail(code);
}

std::int64_t Connection::last_insert_id() const noexcept {
  return sqlite3_last_insert_rowid(handle_);
}

std::int64_t Connection::total_changes() const noexcept {
  return sqlite3_total_changes64(handle_);
}

bool Connection::in_transaction() const noexcept {
  return sqlite3_get_autocommit(handle_) == 0;
}

std::string Connection::file_name() const {
  const char* name = sqlite3_db_filename(handle_, "main");
  return name == nullptr ? path_ : name;
}

bool Connection::has_moved() const noexcept {
  int moved = 0;
  // File system layers that do not know the question leave it at zero.
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

void Connection::checkpoint_by_hand() {
  const auto note = [](void* pages, sqlite3*, const char*, int count) {
    *static_cast<int*>(pages) = count;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(handle_, note, &log_pages_);
}

void Connection::checkpoint(Checkpoint mode) {
  constexpr Milliseconds kReaderWait{100};
  const int how = mode == Checkpoint::kPassive   ? SQLITE_CHECKPOINT_PASSIVE
                  : mode == Checkpoint::kRestart ? SQLITE_CHECKPOINT_RESTART
                                                 : SQLITE_CHECKPOINT_TRUNCATE;
  sqlite3_busy_timeout(handle_, static_cast<int>(std::min(busy_timeout_, kReaderWait).count()));
  const int code = sqlite3_wal_checkpoint_v2(handle_, "main", how, nullptr, nullptr);
  sqlite3_busy_timeout(handle_, static_cast<int>(busy_timeout_.count()));
  if (code == SQLITE_OK && mode != Checkpoint::kPassive) log_pages_ = 0;
  if (code != SQLITE_OK && primary(code) != SQLITE_BUSY) fail(code);
}

void Connection::fail(int code) const {
  const int last_error = errno;  // of the call that failed, if SQLite does not remember it: it does not for a COMMIT
  std::string message = path_ + ": " + sqlite3_errmsg(handle_);
  // SQLite calls a full disk by its name, but neither an exhausted quota nor a limit of the process (RLIMIT_FSIZE).
  const int known = sqlite3_system_errno(handle_);
  const int cause = known != 0 ? known : last_error;
  if (code == SQLITE_IOERR_WRITE && (cause == EDQUOT || cause == ENOSPC || cause == EFBIG)) code = SQLITE_FULL;
  if (primary(code) == SQLITE_BUSY) message += describe_lock_holder(file_name());
  throw SqliteError(code, message, sqlite3_system_errno(handle_));
}

sqlite3_stmt* Connection::prepared(const char* sql) {
  std::unique_ptr<sqlite3_stmt, Finalize>& statement = statements_[sql];
  if (!statement) {
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK) fail(code);
    statement.reset(made);
  }
  return statement.get();
}

}  // namespace perdure::sqlite
