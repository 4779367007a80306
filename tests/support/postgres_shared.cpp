#include "support/postgres_shared.h"

#include <cstdlib>
#include <fstream>

#include <unistd.h>

namespace perdure::test {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string find_url() {
  if (shared_postgres_is_borrowed()) return variable("PERDURE_TEST_POSTGRES");
  if (const std::string folder = variable("PERDURE_TEST_POSTGRES_FOLDER"); !folder.empty()) {
    std::string url;
    if (std::getline(std::ifstream(shared_postgres_file(folder, ::getppid())), url)) return url;
  }
  static const PostgresServer kServer(shared_postgres_options());
  return kServer.url();
}

}  // namespace

const std::string& shared_postgres_url() {
  static const std::string kUrl = find_url();
  return kUrl;
}

bool shared_postgres_is_borrowed() {
  return !variable("PERDURE_TEST_POSTGRES").empty();
}

PostgresServerOptions shared_postgres_options() {
  return {.durable = false, .max_connections = 200, .settings = {}};
}

std::filesystem::path shared_postgres_file(const std::filesystem::path& folder, pid_t ctest) {
  return folder / (std::to_string(ctest) + ".url");
}

}  // namespace perdure::test
