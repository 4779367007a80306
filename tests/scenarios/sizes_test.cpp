// Large messages and histories, on real stores: what is within the limits passes, what exceeds them fails with an error
// that names the limit, and nothing is lost before.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct SizeTrial {
  WorldKind world;
  std::size_t message_bytes = 0;
  RuntimeOptions options{};
};

// The real limits once for each kind of store, since a hundred MiB pass through the store several times; elsewhere
// limits that are a sixteenth.
std::vector<SizeTrial> size_trials() {
  RuntimeOptions lowered;
  lowered.limits.max_carry_forward_bytes = 8 * kMiB;
  return {
      {.world = {.store = StoreKind::kSqlite, .seed = 10}, .message_bytes = 16 * kMiB},
      {.world = {.store = StoreKind::kSqlite, .cache = false, .seed = 11}, .message_bytes = kMiB, .options = lowered},
      {.world = {.store = StoreKind::kPostgres, .seed = 10}, .message_bytes = 16 * kMiB},
      {.world = {.store = StoreKind::kPostgres, .seed = 12}, .message_bytes = kMiB, .options = lowered},
      {.world = {.store = StoreKind::kPostgres, .cache = false, .seed = 13},
       .message_bytes = kMiB,
       .options = lowered}};
}

class Sizes : public ::testing::TestWithParam<SizeTrial> {
 protected:
  // As JSON it has `message_bytes`.
  void send(std::size_t count) {
    const std::string text(GetParam().message_bytes - 2, 'x');
    for (std::size_t i = 0; i < count; ++i) world.client().enqueue_event("i", "large", text);
    world.settle();
  }
  [[nodiscard]] std::ptrdiff_t events(std::string_view kind) const {
    const std::vector<std::string> kinds = world.event_kinds("i");
    return std::count(kinds.begin(), kinds.end(), kind);
  }

  World world{GetParam().world};
};
INSTANTIATE_TEST_SUITE_P(Stores, Sizes, ::testing::ValuesIn(size_trials()),
                         [](const auto& trial) { return trial.param.world.name(); });

// Continues with unread messages when it is told to. Its next execution reads `count` of them and returns their bytes.
Registry carriers() {
  Registry registry;
  registry.add_orchestration("Carrier", [](Ctx ctx, int count) -> Orchestration<std::size_t> {
    if (ctx.execution_id() == 1) {
      co_await ctx.schedule_wait<void>("continue");
      co_return ctx.continue_as_new(count);
    }
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += (co_await ctx.dequeue_event<std::string>("large")).size() + 2;
    co_return bytes;
  });
  return registry;
}

TEST_P(Sizes, LargeUnreadMessagesAreCarriedIntoTheNextExecution) {
  world.start_node(carriers(), GetParam().options);
  world.client().start_orchestration("i", "Carrier", 7);
  send(7);
  EXPECT_EQ(events("QueueEventDelivered"), 7);
  world.client().raise_event("i", "continue");
  EXPECT_EQ(world.wait("i").result<std::size_t>(), 7 * GetParam().message_bytes);
}

TEST_P(Sizes, MoreThanCanBeCarriedFailsWithTheLimitAndStaysInTheHistory) {
  world.start_node(carriers(), GetParam().options);
  world.client().start_orchestration("i", "Carrier", 9);
  send(9);
  world.client().raise_event("i", "continue");
  const OrchestrationStatus status = world.wait("i");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_THAT(status.error_text(), HasSubstr("max_carry_forward_bytes"));
  EXPECT_EQ(status.execution_id, 1U);
  EXPECT_EQ(events("QueueEventDelivered"), 9);
}

}  // namespace
}  // namespace perdure::test
