#include "providers/sqlite_scene.h"

#include <fstream>
#include <iterator>

#include "providers/history_damage.h"

namespace perdure::testing {

SqliteOptions SqliteFile::options() const {
  SqliteOptions options;
  options.clock = clock_;
  options.vfs = vfs_;
  options.orphan_retention = orphan_retention();
  return options;
}

void SqliteFile::corrupt_history(Provider& store, const std::string& instance) {
  dynamic_cast<HistoryDamage&>(store).damage_history(instance);
}

sqlite::Connection open_plainly(const std::string& path) {
  return {path, sqlite::Connection::Mode::kReadWriteCreate, Milliseconds{10'000}};
}

std::string integrity_of(const std::string& path) {
  sqlite::Connection connection = open_plainly(path);
  sqlite::Query check = connection.query("PRAGMA integrity_check");
  return check.step() ? check.text(0) : "no answer";
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ProviderError refusal_of(const std::string& path, SqliteOptions options) {
  try {
    static_cast<void>(SqliteProvider::open(path, std::move(options)));
  } catch (const ProviderFailure& failure) {
    return failure.error();
  }
  throw ValidationFailure(path + " was opened");
}

}  // namespace perdure::testing
