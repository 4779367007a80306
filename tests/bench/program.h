// `perdure bench` as a function, for the tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/temporary_folder.h"

namespace perdure::test {

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
};

// `perdure bench` with these arguments.
[[nodiscard]] Outcome run_bench(const std::vector<std::string>& arguments);

// A folder for stores, to see that nothing stays there.
class StoreFolder {
 public:
  [[nodiscard]] std::string store() const { return "sqlite:" + (folder_.path() / "store.db").string(); }
  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(folder_.path()); }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace perdure::test
