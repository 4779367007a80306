// The lifecycles of the simulator's workload by themselves: what they draw, and what their clients remember.
#include "testing/simulation/lifecycle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/memory_provider.h>
#include <perdure/perdure.h>
#include "testing/simulation/interpreter.h"
#include "testing/simulation/random_workload.h"
#include "testing/validation/scene.h"

namespace perdure::testing::simulation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kRoots = {"root0", "root1"};

template <class Visit>
void for_each_program(const Program& program, const Visit& visit) {
  visit(program);
  for_each_step(program, [&](const Step& step) {
    for (const Program& other : step.programs) for_each_program(other, visit);
  });
}

TEST(Lifecycles, FollowFromTheSeed) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ASSERT_EQ(random_lives(seed, kRoots), random_lives(seed, kRoots)) << "seed " << seed;
    ASSERT_NE(random_lives(seed, kRoots), random_lives(seed + 1, kRoots)) << "seed " << seed;
  }
}

TEST(Lifecycles, LeavingOutLivesLeavesTheOthersAsTheyAre) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RandomWorkload whole(seed, {.only = {}, .size = 10, .lifecycles = true, .only_lives = {}});
    const RandomWorkload part(seed,
                              {.only = {}, .size = 10, .lifecycles = true, .only_lives = std::set<std::size_t>{0}});
    ASSERT_EQ(part.lives().size(), 1U);
    EXPECT_EQ(part.lives().front(), whole.lives().front()) << "seed " << seed;
    EXPECT_EQ(part.plans(), whole.plans()) << "seed " << seed;
  }
}

TEST(Lifecycles, DrawEveryCallAndEveryWayToShareAnId) {
  std::map<LifeCall, std::size_t> calls;
  std::map<Sharing, std::size_t> sharings;
  std::map<Op, std::size_t> ops;
  std::map<std::string, std::size_t> wanted;  // instances whose ids children are given
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    for (const LifePlan& plan : random_lives(seed, kRoots)) {
      for (const LifeStep& step : plan.steps) ++calls[step.call];
      for (const Program& generation : plan.generations) {
        for_each_program(generation, [&](const Program& program) {
          for_each_step(program, [&](const Step& step) {
            ++ops[step.op];
            if (step.op != Op::kSharedChild) return;
            ++sharings[sharing_of(step)];
            const std::string id = instance_id_of(step.programs.front());
            ++wanted[id == instance_id_of(program) ? "its own"
                     : id == plan.id               ? "an ancestor's"
                     : id.starts_with("root")      ? "a root's"
                     : id.starts_with("life")      ? "another life's"
                     : id.starts_with("shared")    ? "a shared one"
                                                   : "a named ancestor's"];
          });
        });
      }
    }
  }
  for (int call = 0; call <= static_cast<int>(LifeCall::kSettle); ++call) {
    EXPECT_GE(calls[static_cast<LifeCall>(call)], 50U) << to_string(static_cast<LifeCall>(call));
  }
  for (std::size_t i = 0; i < kSharings; ++i) EXPECT_GE(sharings[static_cast<Sharing>(i)], 100U) << i;
  for (const Op op : {Op::kUnknownActivity, Op::kUnknownChild, Op::kQueue}) EXPECT_GE(ops[op], 50U) << to_string(op);
  for (const char* whose : {"its own", "an ancestor's", "a root's", "another life's", "a shared one"}) {
    EXPECT_GE(wanted[whose], 50U) << whose;
  }
}

// The client of a life with one program, on a store without nodes.
class LifeClients : public ::testing::Test {
 protected:
  LifeClients() {
    plan.id = "life0";
    for (const char* path : {"life0.0", "life0.1"}) {
      Program program;
      program.path = path;
      program.id = "life0";
      program.sections.emplace_back();
      plan.generations.push_back(program);
    }
  }
  bool act(LifeCall call, std::size_t generation = 0) {
    plan.steps.push_back({call, Milliseconds(0), generation});
    return carry_out(plan, plan.steps.size() - 1, client, life);
  }

  std::shared_ptr<Provider> store = make_memory_provider();
  Client client{store};
  LifePlan plan;
  Life life;
};

TEST_F(LifeClients, KnowWhatMayHaveTheId) {
  EXPECT_THAT(life.possible, ElementsAre(""));
  EXPECT_TRUE(act(LifeCall::kStart, 0));
  EXPECT_THAT(life.possible, ElementsAre("life0.0"));
  // It has not ended, so it stays; but perhaps the answer belongs to a repeated call.
  EXPECT_TRUE(act(LifeCall::kReplace, 1));
  EXPECT_THAT(life.possible, ElementsAre("life0.0", "life0.1"));
  EXPECT_TRUE(act(LifeCall::kForceDelete));
  EXPECT_THAT(life.possible, ElementsAre(""));
  EXPECT_THAT(life.problems, IsEmpty());
}

TEST_F(LifeClients, RestartAnIdWithAnotherProgram) {
  EXPECT_TRUE(act(LifeCall::kStart, 0));
  EXPECT_TRUE(act(LifeCall::kRestart, 1));
  EXPECT_THAT(life.possible, ElementsAre("life0.1"));
  EXPECT_THAT(life.problems, IsEmpty());
}

TEST_F(LifeClients, DoOneThingAfterTheOther) {
  plan.steps = {{LifeCall::kStart, Milliseconds(0), 0}, {LifeCall::kForceDelete, Milliseconds(0), 0}};
  EXPECT_FALSE(carry_out(plan, 1, client, life));
  EXPECT_TRUE(carry_out(plan, 0, client, life));
  EXPECT_TRUE(carry_out(plan, 1, client, life));
}

