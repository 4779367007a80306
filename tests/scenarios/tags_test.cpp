// Tags: pools of workers, each of which takes the activities that its filter names.
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using Ctx = OrchestrationContext;

// Which activities have run where: "gpu/a" for one with tag a on host gpu, "cpu/-" for one without. Copies are the same
// record.
class Runs {
 public:
  void add(const std::string& run) const {
    const std::scoped_lock lock(state_->mutex);
    state_->runs.push_back(run);
  }
  [[nodiscard]] std::multiset<std::string> all() const {
    const std::scoped_lock lock(state_->mutex);
    return {state_->runs.begin(), state_->runs.end()};
  }
  void clear() const {
    const std::scoped_lock lock(state_->mutex);
    state_->runs.clear();
  }

 private:
  struct State {
    std::mutex mutex;
    std::vector<std::string> runs;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

ActivityOptions tagged(const std::string& tag) {
  return tag == "-" ? ActivityOptions() : ActivityOptions().tag(tag);
}

// Activities: Where tells where it runs. Flaky does so too, but fails at first.
void add_activities(Registry& registry, const std::string& host, const Runs& runs) {
  const auto where = [host, runs](const ActivityContext& ctx) {
    const std::string run = host + "/" + ctx.tag().value_or("-");
    runs.add(run);
    return run;
  };
  registry.add_activity("Where", [where](ActivityContext& ctx) { return where(ctx); });
  registry.add_activity("Flaky", [where, runs](ActivityContext& ctx) {
    const std::string run = where(ctx);
    if (runs.all().size() < 3) throw std::runtime_error("not yet");
    return run;
  });
}

// All takes tags, one letter each, runs an activity for each at once, and answers where they ran; the others run one:
// One, Retried, Raced with a timer of an hour.
void add_orchestrations(Registry& registry) {
  registry.add_orchestration("All", [](Ctx ctx, std::string tags) -> Orchestration<std::string> {
    std::vector<Future<std::string>> parts;
    for (const char tag : tags) {
      const ActivityOptions how = tagged(std::string(1, tag));
      parts.push_back(ctx.schedule_activity<std::string>("Where", how));
    }
    std::string where;
    for (const std::string& part : co_await ctx.join(std::move(parts))) where += part + " ";
    co_return where;
  });
  registry.add_orchestration("One", [](Ctx ctx, std::string tag) -> Orchestration<std::string> {
    const ActivityOptions how = tagged(tag);
    co_return co_await ctx.schedule_activity<std::string>("Where", how);
  });
  registry.add_orchestration("Retried", [](Ctx ctx, std::string tag) -> Orchestration<std::string> {
    const ActivityOptions how = tagged(tag).retry(RetryPolicy(5).backoff(Backoff::fixed(1s)));
    co_return co_await ctx.schedule_activity<std::string>("Flaky", how);
  });
  registry.add_orchestration("Raced", [](Ctx ctx, std::string tag) -> Orchestration<std::string> {
    const ActivityOptions how = tagged(tag);
    auto first = co_await perdure::select{ctx.schedule_activity<std::string>("Where", how), ctx.schedule_timer(1h)};
    co_return first.index() == 0 ? std::get<0>(first) : std::string("nobody came");
  });
  // One activity without a tag and one with tag g for each message, both in one session.
  registry.add_orchestration("Mixed", [](Ctx ctx) -> Orchestration<std::string> {
    const ActivityOptions with = tagged("g").session("s");
    const ActivityOptions without = tagged("-").session("s");
    const std::string first = co_await ctx.schedule_activity<std::string>("Where", with);
    ctx.set_custom_status(first);
    const std::string second = co_await ctx.schedule_activity<std::string>("Where", without);
    co_return first + " " + second;
  });
}

class Tags : public InEveryWorld {
 protected:
  // A worker that runs no orchestrations.
  World::Node& start_worker(const std::string& host, TagFilter filter) {
    Registry registry;
    add_activities(registry, host, runs);
    RuntimeOptions options;
    options.worker_tag_filter = std::move(filter);
    options.fetch_only_registered = true;
    return world.start_node(registry, options);
  }
  // A node that runs nothing else.
  void start_orchestrator() {
    Registry registry;
    add_orchestrations(registry);
    RuntimeOptions options;
    options.worker_tag_filter = TagFilter::none();
    world.start_node(registry, options);
  }
  std::string result(const std::string& instance) { return world.wait(instance).result<std::string>(); }

