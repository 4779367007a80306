// A user's program with the store on PostgreSQL. There is no server; that it says so proves that everything is linked.
#include <cstdio>

#include <perdure/postgres_provider.h>

int main() {
  try {
    static_cast<void>(perdure::PostgresProvider::connect("postgresql://nobody@/none?host=/nowhere"));
  } catch (const perdure::ProviderFailure& failure) {
    std::printf("postgres: %s\n", failure.what());
    return 0;
  }
  return 1;
}
