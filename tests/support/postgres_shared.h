// The server that tests share: the one that PERDURE_TEST_POSTGRES names, else the one that ctest's fixture has started,
// else one of this process.
#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

#include "support/postgres_server.h"

namespace perdure::test {

// Starts the server if it must, which then ends with the process.
[[nodiscard]] const std::string& shared_postgres_url();
// It is somebody's who wants nothing left behind in it: PERDURE_TEST_POSTGRES names it.
[[nodiscard]] bool shared_postgres_is_borrowed();

// ---- between the fixture and the tests of one run of ctest ----

[[nodiscard]] PostgresServerOptions shared_postgres_options();
// The file in which the fixture tells the URL. Runs in one build tree may overlap, so each has its own: `ctest` is the
// parent of the fixture and of all tests.
[[nodiscard]] std::filesystem::path shared_postgres_file(const std::filesystem::path& folder, pid_t ctest);

}  // namespace perdure::test
