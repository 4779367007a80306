// The store of `perdure torture` on a server that falls silent: its removal ends.
#include "cli/torture_store.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cutting_proxy.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

// Far more than the patience below, and far less than for good.
constexpr std::chrono::seconds kHang{25};

TEST(TortureStores, RemovalEndsThoughTheServerFallsSilent) {
  PostgresServer server;
  CuttingProxy proxy{static_cast<std::uint16_t>(server.port())};
  cli::StoreArgument argument;
  argument.kind = cli::StoreKind::kPostgres;
  argument.place = "postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres?sslmode=disable";
  cli::TortureStore store(argument, false, SqliteSynchronous::kFull);
  proxy.go_silent_at("DROP SCHEMA");
  std::string complaint;
  std::future<void> removal = std::async(std::launch::async, [&] {
    try {
      store.remove(Milliseconds(500));
    } catch (const std::runtime_error& error) {
      complaint = error.what();
    }
  });
  EXPECT_EQ(removal.wait_for(kHang), std::future_status::ready) << "the removal hangs";
  proxy.pass_everything();
  proxy.cut_all();
  removal.get();
  EXPECT_THAT(complaint, ::testing::HasSubstr("cannot be dropped: the server did not respond in time"));
  store.remove();
}

}  // namespace
}  // namespace perdure::test
