// FreshStore: a store on a PostgreSQL server in a schema that is empty at first and gone in the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <perdure/postgres_provider.h>
#include "providers/postgres/postgres_store.h"
#include "session.h"

namespace bench {

[[nodiscard]] inline bool is_postgres_url(std::string_view path) {
  return path.starts_with("postgresql://") || path.starts_with("postgres://");
}

class FreshStore {
 public:
  FreshStore(const std::string& url, perdure::PostgresOptions options)
      : url_(url), options_(std::move(options)), control_(url) {
    drop();
    store_ = connect();
  }
  FreshStore(const FreshStore&) = delete;
  FreshStore& operator=(const FreshStore&) = delete;
  ~FreshStore() {
    store_.reset();
    try {
      drop();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "schema %s stays behind: %s\n", options_.schema.c_str(), error.what());
    }
  }

  // As another process would.
  [[nodiscard]] std::shared_ptr<perdure::postgres::PostgresStore> connect() const {
    return std::make_shared<perdure::postgres::PostgresStore>(url_, options_);
  }
  [[nodiscard]] const std::shared_ptr<perdure::postgres::PostgresStore>& store() const noexcept { return store_; }
  [[nodiscard]] std::uint64_t round_trips() const noexcept { return store_->round_trips(); }
  // A session beside the store's.
  [[nodiscard]] Session& control() noexcept { return control_; }

 private:
  void drop() { control_.execute("DROP SCHEMA IF EXISTS " + options_.schema + " CASCADE"); }

  std::string url_;
  perdure::PostgresOptions options_;
  Session control_;
  std::shared_ptr<perdure::postgres::PostgresStore> store_;
};

}  // namespace bench
