#include "cli/bench/place.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "ceiling/ceiling.h"
#include "cli/store_argument.h"
#include "cli/temporary_directory.h"
#include "providers/sqlite/sqlite_store.h"

namespace perdure::cli::bench {

namespace {

constexpr const char* kInMemory = ":memory:";

std::filesystem::path make_temporary_folder() {
  std::string name = (temporary_directory() / "perdure-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot create the directory " + name + ": " + std::generic_category().message(errno) +
                             "; name a file with --store sqlite:PATH");
  }
  return name;
}

bool is_in_memory(const std::filesystem::path& folder) {
  struct statfs found = {};
  return ::statfs(folder.c_str(), &found) == 0 && found.f_type == TMPFS_MAGIC;
}

class SqlitePlace final : public Place {
 public:
  SqlitePlace(const Options& options, const Context& context) : synced_(options.synced), context_(context) {
    if (options.store.empty()) {
      folder_ = make_temporary_folder();
      path_ = (folder_ / "store.db").string();
    } else {
      path_ = parse_store(options.store).place;
      refuse_what_is_there();
    }
    const auto where = std::filesystem::absolute(path_).parent_path();
    if (path_ != kInMemory && is_in_memory(where)) {
      context_.warn(where.string() + " is in memory, so syncing costs nothing; name a file on a disk with --store");
    }
  }
  SqlitePlace(const SqlitePlace&) = delete;
  SqlitePlace& operator=(const SqlitePlace&) = delete;
  ~SqlitePlace() override {
    store_.reset();
    for (const char* suffix : {"", "-wal", "-shm", "-processes"}) remove(path_ + suffix);
    if (!folder_.empty()) remove(folder_);
  }

  std::shared_ptr<Provider> open() override {
    OpenOptions open;
    open.create = true;
    open.synchronous = synced_ ? SqliteSynchronous::kFull : SqliteSynchronous::kNormal;
    store_ = open_store({.kind = StoreKind::kSqlite, .place = path_}, open);
    return store_;
  }
  [[nodiscard]] std::string description() const override {
    return describe({.kind = StoreKind::kSqlite, .place = path_});
  }
  std::uint64_t write_transactions() override {
    return dynamic_cast<const sqlite::SqliteStore&>(*store_).write_transactions();
  }
  std::vector<double> bare_commits(ceiling::Load load) override {
    return ceiling::sqlite_commits(here(std::move(load)));
  }
  ceiling::Reached bare_steps(ceiling::Load load) override { return ceiling::run_sqlite(here(std::move(load))); }

 private:
  void refuse_what_is_there() const {
    if (path_ == kInMemory) return;
    for (const char* suffix : {"", "-bare"}) {
      if (!std::filesystem::exists(path_ + suffix)) continue;
      throw std::invalid_argument(
          "'" + path_ + suffix +
          "' already exists; name a file that does not exist, because the benchmark creates and removes it");
    }
  }
  [[nodiscard]] ceiling::Load here(ceiling::Load load) const {
    load.path = path_ == kInMemory ? kInMemory : path_ + "-bare";
    load.synced = synced_;
    return load;
  }
  void remove(const std::filesystem::path& path) noexcept {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) context_.warn(path.string() + " was not removed: " + error.message());
  }

  bool synced_;
  const Context& context_;
  std::filesystem::path folder_;  // empty: the user has named the file
  std::string path_;
  std::shared_ptr<Provider> store_;
};

}  // namespace

std::unique_ptr<Place> make_place(const Options& options, const Context& context) {
  if (!options.store.empty() && parse_store(options.store).kind == StoreKind::kPostgres) {
    return make_postgres_place(options, context);
  }
  return std::make_unique<SqlitePlace>(options, context);
}

}  // namespace perdure::cli::bench