  Runs runs;
};
PERDURE_IN_EVERY_WORLD(Tags);

TEST_P(Tags, EveryPoolRunsWhatItIsFor) {
  start_orchestrator();
  start_worker("cpu", TagFilter::untagged());
  start_worker("gpu", TagFilter::tags({"g"}));
  start_worker("disk", TagFilter::tags({"d", "e"}));
  world.client().start_orchestration("i", "All", "-gde-gde");
  EXPECT_EQ(result("i"), "cpu/- gpu/g disk/d disk/e cpu/- gpu/g disk/d disk/e ");
}

TEST_P(Tags, EveryKindOfFilterTakesWhatItSays) {
  const std::vector<std::pair<TagFilter, std::multiset<std::string>>> kinds{
      {TagFilter::untagged(), {"w/-"}},
      {TagFilter::tags({"a"}), {"w/a"}},
      {TagFilter::tags({"a", "b"}), {"w/a", "w/b"}},
      {TagFilter::untagged_and({"b"}), {"w/-", "w/b"}},
      {TagFilter::untagged_and({"b", "a"}), {"w/-", "w/a", "w/b"}},
      {TagFilter::any(), {"w/-", "w/a", "w/b", "w/c"}},
      {TagFilter::none(), {}},
  };
  start_orchestrator();
  int round = 0;
  for (const auto& [filter, expected] : kinds) {
    auto& worker = start_worker("w", filter);
    const std::string instance = "round " + std::to_string(++round);
    world.client().start_orchestration(instance, "All", "-abc");
    world.settle();
    EXPECT_EQ(runs.all(), expected) << instance;
    // What nobody takes goes with its orchestration.
    world.client().terminate_instance(instance);
    world.settle();
    EXPECT_EQ(world.client().get_queue_depths(), QueueDepths()) << instance;
    runs.clear();
    world.stop_node(worker);
  }
}

TEST_P(Tags, PoolsMayOverlap) {
  start_orchestrator();
  start_worker("x", TagFilter::untagged_and({"a"}));
  start_worker("y", TagFilter::tags({"a", "b"}));
  start_worker("z", TagFilter::any());
  for (int i = 0; i < 5; ++i) world.client().start_orchestration("i" + std::to_string(i), "All", "-abc-abc");
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(result("i" + std::to_string(i)), MatchesRegex("(([xz]/- )([xyz]/a )([yz]/b )(z/c )){2}"));
  }
  EXPECT_EQ(runs.all().size(), 40U) << "each has run once";
}

// It is an activity of the engine's own.
TEST_P(Tags, EveryNodeReadsTheValuesOfOtherInstances) {
  Registry registry;
  registry.add_orchestration("Reader", [](Ctx ctx) -> Orchestration<int> {
    co_return (co_await ctx.get_kv_value_from_instance<int>("writer", "key")).value_or(-1);
  });
  registry.add_orchestration("Writer", [](Ctx ctx) -> Orchestration<void> {
    ctx.set_kv_value("key", 7);
    co_return;
  });
  int round = 0;
  for (const TagFilter& filter :
       {TagFilter::tags({"a"}), TagFilter::tags({"a", "b", "c", "d", "e"}), TagFilter::none(), TagFilter::any()}) {
    RuntimeOptions options;
    options.worker_tag_filter = filter;
    options.fast_path = round % 2 == 0;
    auto& node = world.start_node(registry, options);
    if (round == 0) {
      world.client().start_orchestration("writer", "Writer");
      world.wait("writer");
    }
    const std::string reader = "reader " + std::to_string(++round);
    world.client().start_orchestration(reader, "Reader");
    EXPECT_EQ(world.wait(reader).result<int>(), 7) << reader;
    world.stop_node(node);
  }
}

TEST_P(Tags, AnActivityWaitsForAWorkerOfItsTag) {
  start_orchestrator();
  auto& other = start_worker("cpu", TagFilter::untagged());
  world.client().start_orchestration("i", "One", "g");
  world.advance(24h);
  EXPECT_THAT(runs.all(), IsEmpty());
  world.stop_node(other);
  start_worker("gpu", TagFilter::tags({"g"}));
  EXPECT_EQ(result("i"), "gpu/g");
}

TEST_P(Tags, EveryAttemptOfARetryHasTheTag) {
  start_orchestrator();
  start_worker("cpu", TagFilter::untagged());
  start_worker("gpu", TagFilter::tags({"g"}));
  world.client().start_orchestration("i", "Retried", "g");
  EXPECT_EQ(result("i"), "gpu/g");
  EXPECT_THAT(runs.all(), ElementsAre("gpu/g", "gpu/g", "gpu/g"));
}

TEST_P(Tags, ATagThatNobodyServesCanBeRacedWithATimer) {
  start_orchestrator();
  start_worker("cpu", TagFilter::untagged_and({"a"}));
  world.client().start_orchestration("served", "Raced", "a");
  world.client().start_orchestration("unserved", "Raced", "g");
  EXPECT_EQ(result("served"), "cpu/a");
  world.advance(59min);
  EXPECT_FALSE(world.client().get_orchestration_status("unserved").ended());
  EXPECT_EQ(result("unserved"), "nobody came");
  world.advance(24h);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths()) << "nothing waits for that worker any more";
}

// ---- with sessions -------------------------------------------------------------------------------------------------

TEST_P(Tags, AWorkerNeedsBothTheTagAndTheSession) {
  start_orchestrator();
  auto& gpu = start_worker("gpu", TagFilter::tags({"g"}));
  start_worker("cpu", TagFilter::untagged());
  world.client().start_orchestration("i", "Mixed");
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("i").custom_status, "gpu/g");
  EXPECT_FALSE(world.client().get_orchestration_status("i").ended())
      << "the one has the session and does not take what has no tag, the other does and has not the session";
  world.stop_node(gpu);
  EXPECT_EQ(result("i"), "gpu/g cpu/-");
}

TEST_P(Tags, AWorkerOfBothServesAllOfASession) {
  start_orchestrator();
  start_worker("x", TagFilter::untagged_and({"g"}));
  start_worker("y", TagFilter::any());
  for (int i = 0; i < 4; ++i) world.client().start_orchestration("i" + std::to_string(i), "Mixed");
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(result("i" + std::to_string(i)), MatchesRegex("x/g x/-|y/g y/-"));
  }
}

}  // namespace
}  // namespace perdure::test
