// A schema of the run's own on a PostgreSQL server.
#include <random>
#include <stdexcept>
#include <utility>

#include "cli/bench/place.h"
#ifdef PERDURE_CLI_POSTGRES
#include "ceiling/ceiling.h"
#include "ceiling/postgres_server.h"
#include "cli/store_argument.h"
#include "providers/postgres/postgres_store.h"
#endif

namespace perdure::cli::bench {

#ifdef PERDURE_CLI_POSTGRES

namespace {

// The URL for sessions that wait for the disk, or do not. One that has options of its own is left as it is.
std::string url_with_sync(const std::string& url, bool synced) {
  const std::size_t host = host_position(url);
  if (url.find("options=", host) != std::string::npos) return url;
  return url + (url.find('?', host) == std::string::npos ? "?" : "&") + "options=-csynchronous_commit%3D" +
         (synced ? "on" : "off");
}

class PostgresPlace final : public Place {
 public:
  PostgresPlace(const Options& options, const Context& context)
      : store_argument_(parse_store(options.store)), synced_(options.synced), context_(context) {
    store_argument_.schema = "perdure_bench_" + std::to_string(std::random_device()());
    store_argument_.place = url_with_sync(store_argument_.place, synced_);
  }
  PostgresPlace(const PostgresPlace&) = delete;
  PostgresPlace& operator=(const PostgresPlace&) = delete;
  ~PostgresPlace() override {
    store_.reset();
    try {
      if (owns_schema_) server().drop_schema(store_argument_.schema);
    } catch (const std::exception& error) {
      // libpq's complaint about a URL that no store was opened with quotes the URL.
      context_.warn("the schema " + store_argument_.schema +
                    " was not dropped: " + (is_open_ ? error.what() : "the server cannot be used"));
    }
  }

  std::shared_ptr<Provider> open() override {
    // Of what is wrong with a server, the store knows best how to tell it; so it comes first.
    owns_schema_ = true;
    store_ = open_store(store_argument_, {});
    is_open_ = true;
    const bool waits = server().setting("synchronous_commit") != "off";
    if (waits != synced_) {
      throw std::invalid_argument("the options of the URL set synchronous_commit to " +
                                  server().setting("synchronous_commit") + "; change them, or --sync");
    }
    return store_;
  }
  [[nodiscard]] std::string description() const override { return describe(store_argument_); }
  std::uint64_t write_transactions() override { return server().write_transactions(); }
  std::optional<double> server_cpu_seconds() override { return server().cpu_seconds(); }
  std::optional<std::uint64_t> round_trips() override {
    return dynamic_cast<const postgres::PostgresStore&>(*store_).round_trips();
  }
  std::vector<double> bare_commits(ceiling::Load load) override {
    return ceiling::postgres_commits(here(std::move(load)));
  }
  ceiling::Reached bare_steps(ceiling::Load load) override { return ceiling::run_postgres(here(std::move(load))); }

 private:
  [[nodiscard]] ceiling::PostgresServer& server() {
    if (!server_) server_ = std::make_unique<ceiling::PostgresServer>(store_argument_.place);
    return *server_;
  }
  [[nodiscard]] ceiling::Load here(ceiling::Load load) const {
    load.path = store_argument_.place;
    load.schema = store_argument_.schema + "_bare";
    load.synced = synced_;
    return load;
  }

  StoreArgument store_argument_;
  bool synced_;
  const Context& context_;
  bool owns_schema_ = false;
  bool is_open_ = false;  // since then the URL is one that a server can be reached with
  std::shared_ptr<Provider> store_;
  std::unique_ptr<ceiling::PostgresServer> server_;
};

}  // namespace

std::unique_ptr<Place> make_postgres_place(const Options& options, const Context& context) {
  return std::make_unique<PostgresPlace>(options, context);
}

#else

std::unique_ptr<Place> make_postgres_place(const Options& /*options*/, const Context& /*context*/) {
  throw std::invalid_argument("this program was built without PostgreSQL; build it with PERDURE_BUILD_POSTGRES=ON");
}

#endif

}  // namespace perdure::cli::bench
