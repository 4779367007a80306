#include "cli/validation_stores.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cli/exit_code.h"
#include "testing/clock_factory.h"
#ifdef PERDURE_CLI_POSTGRES
#include <perdure/postgres_provider.h>
#include "providers/postgres/connection.h"
#include "providers/postgres/connector.h"
#include "testing/postgres_clock.h"
#endif

namespace perdure::cli {

namespace {

// ---- SQLite ----

class SqliteValidationFactory final : public testing::ClockFactory {
 public:
  SqliteValidationFactory(std::string folder, const Context& context) : folder_(std::move(folder)), context_(context) {}
  ~SqliteValidationFactory() override {
    std::error_code error;
    if (folder_.empty()) return;
    std::filesystem::remove_all(folder_, error);
    if (error) context_.warn("the directory " + folder_ + " could not be removed: " + error.message());
  }

  std::shared_ptr<Provider> create() override {
    SqliteOptions options = sqlite_options();
    if (folder_.empty()) return SqliteProvider::open(":memory:", options);
    options.synchronous = SqliteSynchronous::kNormal;  // the same statements, without the disk's time
    return SqliteProvider::open(folder_ + "/store" + std::to_string(++stores_) + ".db", options);
  }

 private:
  std::string folder_;  // empty: in memory
  const Context& context_;
  int stores_ = 0;
};

class SqliteValidationStores final : public ValidationStores {
 public:
  SqliteValidationStores(const std::string& path, const Context& context)
      : in_memory_(path == ":memory:"), context_(context) {
    if (in_memory_) return;
    const std::filesystem::path beside = std::filesystem::absolute(path).parent_path();
    std::string folder = (beside / "perdure-validate-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      throw CommandError(kStoreFailed, "cannot create a directory next to " + path + ": " +
                                           std::error_code(errno, std::generic_category()).message());
    }
    folder_ = folder;
  }
  ~SqliteValidationStores() override {
    if (in_memory_) return;
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    if (error) context_.warn("the directory " + folder_ + " could not be removed: " + error.message());
  }

  std::unique_ptr<testing::ProviderFactory> make_factory() override {
    std::string folder;
    if (!in_memory_) {
      folder = folder_ + "/" + std::to_string(++factories_);
      std::filesystem::create_directory(folder);
    }
    return std::make_unique<SqliteValidationFactory>(std::move(folder), context_);
  }

 private:
  bool in_memory_;
  const Context& context_;
  std::string folder_;
  int factories_ = 0;
};

// ---- PostgreSQL ----

#ifdef PERDURE_CLI_POSTGRES

constexpr const char* kSchemaExists = "SELECT 1 FROM pg_namespace n WHERE n.nspname = $1::text";
constexpr const char* kEmptyTables =
    "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = $1::text AND c.relkind = 'r' AND pg_relation_size(c.oid) = 0";
// Found by the search path, which is the schema.
constexpr const char* kBeginTest = "SELECT test_begin($1::bigint)";
constexpr const char* kAdvanceClock = "SELECT test_advance($1::bigint)";

// A schema that tests use one after the other.
class ValidationSchema {
 public:
  ValidationSchema(std::string url, std::string name, const Context& context)
      : url_(std::move(url)), name_(std::move(name)), context_(context), session_(connect_session()) {
    if (!session_->run(kSchemaExists, postgres::Parameters(name_)).empty()) {
      throw CommandError(kConflict, "the schema '" + name_ + "' already exists; drop it, or try again");
    }
    made_ = true;  // the next line may fail behind the creation
    try {
      connect().reset();
      std::string tables;
      const postgres::Rows empty = session_->run(kEmptyTables, postgres::Parameters(name_));
      for (int row = 0; row < empty.size(); ++row) {
        tables += (row == 0 ? "'" : ", '") + name_ + "." + empty.text(row, 0) + "'";
      }
      session_->execute(testing::postgres_clock_script(name_, tables));
    } catch (...) {
      remove();
      throw;
    }
  }
  ValidationSchema(const ValidationSchema&) = delete;
  ValidationSchema& operator=(const ValidationSchema&) = delete;
  ~ValidationSchema() { remove(); }

