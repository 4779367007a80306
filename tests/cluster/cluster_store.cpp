#include "cluster/cluster_store.h"

#include <stdexcept>

#include <unistd.h>

#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/temporary_folder.h"

namespace perdure::test {

namespace {

class SqliteStore final : public ClusterStore {
 public:
  [[nodiscard]] StoreAddress address() const override { return {"sqlite:" + folder_.file("store.db"), {}}; }

 private:
  TemporaryFolder folder_;
};

// A schema of its own on the server that tests share.
class PostgresStore final : public ClusterStore {
 public:
  ~PostgresStore() override {
    try {
      PostgresSession(shared_postgres_url()).execute("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE");
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  [[nodiscard]] StoreAddress address() const override { return {shared_postgres_url(), schema_}; }

 private:
  std::string schema_ = "cluster_" + std::to_string(::getpid());
};

}  // namespace

std::unique_ptr<ClusterStore> make_cluster_store(const std::string& name) {
  if (name == "Sqlite") return std::make_unique<SqliteStore>();
  if (name == "Postgres") return std::make_unique<PostgresStore>();
  throw std::invalid_argument("there is no store '" + name + "'");
}

}  // namespace perdure::test
