// The workload of the simulator by itself: its programs, and that its check neither cries wolf nor sleeps, on a cluster
// in which nothing goes wrong.
#include "testing/simulation/random_workload.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/memory_provider.h>
#include <perdure/perdure.h>
#include <perdure/testing/forwarding_provider.h>
#include "model/error_codec.h"
#include "testing/dice.h"
#include "testing/environment/virtual_clock.h"
#include "testing/simulation/interpreter.h"
#include "testing/simulation/stepped_node.h"

namespace perdure::testing::simulation {
namespace {

constexpr Timestamp kStart{Milliseconds(1'700'000'000'000)};
constexpr Milliseconds kLongTime = std::chrono::hours(24 * 365);
constexpr std::size_t kSize = RandomWorkloadOptions{}.size;

// Two nodes, of both generations, on a store in memory.
class CalmCluster {
 public:
  using Tamper = std::function<void(Registry&)>;

  CalmCluster(
      RandomWorkload& workload, std::uint64_t seed, const Tamper& tamper = [](Registry&) {})
      : workload_(workload), dice_(seed) {
    RuntimeOptions options;
    options.clock = clock_;
    options.max_attempts = 1'000'000;
    // Time jumps: a node that looks again, just in case, would only count as work that there is not.
    options.long_poll_timeout = kLongTime;
    options.session_cleanup_interval = kLongTime;
    options.worker_tag_filter = TagFilter::untagged_and(workload.tags());
    for (const int generation : {0, 1}) {
      Registry registry = workload.registry(generation);
      tamper(registry);
      nodes_.push_back(std::make_unique<SteppedNode>(store_, registry, options, seed * 10 + nodes_.size()));
    }
    for (ClientAction& action : workload.actions(kStart)) pending_.emplace(action.at, std::move(action));
  }

  // Until nothing can happen any more.
  void run() {
    while (act() || step() || jump()) {
      ASSERT_LT(steps_, 100'000U) << "it does not come to rest";
    }
  }
  void stop() {
    for (const auto& node : nodes_) workload_.node_ended(node->id());
    nodes_.clear();
  }

  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] const std::shared_ptr<Provider>& store() const { return store_; }
  [[nodiscard]] std::vector<std::string> check() { return workload_.check(*store_, {}); }

 private:
  bool act() {
    if (pending_.empty() || pending_.begin()->first > clock_->now()) return false;
    ClientAction action = std::move(pending_.extract(pending_.begin()).mapped());
    if (!action.act(client_)) pending_.emplace(clock_->now() + std::chrono::minutes(10), std::move(action));
    return true;
  }
  bool step() {
    for (int asked = 0; asked < 2; ++asked) {
      std::vector<std::size_t> choices;
      std::size_t total = 0;
      for (const auto& node : nodes_) total += choices.emplace_back(node->choices());
      if (total == 0) continue;
      std::size_t chosen = dice_.below(total);
      std::size_t node = 0;
      for (; chosen >= choices[node]; ++node) chosen -= choices[node];
      nodes_[node]->step(chosen);
      ++steps_;
      idle_jumps_ = 0;
      return true;
    }
    return false;
  }
  // To what the store, the nodes or the clients do next.
  bool jump() {
    WorkWait wait;
    wait.orchestrations.emplace();
    wait.activities.emplace();
    wait.activities->tags = TagFilter::untagged_and(workload_.tags());
    const Timestamp store_next =
        clock_->sleep_of([&] { static_cast<void>(store_->wait_for_work(wait, Timestamp::max()).value()); })
            .value_or(clock_->now());
    const Timestamp client_next = pending_.empty() ? Timestamp::max() : pending_.begin()->first;
    Timestamp next = std::min(store_next, client_next);
    // What only one of the nodes may take is not seen from here.
    if (next == Timestamp::max()) {
      if (++idle_jumps_ > 50) return false;
      next = clock_->now() + std::chrono::minutes(10);
    }
    for (const auto& node : nodes_) {
      if (const Timestamp wake = node->wake_at(); wake > clock_->now()) next = std::min(next, wake);
    }
    clock_->jump_to(std::max(next, clock_->now() + Milliseconds(1)));
    return true;
  }

