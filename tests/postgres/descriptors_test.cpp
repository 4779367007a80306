// A process without file descriptors: connecting says so, and does not blame the server.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/postgres_provider.h>
#include "support/postgres_schema.h"
#include "support/postgres_shared.h"
#include "support/sanitized.h"

namespace perdure::test {
namespace {

bool names_descriptors(const ProviderError& error) {
  const std::string& text = error.message();
  return error.kind() == ProviderErrorKind::kUnavailable &&
         text.find("this process is out of file descriptors") != std::string::npos &&
         text.find("ulimit -n") != std::string::npos && text.find("check that the server runs") == std::string::npos &&
         text.find("the server has run out") == std::string::npos;
}

// In a child, because the limit would hold for everything. Its exit status says how many times connecting failed, each
// with the right words; 0 if one had others.
int connects_that_name_descriptors(const std::string& url, const PostgresOptions& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  for (rlim_t descriptors = 3;; ++descriptors) {
    limit.rlim_cur = descriptors;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    try {
      (void)PostgresProvider::connect(url, options);
      return static_cast<int>(descriptors - 3);
    } catch (const ProviderFailure& failure) {
      if (names_descriptors(failure.error())) continue;
      static_cast<void>(::write(STDERR_FILENO, failure.what(), std::string(failure.what()).size()));
      return 0;
    }
  }
}

TEST(PostgresDescriptors, ConnectNamesMissingDescriptors) {
  if (PERDURE_TEST_SANITIZED) GTEST_SKIP() << "the checks of the sanitizers need descriptors themselves";
  const PostgresSchema schema(Timestamp{});
  PostgresOptions options;
  options.schema = schema.name();
  const std::string url = shared_postgres_url();
  const pid_t child = ::fork();
  if (child == 0) {
    ::closefrom(3);
    ::alarm(120);
    ::_exit(connects_that_name_descriptors(url, options));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_GE(WEXITSTATUS(status), 4);  // two connections, and the two ends of a pipe
}

}  // namespace
}  // namespace perdure::test
