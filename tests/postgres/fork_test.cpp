// A child of fork(): it shares the sockets of its parent, and has none of the threads.
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

bool fails_in_child(const Client& client, std::shared_ptr<Provider>& store) {
  try {
    (void)client.get_orchestration_status("i");
    return false;
  } catch (const ClientError& error) {
    store.reset();  // the client holds it, and so does the parent
    return std::string(error.what()).find("after fork()") != std::string::npos;
  }
}

TEST(PostgresForked, ChildFailsAtOnceAndLeavesTheSessionsAlone) {
  const PostgresServer server;
  auto store = PostgresProvider::connect(server.url(), {});
  auto client = std::make_unique<Client>(store);
  client->start_orchestration("i", "Flow");
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const bool right = fails_in_child(*client, store);
    client.reset();  // with the store
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kPending);
  client->cancel_instance("i");
}

}  // namespace
}  // namespace perdure::test
