// An instance between two executions, as its clients see it: it runs as long as its continuation is queued, and is
// reported when the continuation is lost.
#include <algorithm>
#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client_scene.h"
#include "support/hooked_store.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

// Something happens when a client has read a status, or waited for a change.
class Meddling final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::function<void()> after_status;
  std::function<void()> after_wait;

  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override {
    auto status = ForwardingProvider::read_status(instance);
    if (const auto meddle = std::exchange(after_status, {})) meddle();
    return status;
  }
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override {
    auto changed = ForwardingProvider::wait_for_change(instance, change, deadline);
    if (const auto meddle = std::exchange(after_wait, {})) meddle();
    return changed;
  }
};

class Continuations : public ClientScene {
 protected:
  Continuations() {
    Registry code = sample_code();
    code.add_orchestration("Above", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Rounds", 1, SubOrchestrationOptions().instance_id("i"));
    });
    node.emplace(store, std::move(code), RuntimeOptions(), 1);
  }
  // Until "i" has ended its first execution and has not begun the second.
  void begin_between() {
    client->start_orchestration("above", "Above");
    const auto between = [&] {
      const auto known = client->list_all_instances();
      return std::find(known.begin(), known.end(), "i") != known.end() &&
             client->get_instance_info("i").status == ExecutionStatus::kContinuedAsNew;
    };
    while (!between()) ASSERT_TRUE(step());
  }
  // Starts "i" and runs it until it has ended its first execution.
  void continue_as_new() {
    client->start_orchestration("i", "Rounds", 1);
    while (client->get_orchestration_status("i").state != OrchestrationState::kRunning) ASSERT_TRUE(step());
    ASSERT_EQ(client->get_instance_info("i").status, ExecutionStatus::kContinuedAsNew);
  }
  // Takes the continuation out of the store.
  void lose_continuation() {
    const auto item = store->fetch_orchestration_item().value();
    ASSERT_TRUE(item.has_value());
    ASSERT_EQ(item->instance, "i");
    ASSERT_EQ(item->messages.size(), 1U);
    TurnCommit loss;
    loss.token = item->token;
    loss.commit_id = 4'711;
    loss.execution_id = item->execution_id;
    loss.consumed = {item->messages.front().id};
    ASSERT_TRUE(store->ack_orchestration_item(loss).has_value());
  }
};
PERDURE_ON_EVERY_STORE(Continuations);

// W32
TEST_P(Continuations, AreNotDeletedWithTheirInstanceUnlessByForce) {
  start("ended", "Nothing");
  client->start_orchestration("i", "Rounds", 1);
  while (client->get_orchestration_status("i").state != OrchestrationState::kRunning) ASSERT_TRUE(step());
  ASSERT_EQ(client->get_instance_info("i").status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(refusal([&] { client->delete_instance("i"); }), ClientErrorKind::kStillRunning);
  InstanceFilter continued;
  continued.statuses = {ExecutionStatus::kContinuedAsNew};
  EXPECT_EQ(client->delete_instance_bulk(continued).instances, 0U);
  EXPECT_EQ(client->delete_instance_bulk({}).instances, 1U) << "only the one that has ended";
  EXPECT_THAT(client->list_all_instances(), ElementsAre("i"));
  work();
  client->raise_event("i", "go");
  work();
  EXPECT_EQ(client->get_orchestration_status("i").result<int>(), 0) << "nothing of it is gone";
}

TEST_P(Continuations, AreDeletedWithTheirInstanceByForce) {
  client->start_orchestration("i", "Rounds", 1);
  while (client->get_orchestration_status("i").state != OrchestrationState::kRunning) ASSERT_TRUE(step());
  EXPECT_EQ(client->delete_instance("i", true).instances, 1U);
  work();
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kNotFound);
  EXPECT_EQ(client->get_queue_depths(), QueueDepths());
}

// ---- Lost ones: W33 ----

