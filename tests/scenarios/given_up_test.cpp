// An operation that an orchestration dropped or detached cannot end it, whatever its outcome is.
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using Ctx = OrchestrationContext;

class GivenUpOperation : public InEveryWorld {
 protected:
  // Activities and orchestrations without code end as poison.
  void expect_to_survive(const std::string& outcome) {
    registry.add_orchestration("Boss", [this](Ctx ctx) -> Orchestration<int> {
      gives_up(ctx);
      co_return co_await ctx.schedule_wait<int>("go");
    });
    world.start_node(registry);
    world.client().start_orchestration("boss", "Boss");
    world.until([&] {
      for (const std::string& kind : world.event_kinds("boss")) {
        if (kind == outcome) return true;
      }
      return world.client().get_orchestration_status("boss").ended();
    });
    EXPECT_EQ(world.client().get_orchestration_status("boss").state, OrchestrationState::kRunning);
    world.client().raise_event("boss", "go", 7);
    EXPECT_EQ(world.wait("boss").result<int>(), 7);
    EXPECT_THAT(world.event_kinds("boss"), Contains(outcome));
  }

  Registry registry;
  std::function<void(Ctx&)> gives_up;
};
PERDURE_IN_EVERY_WORLD(GivenUpOperation);

TEST_P(GivenUpOperation, ADetachedActivity) {
  gives_up = [](Ctx& ctx) { ctx.schedule_activity<int>("NobodyHasIt").detach(); };
  expect_to_survive("ActivityFailed");
}

TEST_P(GivenUpOperation, ADetachedChild) {
  gives_up = [](Ctx& ctx) { ctx.schedule_sub_orchestration<int>("NobodyHasIt").detach(); };
  expect_to_survive("SubOrchestrationFailed");
}

}  // namespace
}  // namespace perdure::test
