// What the tests of the SQLite store share: a store in a file with a clock that stands still, and looks at the file.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <perdure/clock.h>
#include <perdure/sqlite_provider.h>
#include "providers/factories.h"
#include "providers/sqlite/connection.h"
#include "testing/validation/scene.h"

namespace perdure::testing {

// Opens one file as often as it is asked. Scenes on it share its clock.
class SqliteFile final : public ProviderFactory {
 public:
  explicit SqliteFile(std::string path, std::string vfs = {}) : path_(std::move(path)), vfs_(std::move(vfs)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] ManualClock& clock() noexcept { return *clock_; }
  [[nodiscard]] SqliteOptions options() const;
  [[nodiscard]] std::shared_ptr<Provider> create() override { return SqliteProvider::open(path_, options()); }
  void advance(Milliseconds by) override { clock_->advance(by); }
  void step(Milliseconds by) override { clock_->step(by); }
  void corrupt_history(Provider& store, const std::string& instance) override;
  [[nodiscard]] Milliseconds orphan_retention() const override { return Milliseconds{3'600'000}; }

 private:
  std::string path_;
  std::string vfs_;
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(Timestamp(Milliseconds{1'700'000'000'000}));
};

// A connection beside the store's.
[[nodiscard]] sqlite::Connection open_plainly(const std::string& path);
// What "PRAGMA integrity_check" says: "ok".
[[nodiscard]] std::string integrity_of(const std::string& path);
[[nodiscard]] std::string bytes_of(const std::string& path);

// The error with which opening fails; fails the test if it does not.
[[nodiscard]] ProviderError refusal_of(const std::string& path, SqliteOptions options = {});

}  // namespace perdure::testing