TEST_P(Continuations, AQueuedOneIsNotTakenForLost) {
  begin_between();
  EXPECT_THAT(client->find_stuck_instances(), IsEmpty());
  EXPECT_EQ(refusal([&] { client->wait_for_orchestration("i", 0ms); }), ClientErrorKind::kTimeout);
}

TEST_P(Continuations, ALostOneIsFound) {
  begin_between();
  lose_continuation();
  EXPECT_THAT(client->find_stuck_instances(),
              ElementsAre(AllOf(Field(&StuckInstance::instance, "i"),
                                Field(&StuckInstance::reason,
                                      AllOf(HasSubstr("next execution is missing"), HasSubstr("terminate it"))))));
}

TEST_P(Continuations, AnInstanceThatEndsWhileAClientLooksHasNotLostIts) {
  client->start_orchestration("i", "Rounds", 1);
  while (client->get_orchestration_status("i").state != OrchestrationState::kRunning) ASSERT_TRUE(step());
  ASSERT_EQ(client->get_instance_info("i").status, ExecutionStatus::kContinuedAsNew);
  const auto view = std::make_shared<Meddling>(store);
  view->after_status = [this] {
    work();
    client->raise_event("i", "go");
    work();
  };
  EXPECT_THAT(Client(view).find_stuck_instances(), IsEmpty());
  EXPECT_EQ(client->get_orchestration_status("i").state, OrchestrationState::kCompleted);
}

TEST_P(Continuations, AnInstanceThatIsStartedAgainWhileAClientLooksHasNotLostIts) {
  continue_as_new();
  const auto view = std::make_shared<Meddling>(store);
  view->after_status = [this] {
    work();
    client->raise_event("i", "go");
    work();
  };
  view->after_wait = [this] {
    client->delete_instance("i");
    continue_as_new();
  };
  EXPECT_THAT(Client(view).find_stuck_instances(), IsEmpty());
}

TEST_P(Continuations, AWaitForTheEndOfAnInstanceThatHasLostItsFails) {
  begin_between();
  lose_continuation();
  try {
    (void)client->wait_for_orchestration("i", 1h);
    FAIL() << "it has not ended";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kStore);
    EXPECT_FALSE(error.retryable());
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'i'"), HasSubstr("next execution is missing")));
  }
}

TEST_P(Continuations, AnInstanceThatHasLostItsIsEndedByATerminationAndItsParentIsTold) {
  begin_between();
  lose_continuation();
  work();
  EXPECT_FALSE(client->get_orchestration_status("i").ended());
  client->terminate_instance("i", "no use");
  work();
  const auto status = client->wait_for_orchestration("i", 0ms);
  EXPECT_TRUE(status.ended());
  EXPECT_THAT(status.error_text(), HasSubstr("start message of its next execution is missing"));
  const auto above = client->wait_for_orchestration("above", 0ms);
  EXPECT_EQ(above.state, OrchestrationState::kFailed);
  EXPECT_THAT(above.error_text(), HasSubstr("start message of its next execution is missing"));
  EXPECT_THAT(client->find_stuck_instances(), IsEmpty());
}

// ---- Lost rows ----

// The events are those of an instance with a timer. Its successor, which has fewer of them, waits for an event only.
TEST_P(Continuations, ARestartBetweenTwoReadsIsNotTakenForALostTimer) {
  Registry code;
  code.add_orchestration("Sleep", [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_timer(1h); });
  code.add_orchestration("Hear", [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  node.emplace(store, std::move(code), RuntimeOptions(), 2);
  start("i", "Sleep");
  const auto view = std::make_shared<HookedStore>(store);
  act_before(*view, "queue i", 2, [this] {  // the events have been read
    client->delete_instance("i", true);
    start("i", "Hear");
  });
  EXPECT_THAT(Client(view).find_stuck_instances(), IsEmpty());
  EXPECT_EQ(client->get_orchestration_status("i").name, "Hear");
}

}  // namespace
}  // namespace perdure::test
