// What the server's codes mean for a caller.
#include <array>
#include <string_view>

#include "providers/postgres/connection.h"

namespace perdure::postgres {

namespace {

struct Meaning {
  std::string_view state;  // or the beginning of it
  ProviderErrorKind kind;
  std::string_view way_out;
};

// The first that fits counts.
constexpr std::array kMeanings = {
    Meaning{"40001", ProviderErrorKind::kBusy, "the transaction conflicted with others; try again"},
    Meaning{"40P01", ProviderErrorKind::kBusy, "the transaction conflicted with others; try again"},
    Meaning{"55P03", ProviderErrorKind::kBusy, "another transaction has locked the rows; try again"},
    Meaning{"57014", ProviderErrorKind::kBusy, "the server cancelled the statement; check its load, and try again"},
    Meaning{
        kOutOfDescriptors, ProviderErrorKind::kUnavailable,
        "this process is out of file descriptors; raise its limit (ulimit -n) or that of the machine (fs.file-max), "
        "or lower PostgresOptions::connections"},
    Meaning{kSharedSession, ProviderErrorKind::kUnsupported,
            "use the session mode of the pooler, or connect to the server directly"},
    Meaning{"53100", ProviderErrorKind::kDiskFull, "nothing was written; free disk space on the server, and try again"},
    Meaning{"53300", ProviderErrorKind::kUnavailable,
            "raise max_connections, lower PostgresOptions::connections, or use a connection pooler"},
    Meaning{"53", ProviderErrorKind::kUnavailable, "the server has run out of a resource; nothing was written"},
    Meaning{"25006", ProviderErrorKind::kUnavailable,
            "name the primary, or all servers with target_session_attrs=read-write, in the URL; on a primary, reset "
            "default_transaction_read_only of the role and the database"},
    Meaning{"28", ProviderErrorKind::kUnavailable,
            "check user and password in the URL, PGPASSWORD or the password file"},
    Meaning{"3D000", ProviderErrorKind::kUnavailable, "create the database, or name another one"},
    Meaning{"42501", ProviderErrorKind::kUnavailable,
            "grant the user of the URL the missing right; docs/clusters.md lists the required rights"},
    Meaning{"08P01", ProviderErrorKind::kUnavailable, "check the log of the server or of its pooler"},
    Meaning{"08", ProviderErrorKind::kUnavailable,
            "check that the server runs and is reachable with the host, port and TLS settings of the URL"},
    Meaning{"57P", ProviderErrorKind::kUnavailable, "the server is starting, stopping or has ended the session"},
    Meaning{"55000", ProviderErrorKind::kUnavailable, "the server does not accept connections to this database"},
    Meaning{"58", ProviderErrorKind::kUnavailable, "check the server's log"},
    Meaning{"25P03", ProviderErrorKind::kUnavailable, "the session was idle for too long"},
    Meaning{"26000", ProviderErrorKind::kUnavailable,
            "a prepared statement is missing; use the session mode of the pooler"},
    Meaning{"42P05", ProviderErrorKind::kUnavailable,
            "a prepared statement belongs to another session; use the session mode of the pooler"},
    Meaning{"3F000", ProviderErrorKind::kIncompatibleStore, "the schema is missing; connect again to create it"},
    Meaning{"42P01", ProviderErrorKind::kIncompatibleStore,
            "a table is missing; check whether the schema was dropped or changed, or the right USAGE on it revoked"},
    Meaning{"42883", ProviderErrorKind::kIncompatibleStore,
            "a function is missing; check whether the schema was dropped or changed, or the right USAGE on it revoked"},
    Meaning{"22021", ProviderErrorKind::kInvalidArgument, "ids and names must be UTF-8 without zero bytes"},
    Meaning{"22P05", ProviderErrorKind::kInvalidArgument, "ids and names must be UTF-8 without zero bytes"},
    Meaning{"22", ProviderErrorKind::kInvalidArgument, ""},
    Meaning{"23", ProviderErrorKind::kInvalidArgument, ""},
    Meaning{"54", ProviderErrorKind::kInvalidArgument, "the value exceeds a limit of the server"},
    Meaning{"XX001", ProviderErrorKind::kCorruptData, "restore the database from a backup"},
    Meaning{"XX002", ProviderErrorKind::kCorruptData, "rebuild the index"},
};

}  // namespace

bool PostgresError::connection_lost() const noexcept {
  return state_.empty() || state_.starts_with("08") || state_ == "57P01" || state_ == "57P02" || state_ == "57P03" ||
         state_ == "57P05" || state_ == "25P03";
}

bool PostgresError::spoils_connection() const noexcept {
  return connection_lost() || has_foreign_session() || state_ == "25006";
}

ProviderError as_provider_error(const PostgresError& error) {
  const std::string what = std::string("PostgreSQL: ") + error.what();
  if (error.state().empty()) {
    return {ProviderErrorKind::kUnavailable, what + "; the effect of the last call is unknown; try again"};
  }
  for (const Meaning& meaning : kMeanings) {
    if (!error.state().starts_with(meaning.state)) continue;
    return {meaning.kind, meaning.way_out.empty() ? what : what + "; " + std::string(meaning.way_out)};
  }
  return {ProviderErrorKind::kStoreFailed, what + " (" + error.state() + ")"};
}

}  // namespace perdure::postgres
