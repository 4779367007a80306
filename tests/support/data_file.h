// Files that hold what the code must produce.
#pragma once

#include <string>
#include <string_view>

namespace perdure::test_support {

// Fails the test if the file `path`, relative to the repository's test data, does not hold exactly `expected`. The
// failure says where it put the new text: copying it over the old one is how an intended change is made.
void expect_data_file(const std::string& path, std::string_view expected);

}  // namespace perdure::test_support