  RandomWorkload& workload_;
  Dice dice_;
  std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>(kStart);
  std::shared_ptr<Provider> store_ = make_memory_provider({.clock = clock_, .logger = {}, .metrics = {}});
  Client client_{store_};
  std::vector<std::unique_ptr<SteppedNode>> nodes_;
  std::multimap<Timestamp, ClientAction> pending_;
  std::size_t steps_ = 0;
  std::size_t idle_jumps_ = 0;  // since the last step
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// ---- programs
// --------------------------------------------------------------------------------------------------------

TEST(RandomWorkload, ProgramsSurviveTheirEncoding) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const RootPlan& plan : random_plans(seed, kSize)) {
      Assignment assignment{plan.program, {}};
      assignment.state.section = 1;
      assignment.state.values["s1"] = "a value";
      assignment.state.messages = {"m1", "m2"};
      assignment.state.versions = {"1.0.0"};
      ASSERT_EQ(decode_assignment(encode_assignment(assignment)), assignment) << "seed " << seed;
    }
  }
}

TEST(RandomWorkload, AnUnknownOperationIsRefused) {
  Program program;
  program.path = "root0";
  program.sections = {{Step{}}};
  std::string text = encode_assignment({program, {}});
  const auto name = text.find("\"activity\"");
  ASSERT_NE(name, std::string::npos);
  text.replace(name, 10, "\"somersault\"");
  EXPECT_THROW(static_cast<void>(decode_assignment(text)), std::invalid_argument);
}

TEST(RandomWorkload, EqualSeedsGiveEqualWorkloads) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ASSERT_EQ(random_plans(seed, kSize), random_plans(seed, kSize)) << "seed " << seed;
    ASSERT_NE(random_plans(seed, kSize), random_plans(seed + 1, kSize)) << "seed " << seed;
  }
}

TEST(RandomWorkload, LeavingOutRootsLeavesTheOthersAsTheyAre) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RandomWorkload whole(seed);
    const RandomWorkload part(seed, {.only = std::set<std::size_t>{0, 2}});
    ASSERT_EQ(part.plans().size(), 2U);
    EXPECT_EQ(part.plans()[0], whole.plans()[0]) << "seed " << seed;
    EXPECT_EQ(part.plans()[1], whole.plans()[2]) << "seed " << seed;
    EXPECT_GE(whole.plans().size(), 3U);
    EXPECT_LE(whole.plans().size(), 8U);
  }
}

void count_ops(const Program& program, std::array<std::size_t, kOps>& counts) {
  for_each_step(program, [&](const Step& step) {
    ++counts.at(static_cast<std::size_t>(step.op));
    for (const Program& other : step.programs) count_ops(other, counts);
  });
}

TEST(RandomWorkload, EveryOperationAndEveryCallOccursOften) {
  std::array<std::size_t, kOps> ops{};
  std::map<ClientCall, std::size_t> calls;
  std::map<Ending, std::size_t> endings;
  std::size_t continued = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    for (const RootPlan& plan : random_plans(seed, kSize)) {
      count_ops(plan.program, ops);
      for (const ClientIntent& intent : plan.intents) ++calls[intent.call];
      ++endings[plan.program.ending];
      if (plan.program.sections.size() > 1) ++continued;
    }
  }
  for (std::size_t op = 0; op < kCommonOps; ++op) EXPECT_GE(ops.at(op), 100U) << to_string(static_cast<Op>(op));
  EXPECT_GE(ops.at(static_cast<std::size_t>(Op::kUnknownTimedActivity)), 100U);
  EXPECT_GE(ops.at(static_cast<std::size_t>(Op::kRetiredActivity)), 50U);
  for (int call = 0; call <= static_cast<int>(ClientCall::kReadStatus); ++call) {
    EXPECT_GE(calls[static_cast<ClientCall>(call)], 100U) << to_string(static_cast<ClientCall>(call));
  }
  for (const Ending ending : {Ending::kCompletes, Ending::kFails, Ending::kWaits}) EXPECT_GE(endings[ending], 100U);
  EXPECT_GE(continued, 100U);
}