  void begin(Timestamp start) {
    const std::scoped_lock lock(mutex_);
    static_cast<void>(session_->run(kBeginTest, postgres::Parameters(start)));
  }
  void advance(Milliseconds by) {
    clock_->advance(by, [&] { step(by); });
    step(Milliseconds(0));  // for waits that have noticed the first change only
  }
  void step(Milliseconds by) {
    const std::scoped_lock lock(mutex_);
    static_cast<void>(session_->run(kAdvanceClock, postgres::Parameters(by)));
  }
  [[nodiscard]] std::shared_ptr<Provider> connect() const {
    PostgresOptions options;
    options.schema = name_;
    options.connections = 4;
    options.time_tolerance = Milliseconds(0);
    options.clock = clock_;
    options.orphan_retention = testing::kOrphanRetention;
    return PostgresProvider::connect(url_, options);
  }

 private:
  [[nodiscard]] std::unique_ptr<postgres::Connection> connect_session() const {
    const PostgresOptions defaults;
    return postgres::Connector().connect({.url = url_,
                                          .schema = name_,
                                          .connect_timeout = defaults.connect_timeout,
                                          .answer_timeout = defaults.answer_timeout},
                                         postgres::deadline_after(defaults.connect_timeout + defaults.answer_timeout));
  }
  void remove() noexcept {
    if (!made_) return;
    made_ = false;
    try {
      session_->execute("DROP SCHEMA IF EXISTS " + name_ + " CASCADE");
    } catch (const std::exception& error) {
      context_.warn("the schema " + name_ + " could not be dropped; drop it manually: " + error.what());
    }
  }

  std::string url_;
  std::string name_;
  const Context& context_;
  bool made_ = false;
  std::mutex mutex_;
  std::unique_ptr<postgres::Connection> session_;
  std::shared_ptr<testing::ServerSteadyClock> clock_ = std::make_shared<testing::ServerSteadyClock>();
};

class PostgresValidationStores final : public ValidationStores {
 public:
  // Makes a first schema, so that a server that cannot be used is no fault of a test.
  PostgresValidationStores(std::string url, const Context& context) : url_(std::move(url)), context_(context) {
    try {
      give_back(take());
    } catch (const postgres::PostgresError& error) {
      throw ProviderFailure(postgres::as_provider_error(error));
    }
  }

  std::unique_ptr<testing::ProviderFactory> make_factory() override;

  // One that nobody uses, made if there is none.
  std::unique_ptr<ValidationSchema> take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      const std::string name = "perdure_validate_" + std::to_string(::getpid()) + "_" + std::to_string(++schemas_);
      return std::make_unique<ValidationSchema>(url_, name, context_);
    }
    std::unique_ptr<ValidationSchema> schema = std::move(free_.back());
    free_.pop_back();
    return schema;
  }
  void give_back(std::unique_ptr<ValidationSchema> schema) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(schema));
  }

 private:
  std::string url_;
  const Context& context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ValidationSchema>> free_;
  int schemas_ = 0;
};

class PostgresValidationFactory final : public testing::ProviderFactory {
 public:
  explicit PostgresValidationFactory(PostgresValidationStores& stores) : stores_(stores) {}
  ~PostgresValidationFactory() override {
    for (auto& schema : schemas_) stores_.give_back(std::move(schema));
  }

  std::shared_ptr<Provider> create() override {
    const std::scoped_lock lock(mutex_);
    schemas_.push_back(stores_.take());
    schemas_.back()->begin(testing::kBeginning + moved_);
    return schemas_.back()->connect();
  }
  void advance(Milliseconds by) override {
    const std::scoped_lock lock(mutex_);
    moved_ += by;
    for (const auto& schema : schemas_) schema->advance(by);
  }
  void step(Milliseconds by) override {
    const std::scoped_lock lock(mutex_);
    moved_ += by;
    for (const auto& schema : schemas_) schema->step(by);
  }
  void corrupt_history(Provider& store, const std::string& instance) override {
    dynamic_cast<HistoryDamage&>(store).damage_history(instance);
  }
  [[nodiscard]] Milliseconds orphan_retention() const override { return testing::kOrphanRetention; }

 private:
  PostgresValidationStores& stores_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ValidationSchema>> schemas_;
  Milliseconds moved_{0};
};

std::unique_ptr<testing::ProviderFactory> PostgresValidationStores::make_factory() {
  return std::make_unique<PostgresValidationFactory>(*this);
}

#endif

}  // namespace

std::unique_ptr<ValidationStores> make_validation_stores(const StoreArgument& store, const Context& context) {
  if (store.kind == StoreKind::kSqlite) return std::make_unique<SqliteValidationStores>(store.place, context);
#ifdef PERDURE_CLI_POSTGRES
  return std::make_unique<PostgresValidationStores>(store.place, context);
#else
  throw std::invalid_argument("this program was built without PostgreSQL; build it with PERDURE_BUILD_POSTGRES=ON");
#endif
}

}  // namespace perdure::cli
