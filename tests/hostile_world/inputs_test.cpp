// Values at and beyond what a store takes, and runtimes that come and go.
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

Registry echo_registry() {
  Registry registry;
  registry.add_activity("Echo", [](ActivityContext&, Raw value) { return value; });
  registry.add_orchestration("Echo", [](OrchestrationContext ctx, Raw value) -> Orchestration<Raw> {
    co_return co_await ctx.schedule_activity<Raw>("Echo", value);
  });
  return registry;
}

class HostileInputs : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::shared_ptr<Provider> store = SqliteProvider::open(folder.file("store.db"));
  Client client{store};
};

TEST_F(HostileInputs, PayloadsOfAnyBytesComeBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::vector<std::string> payloads{"", std::string(1, '\0'), all, std::string(1'000'000, '['),
                                          std::string(Limits().max_payload_bytes, 'x')};
  const Runtime runtime(store, echo_registry());
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const std::string instance = std::to_string(i);
    client.start_orchestration(instance, "Echo", Raw{payloads[i]});
    const auto status = client.wait_for_orchestration(instance, 60s);
    ASSERT_TRUE(status.completed()) << status.error_text();
    EXPECT_TRUE(status.result<Raw>().text() == payloads[i]) << i;
  }
}

TEST_F(HostileInputs, WhatIsTooLargeIsRefusedBeforeItIsStored) {
  const auto expect_refused = [&](const std::string& instance, const Raw& input) {
    try {
      client.start_orchestration(instance, "Echo", input);
      FAIL() << "it was taken";
    } catch (const ClientError& error) {
      EXPECT_EQ(error.kind(), ClientErrorKind::kInvalidInput) << error.what();
      EXPECT_LT(std::string(error.what()).size(), 4'000U);
    }
  };
  expect_refused("large", Raw{std::string(100'000'000, 'x')});
  expect_refused(std::string(Limits().max_name_bytes + 1, 'n'), Raw{"1"});
  expect_refused(std::string(10'000'000, 'n'), Raw{"1"});
  EXPECT_EQ(client.get_system_metrics().instances, 0U);
}

// Random bytes, because an index compresses others.
std::string incompressible_name(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> letters('!', '~');
  std::string name;
  while (name.size() < size) name += static_cast<char>(letters(random));
  return name;
}

class InputsAtTheBounds : public ::testing::Test {
 protected:
  static void completes_on(const std::shared_ptr<Provider>& store) {
    const std::size_t longest = Limits::kGreatestNameBytes;
    const std::string child = incompressible_name(longest, 2);
    const std::string session = incompressible_name(longest, 3);
    const std::string tag = incompressible_name(Limits::kGreatestTagBytes, 4);
    const std::string key = incompressible_name(longest, 5);
    Registry registry;
    registry.add_activity("Work", [](ActivityContext&) {});
    registry.add_orchestration("Child", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
    registry.add_orchestration("Flow", [=](OrchestrationContext ctx, Raw) -> Orchestration<int> {
      co_await ctx.schedule_activity<void>("Work", ActivityOptions().tag(tag).session(session));
      ctx.set_kv_value(key, 1);
      SubOrchestrationOptions options;
      options.instance_id(child);
      co_return co_await ctx.schedule_sub_orchestration<int>("Child", options);
    });
    RuntimeOptions options;
    options.limits.max_name_bytes = longest;
    options.limits.max_tag_bytes = Limits::kGreatestTagBytes;
    options.limits.max_payload_bytes = Limits::kGreatestPayloadBytes;
    options.worker_node_id = incompressible_name(longest, 6);
    options.worker_tag_filter = TagFilter::any();
    const Runtime runtime(store, registry, options);
    const Client client(store, {.limits = options.limits, .logger = {}});
    const std::string instance = incompressible_name(longest, 7);
    client.start_orchestration(instance, "Flow", Raw{std::string(Limits::kGreatestPayloadBytes, 'x')});
    const auto status = client.wait_for_orchestration(instance, 60s);
    EXPECT_TRUE(status.completed()) << status.error_text();
    EXPECT_EQ(client.get_kv_value<int>(instance, key), 1);
  }
};

TEST_F(InputsAtTheBounds, CompleteOnSqlite) {
  const TemporaryFolder folder;
  completes_on(SqliteProvider::open(folder.file("store.db")));
}

TEST_F(InputsAtTheBounds, CompleteOnPostgres) {
  PostgresSession session(shared_postgres_url());
  PostgresOptions options;
  options.schema = "perdure_bounds_" + std::to_string(::getpid());
  session.execute("DROP SCHEMA IF EXISTS " + options.schema + " CASCADE");
  completes_on(PostgresProvider::connect(shared_postgres_url(), options));
  session.execute("DROP SCHEMA " + options.schema + " CASCADE");
}

TEST_F(HostileInputs, TenThousandTagsInAFilterAreRefusedAndHundredsOfTagsAreServed) {
  std::vector<std::string> tags;
  for (int i = 0; i < 10'000; ++i) tags.push_back("tag " + std::to_string(i));
  EXPECT_THROW(static_cast<void>(TagFilter::tags(tags)), std::invalid_argument);
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) {});
  registry.add_orchestration("Tagged", [](OrchestrationContext ctx) -> Orchestration<int> {
    constexpr int kTags = 500;
    std::vector<Future<void>> all;
    for (int i = 0; i < kTags; ++i) {
      all.push_back(ctx.schedule_activity<void>("Work", ActivityOptions().tag("tag " + std::to_string(i))));
    }
    for (Future<void>& each : all) co_await each;
    co_return kTags;
  });
  RuntimeOptions options;
  options.worker_tag_filter = TagFilter::any();
  const Runtime runtime(store, registry, options);
  const std::string longest(Limits().max_name_bytes, 'n');
  client.start_orchestration(longest, "Tagged");
  const auto status = client.wait_for_orchestration(longest, 60s);
  EXPECT_TRUE(status.completed()) << status.error_text();
}

TEST_F(HostileInputs, FiveHundredRuntimesLeaveNothingBehind) {
  for (int i = 0; i < 500; ++i) {
    RuntimeOptions options;
    options.orchestration_concurrency = 1;
    options.worker_concurrency = 1;
    const Runtime runtime(store, echo_registry(), options);
    if (i % 100 == 0) client.start_orchestration(std::to_string(i), "Echo", Raw{"1"});
  }
  EXPECT_TRUE(client.list_nodes().empty());
  const Runtime runtime(store, echo_registry());
  for (int i = 0; i < 500; i += 100) {
    EXPECT_TRUE(client.wait_for_orchestration(std::to_string(i), 60s).completed());
  }
}

}  // namespace
}  // namespace perdure::test