// ---- the workload at work
// --------------------------------------------------------------------------------------------

TEST(RandomWorkload, ComesOutAsPredictedWhereNothingGoesWrong) {
  constexpr std::uint64_t kSeeds = 200;
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomWorkload workload(seed);
    CalmCluster cluster(workload, seed);
    cluster.run();
    ASSERT_EQ(joined(cluster.check()), "") << "seed " << seed;
    cluster.stop();
    ASSERT_EQ(workload.live_frames(), 0U) << "seed " << seed;
    steps += cluster.steps();
  }
  RecordProperty("steps", std::to_string(steps / kSeeds));
  EXPECT_GE(steps / kSeeds, 250U);
}

TEST(RandomWorkload, EqualSeedsGoTheSameWay) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<std::size_t> steps;
    for (int time = 0; time < 2; ++time) {
      RandomWorkload workload(seed);
      CalmCluster cluster(workload, seed);
      cluster.run();
      steps.push_back(cluster.steps());
    }
    EXPECT_EQ(steps[0], steps[1]) << "seed " << seed;
  }
}

// ---- the check is not blind
// ------------------------------------------------------------------------------------------

TEST(RandomWorkload, SeesThatAnActivitysResultIsNotWhatItsFunctionGave) {
  RandomWorkload workload(1);
  CalmCluster cluster(workload, 1, [](Registry& registry) {
    registry.replace_activity(activity::kEcho,
                              [](const auto& call, const Payload&) { call->end(Payload("\"tampered\"")); });
  });
  cluster.run();
  const std::string lines = joined(cluster.check());
  EXPECT_NE(lines.find("activity Echo"), std::string::npos) << lines;
  EXPECT_NE(lines.find("tampered"), std::string::npos) << lines;
}

// A root that stays: nobody deletes it, and nobody cuts it short.
std::optional<Program> steady_root(const RandomWorkload& workload) {
  for (const RootPlan& plan : workload.plans()) {
    if (!plan.has(ClientCall::kDelete) && plan.program.ending == Ending::kCompletes && !plan.has(ClientCall::kCancel) &&
        !plan.has(ClientCall::kTerminate)) {
      return plan.program;
    }
  }
  return std::nullopt;
}

TEST(RandomWorkload, SeesThatAnInstanceIsLost) {
  RandomWorkload workload(1);
  const auto root = steady_root(workload);
  ASSERT_TRUE(root);
  CalmCluster cluster(workload, 1);
  cluster.run();
  Client(cluster.store()).delete_instance(instance_id_of(*root), true);
  const std::string lines = joined(cluster.check());
  EXPECT_NE(lines.find("instance " + instance_id_of(*root) + ": expected that it exists"), std::string::npos) << lines;
}

// Says something else about one instance than the store does.
class Liar final : public ForwardingProvider {
 public:
  using Lie = std::function<void(InstanceStatus&)>;
  Liar(std::shared_ptr<Provider> inner, std::string instance, Lie lie)
      : ForwardingProvider(std::move(inner)), instance_(std::move(instance)), lie_(std::move(lie)) {}

  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override {
    auto status = ForwardingProvider::read_status(instance);
    if (instance == instance_ && status && *status) lie_(**status);
    return status;
  }

 private:
  std::string instance_;
  Lie lie_;
};

