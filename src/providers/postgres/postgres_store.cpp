// Connecting.
#include "providers/postgres/postgres_store.h"

#include <system_error>
#include <utility>

#include "providers/postgres/schema.h"
#include "providers/postgres/sql.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr int kOldestServer = 130'000;  // version 13

PostgresOptions checked(PostgresOptions options) {
  const auto refuse = [](const std::string& why) {
    throw ProviderFailure({ProviderErrorKind::kInvalidArgument, "PostgresOptions: " + why});
  };
  if (options.schema.empty()) refuse("schema must not be empty");
  // Longer ones are cut by the server, also as the name of the channel.
  if (options.schema.size() > 50) refuse("schema must not be longer than 50 bytes");
  if (options.connections == 0) refuse("connections must be at least 1");
  if (options.connect_timeout.count() <= 0 || options.answer_timeout.count() <= 0) refuse("timeouts must be positive");
  if (options.time_tolerance.count() < 0) refuse("a tolerance must not be negative");
  if (options.poll_interval.count() <= 0 || options.poll_interval_without_wake_ups.count() <= 0) {
    refuse("poll intervals must be positive");
  }
  options.logger = options.logger.with_target(log_target::kPostgres);
  return options;
}

// Ids, names, tags and sessions are UTF-8 text. Other encodings cannot represent all of it, and SQL_ASCII checks none.
void refuse_other_encodings(Connection& connection) {
  const std::string encoding = connection.execute("SHOW server_encoding");
  if (encoding == "UTF8") return;
  throw ProviderFailure(
      {ProviderErrorKind::kIncompatibleStore, "the database '" + connection.execute("SELECT current_database()") +
                                                  "' has the encoding " + encoding +
                                                  ", but Perdure requires UTF8; name another database in the URL, "
                                                  "created by CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"});
}

}  // namespace

PostgresStore::PostgresStore(const std::string& url, const PostgresOptions& options)
    : options_(checked(options)),
      pool_({.url = url,
             .schema = options.schema,
             .connect_timeout = options.connect_timeout,
             .answer_timeout = options.answer_timeout},
            options.connections, options.time_tolerance,
            options.clock ? options.clock : std::make_shared<SystemClock>(), options_.logger) {
  {
    Connection connection(pool_.options(), deadline_after(options_.connect_timeout + options_.answer_timeout));
    if (connection.server_version() < kOldestServer) {
      throw ProviderFailure({ProviderErrorKind::kIncompatibleStore,
                             "the server has version " + std::to_string(connection.server_version() / 10'000) +
                                 "; use PostgreSQL 13 or later"});
    }
    refuse_other_encodings(connection);
    pool_.connector().check(connection, pool_.options(),
                            deadline_after(options_.connect_timeout + options_.answer_timeout));
    connection.set_up(options_.schema, deadline_after(options_.answer_timeout));
    migrate(connection, options_.schema, migrations());
  }
  // From here on it can be estimated.
  static_cast<void>(pool_.note(pool_.run(sql::kNow, Parameters(), Repeat::kRead).time(0, 0), std::nullopt));
  waker_ = std::make_unique<Waker>(
      pool_, Waker::Options{.poll_interval = options_.poll_interval,
                            .poll_interval_without_wake_ups = options_.poll_interval_without_wake_ups,
                            .logger = options_.logger});
  pool_.when_an_answer_is_lost([this] { waker_->changed(kAllTopics); });
}

PostgresStore::~PostgresStore() {
  if (pool_.home().is_this()) return;
  static_cast<void>(waker_.release());  // its thread is in the other process
  pool_.leave_connections();
}

std::int64_t PostgresStore::next_secret() {
  const std::scoped_lock guard(secrets_mutex_);
  return secrets_.next();
}

}  // namespace perdure::postgres

namespace perdure {

std::shared_ptr<Provider> PostgresProvider::connect(const std::string& url, const PostgresOptions& options) {
  try {
    return std::make_shared<postgres::PostgresStore>(url, options);
  } catch (const postgres::PostgresError& error) {
    throw ProviderFailure(postgres::as_provider_error(error));
  } catch (const std::system_error& error) {
    throw ProviderFailure(no_thread_to_open("PostgreSQL", error));  // not the URL, which may have a password
  } catch (const std::bad_alloc&) {
    throw ProviderFailure({ProviderErrorKind::kUnavailable, "the store on PostgreSQL cannot be opened: out of memory"});
  }
}

}  // namespace perdure
