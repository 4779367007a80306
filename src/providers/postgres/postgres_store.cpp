// Connecting.
#include "providers/postgres/postgres_store.h"

#include <utility>

#include "providers/postgres/schema.h"

namespace perdure::postgres {

namespace {

constexpr int kOldestServer = 130'000;  // version 13

PostgresOptions checked(PostgresOptions options) {
  const auto refuse = [](const std::string& why) {
    throw ProviderFailure({ProviderErrorKind::kInvalidArgument, "PostgresOptions: " + why});
  };
  if (options.schema.empty()) refuse("a schema needs a name");
  // Longer ones are cut by the server, also as the name of the channel.
  if (options.schema.size() > 50) refuse("the name of the schema has more than 50 bytes");
  if (options.connections == 0) refuse("at least one connection is needed");
  if (options.connect_timeout.count() <= 0 || options.answer_timeout.count() <= 0) refuse("timeouts must be positive");
  if (options.time_tolerance.count() < 0) refuse("a tolerance cannot be negative");
  if (options.poll_interval.count() <= 0 || options.poll_interval_without_wake_ups.count() <= 0) {
    refuse("poll intervals must be positive");
  }
  options.logger = options.logger.with_target(log_target::kPostgres);
  return options;
}

constexpr const char* kSession = "SELECT pg_backend_pid()";

// Behind a pooler that hands a session to whoever has a transaction to do, two connections meet the same one.
bool share_a_session(Connection& one, Connection& other) {
  try {
    return one.run(kSession).integer(0, 0) == other.run(kSession).integer(0, 0);
  } catch (const PostgresError& error) {
    if (error.state() == "42P05") return true;  // the other one has prepared this statement already
    throw;
  }
}

void refuse_shared_sessions(Connection& connection, const ConnectionOptions& options) {
  Connection other(options);
  if (!share_a_session(connection, other)) return;
  throw ProviderFailure({ProviderErrorKind::kUnsupported,
                         "the pooler in front of the server shares sessions between connections, but prepared "
                         "statements and wake-ups belong to one; use its session mode, or connect to the server"});
}

}  // namespace

PostgresStore::PostgresStore(const std::string& url, const PostgresOptions& options)
    : options_(checked(options)),
      pool_({.url = url,
             .schema = options.schema,
             .connect_timeout = options.connect_timeout,
             .answer_timeout = options.answer_timeout},
            options.connections, options.time_tolerance) {
  {
    Connection connection(pool_.options());
    if (connection.server_version() < kOldestServer) {
      throw ProviderFailure({ProviderErrorKind::kIncompatibleStore,
                             "the server has version " + std::to_string(connection.server_version() / 10'000) +
                                 "; PostgreSQL 13 or later is needed"});
    }
    refuse_shared_sessions(connection, pool_.options());
    migrate(connection, options_.schema, migrations());
  }
  static_cast<void>(now());  // from here on it can be estimated
  waker_ = std::make_unique<Waker>(
      pool_, Waker::Options{.poll_interval = options_.poll_interval,
                            .poll_interval_without_wake_ups = options_.poll_interval_without_wake_ups,
                            .logger = options_.logger});
  pool_.when_an_answer_is_lost([this] { waker_->changed(kAllTopics); });
}

PostgresStore::~PostgresStore() = default;

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
  }
}

}  // namespace perdure