// A child that has completed, and whose root is there.
std::optional<std::string> completed_child(const RandomWorkload& workload, const Client& client) {
  for (const auto& [path, rule] : workload.rules()) {
    if (!rule.parent || !rule.id) continue;
    if (client.get_orchestration_status(*rule.id).completed()) return rule.id;
  }
  return std::nullopt;
}

TEST(RandomWorkload, SeesThatAChildsOutputIsWrong) {
  bool tried = false;
  for (std::uint64_t seed = 1; seed <= 20 && !tried; ++seed) {
    RandomWorkload workload(seed);
    CalmCluster cluster(workload, seed);
    cluster.run();
    const auto child = completed_child(workload, Client(cluster.store()));
    if (!child) continue;
    tried = true;
    Liar liar(cluster.store(), *child, [](InstanceStatus& status) { status.output = R"({"path":"another"})"; });
    const std::string lines = joined(workload.check(liar, {}));
    EXPECT_NE(lines.find("instance " + *child + ": expected another output"), std::string::npos) << lines;
    EXPECT_NE(lines.find("instance " + *child + ": expected what its parent"), std::string::npos) << lines;
  }
  EXPECT_TRUE(tried);
}

TEST(RandomWorkload, SeesThatAnInstanceHasNotEndedOrHasAnotherStatus) {
  RandomWorkload workload(1);
  const auto root = steady_root(workload);
  ASSERT_TRUE(root);
  CalmCluster cluster(workload, 1);
  cluster.run();
  const std::string id = instance_id_of(*root);
  Liar running(cluster.store(), id, [](InstanceStatus& status) { status.status = ExecutionStatus::kRunning; });
  EXPECT_NE(joined(workload.check(running, {})).find("instance " + id + ": expected that it has ended"),
            std::string::npos);
  Liar status(cluster.store(), id, [](InstanceStatus& told) { told.custom_status = "a lie"; });
  EXPECT_NE(joined(workload.check(status, {})).find("instance " + id + ": expected the custom status"),
            std::string::npos);
}

TEST(RandomWorkload, ForgivesWhatDependsOnADamagedInstance) {
  RandomWorkload workload(1);
  const auto root = steady_root(workload);
  ASSERT_TRUE(root);
  CalmCluster cluster(workload, 1);
  cluster.run();
  const std::string id = instance_id_of(*root);
  Liar failed(cluster.store(), id, [](InstanceStatus& status) { status.status = ExecutionStatus::kFailed; });
  EXPECT_NE(joined(workload.check(failed, {})), "");
  RunFacts facts;
  facts.damaged = {id};
  EXPECT_EQ(joined(workload.check(failed, facts)), "");
}

TEST(RandomWorkload, ForgivesPoisonOnlyOfAnActivityThatANodeDidNotReturn) {
  RandomWorkload workload(1);
  const auto root = steady_root(workload);
  ASSERT_TRUE(root);
  CalmCluster cluster(workload, 1);
  cluster.run();
  const std::string id = instance_id_of(*root);
  const PoisonError poison{
      PoisonSubject::kActivity, id, kFirstExecutionId, std::string(kUnknown), 5, 81, 80, "no code"};
  Liar failed(cluster.store(), id, [&](InstanceStatus& status) {
    status.status = ExecutionStatus::kFailed;
    status.output = encode_error(poison);
  });
  const std::string problem = "instance " + id + ": expected that it completes, actual: Failed: poison";
  EXPECT_NE(joined(workload.check(failed, {})).find(problem), std::string::npos);
  RunFacts facts;
  facts.fetched_in_vain = {{id, kFirstExecutionId, 6}};
  EXPECT_NE(joined(workload.check(failed, facts)).find(problem), std::string::npos) << "that was another activity";
  facts.fetched_in_vain = {{id, kFirstExecutionId, 5}};
  EXPECT_EQ(joined(workload.check(failed, facts)), "");
}

}  // namespace
}  // namespace perdure::testing::simulation
