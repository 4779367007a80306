// SQLite as C++ objects: a connection with its prepared statements, and one run of a statement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <perdure/provider_error.h>
#include <perdure/types.h>

struct sqlite3;
struct sqlite3_stmt;

namespace perdure::sqlite {

// What SQLite said. Never leaves this folder: as_provider_error() is what callers see.
class SqliteError final : public std::runtime_error {
 public:
  SqliteError(int extended_code, const std::string& message, int system_error = 0)
      : std::runtime_error(message), code_(extended_code), system_error_(system_error) {}
  [[nodiscard]] int code() const noexcept { return code_; }
  // errno of the last failed call to the system; 0 if it is not known.
  [[nodiscard]] int system_error() const noexcept { return system_error_; }

 private:
  int code_;
  int system_error_;
};

[[nodiscard]] ProviderError as_provider_error(const SqliteError& error);
// A read, write or sync failed: nobody knows what the disk holds, and trying again would not tell.
[[nodiscard]] bool leaves_doubt(const SqliteError& error);
// A unique index refused the row.
[[nodiscard]] bool is_duplicate(const SqliteError& error) noexcept;

class Connection;

// One run of a prepared statement. Arguments are borrowed until it ends; its end resets the statement.
class Query {
 public:
  Query(Query&& other) noexcept
      : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query();

  // True if there is a row.
  bool step();
  // For statements without rows: runs it, and answers how many rows it changed.
  std::int64_t run();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  // Valid until the next step.
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] std::uint64_t unsigned_integer(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] Timestamp time(int column) const { return Timestamp(Milliseconds(integer(column))); }
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int column) const;
  [[nodiscard]] std::optional<Timestamp> optional_time(int column) const;
  [[nodiscard]] std::optional<std::string> optional_text(int column) const;

 private:
  friend class Connection;
  Query(const Connection& connection, sqlite3_stmt* statement) : connection_(&connection), statement_(statement) {}

  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view text);
  void bind(int index, std::span<const char> blob);
  void bind_null(int index);

  void bind_value(int index, std::int64_t value) { bind(index, value); }
  void bind_value(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind_value(int index, int value) { bind(index, std::int64_t{value}); }
  void bind_value(int index, std::uint32_t value) { bind(index, std::int64_t{value}); }
  void bind_value(int index, bool value) { bind(index, std::int64_t{value ? 1 : 0}); }
  void bind_value(int index, Timestamp value) { bind(index, value.time_since_epoch().count()); }
  void bind_value(int index, Milliseconds value) { bind(index, value.count()); }
  void bind_value(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind_value(int index, std::string_view text) { bind(index, text); }
  void bind_value(int index, std::span<const char> blob) { bind(index, blob); }
  void bind_value(int index, std::nullptr_t) { bind_null(index); }
  template <class T>
  void bind_value(int index, const std::optional<T>& value) {
    if (value) {
      bind_value(index, *value);
    } else {
      bind_null(index);
    }
  }

  const Connection* connection_;
  sqlite3_stmt* statement_;
};

// Bytes that are stored as a blob, absent ones as NULL.
[[nodiscard]] inline std::span<const char> blob(const std::string& bytes) noexcept {
  return {bytes.data(), bytes.size()};
}
[[nodiscard]] inline std::optional<std::span<const char>> blob(const Payload& payload) noexcept {
  if (!payload) return std::nullopt;
  return blob(*payload);
}

// For one thread at a time. Statements are prepared once and kept.
class Connection {
 public:
  enum class Mode : std::uint8_t { kReadOnly, kReadWrite, kReadWriteCreate };

  // Throws SqliteError.
  Connection(const std::string& path, Mode mode, Milliseconds busy_timeout, const std::string& vfs = {});
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Any number of statements without arguments.
  void execute(const char* sql);
  // `sql` is a constant: its address is the key of the prepared statement. Not twice at the same time.
  template <class... Arguments>
  [[nodiscard]] Query query(const char* sql, const Arguments&... arguments) {
    Query query(*this, prepared(sql));
    int index = 0;
    (query.bind_value(++index, arguments), ...);
    return query;
  }
  template <class... Arguments>
  std::int64_t run(const char* sql, const Arguments&... arguments) {
    return query(sql, arguments...).run();
  }
  // The first column of the first row, which must be there.
  template <class... Arguments>
  [[nodiscard]] std::int64_t integer(const char* sql, const Arguments&... arguments) {
    Query query = this->query(sql, arguments...);
    query.step();
    return query.integer(0);
  }

  [[nodiscard]] std::int64_t last_insert_id() const noexcept;
  // Rows that were added, changed or deleted since it was opened.
  [[nodiscard]] std::int64_t total_changes() const noexcept;
  [[nodiscard]] bool in_transaction() const noexcept;
  // The path of the file as the operating system knows it, without links.
  [[nodiscard]] std::string file_name() const;
  // Whether that path leads to another file by now, or to none.
  [[nodiscard]] bool has_moved() const noexcept;
  // kPassive waits for nothing. The others wait a moment for readers, so that the log begins anew; kTruncate also
  // gives its disk space back.
  enum class Checkpoint : std::uint8_t { kPassive, kRestart, kTruncate };
  // Copies the log into the file as far as readers allow. Throws SqliteError.
  void checkpoint(Checkpoint mode);
  // From now on SQLite copies nothing from the log into the file by itself, where nobody would learn of an error.
  void checkpoint_by_hand();
  // How long the log was after the last commit.
  [[nodiscard]] int log_pages() const noexcept { return log_pages_; }
  [[noreturn]] void fail(int code) const;

 private:
  [[nodiscard]] sqlite3_stmt* prepared(const char* sql);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  std::string path_;
  sqlite3* handle_ = nullptr;
  Milliseconds busy_timeout_;
  int log_pages_ = 0;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

}  // namespace perdure::sqlite
