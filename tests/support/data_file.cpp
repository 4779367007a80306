// Comparing with and writing of test data.
#include "support/data_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace perdure::test_support {

void expect_data_file(const std::string& path, std::string_view expected) {
  const std::filesystem::path wanted = std::filesystem::path(PERDURE_TEST_DATA_DIR) / path;
  std::ifstream file(wanted, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (file.is_open() && content.str() == expected) return;

  const auto produced = std::filesystem::path(::testing::TempDir()) / "perdure_data" / wanted.filename();
  std::filesystem::create_directories(produced.parent_path());
  std::ofstream(produced, std::ios::binary) << expected;
  ADD_FAILURE() << wanted << (file.is_open() ? " is not" : " is missing; it should be") << " what this build produces, "
                << produced << ": if the change is intended, copy that over";
}

}  // namespace perdure::test_support