TEST_F(LifeClients, GiveUpADeletionThatIsRefusedForLong) {
  EXPECT_TRUE(act(LifeCall::kStart));
  plan.steps.push_back({LifeCall::kDelete, Milliseconds(0), 0});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(carry_out(plan, 1, client, life));
  EXPECT_TRUE(carry_out(plan, 1, client, life));
  EXPECT_THAT(life.possible, ElementsAre("life0.0"));
}

TEST_F(LifeClients, RememberWhomAWishMayMeet) {
  EXPECT_TRUE(act(LifeCall::kCancel));
  EXPECT_TRUE(act(LifeCall::kStart));
  EXPECT_TRUE(act(LifeCall::kTerminate));
  ASSERT_EQ(life.wishes.size(), 2U);
  for (const auto& [reason, whom] : life.wishes) {
    EXPECT_THAT(whom, ElementsAre(reason.find("cancel") != std::string::npos ? "" : "life0.0")) << reason;
  }
}

// The store has no nodes, so the test ends the instance by itself.
class LifeClientsOfAnEndedInstance : public LifeClients {
 protected:
  void start_and_end(ExecutionStatus status) {
    ASSERT_TRUE(act(LifeCall::kStart));
    TurnCommit commit;
    commit.commit_id = 2;
    commit.status = StatusChange{.status = status, .output = {}};
    take_first_turn(std::move(commit));
  }
  // Another instance schedules a child with the id.
  void schedule_child() {
    ASSERT_TRUE(store->enqueue_start(start_message("parent"), StartPolicy::kIgnore));
    TurnCommit commit;
    commit.commit_id = 1;  // as the link says
    commit.messages = {child_start_message("life0", "parent")};
    take_first_turn(std::move(commit));
  }

 private:
  void take_first_turn(TurnCommit commit) {
    const OrchestrationBatch batch = store->fetch_orchestration_items({}).value();
    ASSERT_EQ(batch.items.size(), 1U);
    commit.token = batch.items.front().token;
    commit.consumed = {batch.items.front().messages.front().id};
    commit.events = {event(1)};
    commit.started = StartedMetadata{.name = "Interpret", .version = {}, .parent = {}, .pinned_version = {}};
    ASSERT_TRUE(store->ack_orchestration_items({&commit, 1}).front());
  }
};

TEST_F(LifeClientsOfAnEndedInstance, DeleteInBulkWhatHasTheState) {
  start_and_end(ExecutionStatus::kCompleted);
  EXPECT_TRUE(act(LifeCall::kBulkDelete, 0));
  EXPECT_THAT(life.possible, ElementsAre("life0.0")) << "only what has failed was meant";
  EXPECT_TRUE(act(LifeCall::kBulkDelete, 1));
  EXPECT_THAT(life.possible, ElementsAre(""));
  EXPECT_THAT(life.problems, IsEmpty());
}

TEST_F(LifeClientsOfAnEndedInstance, DeleteInBulkWhatAChildWaitsFor) {
  plan.contested = true;
  start_and_end(ExecutionStatus::kCompleted);
  schedule_child();
  EXPECT_TRUE(act(LifeCall::kBulkDelete, 1));
  EXPECT_TRUE(client.get_orchestration_status("life0").state == OrchestrationState::kPending);
  EXPECT_THAT(life.problems, IsEmpty());
}

TEST_F(LifeClientsOfAnEndedInstance, KnowThatNoChildWaitsForAnIdOfTheirOwn) {
  start_and_end(ExecutionStatus::kCompleted);
  schedule_child();
  EXPECT_TRUE(act(LifeCall::kBulkDelete, 1));
  EXPECT_THAT(life.problems, ElementsAre(HasSubstr("that a bulk deletion leaves it Completed, actual: Pending")));
}

TEST_F(LifeClientsOfAnEndedInstance, PruneInBulkWhatHasTheState) {
  start_and_end(ExecutionStatus::kFailed);
  EXPECT_TRUE(act(LifeCall::kBulkPrune, 1));
  EXPECT_FALSE(life.pruned);
  EXPECT_TRUE(act(LifeCall::kBulkPrune, 2));
  EXPECT_TRUE(life.pruned);
  EXPECT_THAT(life.problems, IsEmpty());
}

TEST_F(LifeClients, CancelWhatDoesNotExistYet) {
  EXPECT_TRUE(act(LifeCall::kCancelAhead, 1));
  ASSERT_EQ(life.cancelled_ahead.count("life0.1"), 1U);
  EXPECT_EQ(client.get_queue_depths().messages, 1U);
  EXPECT_TRUE(act(LifeCall::kStart, 1));
  EXPECT_TRUE(act(LifeCall::kCancelAhead, 1));
  EXPECT_EQ(client.get_queue_depths().messages, 2U) << "the id is not free";
}

TEST_F(LifeClients, SeeThatSomethingIsGone) {
  EXPECT_TRUE(act(LifeCall::kStart));
  (void)client.delete_instance("life0", true);
  EXPECT_TRUE(act(LifeCall::kLook));
  EXPECT_THAT(life.problems, ElementsAre(HasSubstr("expected that it exists")));
}

TEST(Outputs, NameTheirProgram) {
  EXPECT_EQ(path_in_output(R"({"path": "life0.1/s2", "values": {}})"), "life0.1/s2");
  EXPECT_EQ(path_in_output("not an output"), std::nullopt);
  EXPECT_EQ(path_in_output("[1]"), std::nullopt);
}

}  // namespace
}  // namespace perdure::testing::simulation
