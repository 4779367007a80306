// Names that no store could keep as text are refused where they are used, with the same error on every store.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

class NamesInEveryWorld : public InEveryWorld {
 protected:
  void expect_refusal(const std::function<void(Ctx&)>& uses, const std::string& text) {
    Registry registry;
    registry.add_activity("A", [](ActivityContext&) { return 1; });
    registry.add_orchestration("O", [&](Ctx ctx) -> Orchestration<int> {
      uses(ctx);
      co_return co_await ctx.schedule_wait<int>("never");
    });
    world.start_node(registry);
    world.client().start_orchestration("i", "O");
    const auto status = world.wait("i");
    EXPECT_EQ(status.state, OrchestrationState::kFailed);
    EXPECT_THAT(status.error_text(), HasSubstr(text));
    EXPECT_TRUE(std::holds_alternative<ApplicationError>(status.error.value()));
  }
};
PERDURE_IN_EVERY_WORLD(NamesInEveryWorld);

TEST_P(NamesInEveryWorld, AnEmptyEvent) {
  expect_refusal([](Ctx& ctx) { ctx.schedule_wait<int>("").detach(); }, "an event's name must not be empty");
}

TEST_P(NamesInEveryWorld, ATagWithANul) {
  expect_refusal([](Ctx& ctx) { ctx.schedule_activity<int>("A", ActivityOptions().tag("g\0u"s)).detach(); },
                 "a tag must not contain control characters");
}

TEST_P(NamesInEveryWorld, AChildWhoseIdIsNotUtf8) {
  expect_refusal(
      [](Ctx& ctx) {
        ctx.schedule_sub_orchestration<int>("O", SubOrchestrationOptions().instance_id("a\xff")).detach();
      },
      "an instance id must be valid UTF-8");
}

}  // namespace
}  // namespace perdure::test
