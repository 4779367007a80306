// The stores that the tests of this folder run on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/memory_provider.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/provider_validation.h>

namespace perdure::testing {

// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::unique_ptr<ProviderFactory> make_memory_factory();
[[nodiscard]] std::unique_ptr<ProviderFactory> make_sqlite_file_factory();
[[nodiscard]] std::unique_ptr<ProviderFactory> make_sqlite_memory_factory();

}  // namespace perdure::testing
