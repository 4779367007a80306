// A process without file descriptors: opening a store says so.
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/sqlite_provider.h>
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::testing {
namespace {

// In a child, because the limit would hold for everything. Its exit status says how many opens failed, each with the
// right words; 0 if one had others.
int opens_that_name_descriptors(const std::string& path) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  for (rlim_t descriptors = 3;; ++descriptors) {
    limit.rlim_cur = descriptors;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    try {
      (void)SqliteProvider::open(path);
      return static_cast<int>(descriptors - 3);
    } catch (const ProviderFailure& failure) {
      const bool right = failure.error().kind() == ProviderErrorKind::kUnavailable &&
                         failure.error().message().find("out of file descriptors") != std::string::npos;
      if (!right) {
        static_cast<void>(::write(STDERR_FILENO, failure.what(), std::string(failure.what()).size()));
        return 0;
      }
    }
  }
}

TEST(SqliteDescriptors, OpenNamesMissingDescriptors) {
  if (PERDURE_TEST_SANITIZED) GTEST_SKIP() << "the checks of the sanitizers need descriptors themselves";
  const test::TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  const pid_t child = ::fork();
  if (child == 0) {
    ::closefrom(3);
    ::alarm(60);
    ::_exit(opens_that_name_descriptors(path));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_GE(WEXITSTATUS(status), 3);  // the file, its log, and the file of processes
}

}  // namespace
}  // namespace perdure::testing
