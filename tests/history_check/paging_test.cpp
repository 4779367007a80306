// Many instances: what is held at a time, what is told on the way, and what ends the check early.
#include <algorithm>

#include "history_check/scene.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

Orchestration<int> paged_gate(Ctx ctx) {
  co_return co_await ctx.schedule_wait<int>("go");
}

Orchestration<int> other_gate(Ctx ctx) {
  co_return co_await ctx.schedule_wait<int>("other");
}

class Paging : public HistoryCheckScene {
 protected:
  void start_many(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) start("i" + std::to_string(i), "Gate");
    run(code("Gate", paged_gate));
  }
  [[nodiscard]] std::string refusal() {
    try {
      static_cast<void>(check(code("Gate", paged_gate), options));
    } catch (const ClientError& error) {
      EXPECT_EQ(error.kind(), ClientErrorKind::kInvalidInput);
      return error.what();
    }
    return "accepted";
  }
  HistoryCheckOptions options;
};
PERDURE_ON_EVERY_STORE(Paging);

// How many executions of the code are there at this moment.
class Alive {
 public:
  Alive() : count_(std::make_shared<std::size_t>(0)), most_(std::make_shared<std::size_t>(0)) {}
  Alive(const Alive& other) : count_(other.count_), most_(other.most_), counted_(true) {
    *most_ = std::max(*most_, ++*count_);
  }
  Alive& operator=(const Alive&) = delete;
  ~Alive() {
    if (counted_) --*count_;
  }
  [[nodiscard]] std::size_t now() const { return *count_; }
  [[nodiscard]] std::size_t most() const { return *most_; }
  void forget_most() { *most_ = *count_; }

 private:
  std::shared_ptr<std::size_t> count_;
  std::shared_ptr<std::size_t> most_;
  bool counted_ = false;
};

TEST_P(Paging, AThousandInstancesAreReadPageByPageAndReplayedOneByOne) {
  constexpr std::size_t kInstances = 1'000;
  constexpr std::size_t kPage = 64;
  start_many(kInstances);
  Alive alive;
  const Registry registry = code("Gate", [counter = std::make_shared<Alive>(alive)](Ctx ctx) -> Orchestration<int> {
    const Alive here(*counter);
    co_return co_await ctx.schedule_wait<int>("go");
  });
  const std::size_t before = alive.now();
  alive.forget_most();
  options.page_size = kPage;
  const auto result = check(registry, options);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts,
            (HistoryCheckProgress{.instances = 1'000, .executions = 1'000, .events = 2'000, .findings = 0}));
  EXPECT_EQ(alive.most(), before + 1) << "executions in memory at a time";
  EXPECT_EQ(alive.now(), before);

  // A page is listed when everything of the one before has been read.
  const auto& calls = store->watched.calls;
  const std::string list = "list " + std::to_string(kPage);
  std::size_t pages = 0;
  std::size_t read = 0;
  for (const std::string& call : calls) {
    if (call == list) {
      EXPECT_EQ(read, pages * kPage);
      ++pages;
    } else {
      ASSERT_THAT(call, StartsWith("history "));
      ++read;
    }
  }
  EXPECT_EQ(pages, (kInstances + kPage - 1) / kPage);
  EXPECT_EQ(read, kInstances);
}

// ---- progress ------------------------------------------------------------------------------------------------------

TEST_P(Paging, ProgressIsToldAfterEveryHistory) {
  start_many(5);
  std::vector<std::uint64_t> executions;
  std::vector<std::uint64_t> findings;
  options.page_size = 2;
  options.progress = [&](const HistoryCheckProgress& progress) {
    executions.push_back(progress.executions);
    findings.push_back(progress.findings);
    EXPECT_EQ(progress.instances, progress.executions);
    EXPECT_EQ(progress.events, progress.executions * 2);
    return true;
  };
  EXPECT_TRUE(check(code("Gate", paged_gate), options).ok());
  EXPECT_THAT(executions, ElementsAre(1U, 2U, 3U, 4U, 5U));
  EXPECT_THAT(findings, ElementsAre(0U, 0U, 0U, 0U, 0U));
  findings.clear();
  EXPECT_THAT(check(code("Gate", other_gate), options).findings, SizeIs(5));
  EXPECT_THAT(findings, ElementsAre(1U, 2U, 3U, 4U, 5U));
}

// So that somebody who wants to stop is heard although nothing is read.
TEST_P(Paging, ProgressIsToldAfterInstancesWithoutAHistory) {
  start_many(3);
  store->watched.history = [](ExecutionId, const WatchedAdmin::History&) -> WatchedAdmin::History {
    return std::vector<EventRecord>();
  };
  std::vector<HistoryCheckProgress> told;
  options.progress = [&](const HistoryCheckProgress& progress) {
    told.push_back(progress);
    return true;
  };
  EXPECT_TRUE(check(code("Gate", paged_gate), options).ok());
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(told.back(), (HistoryCheckProgress{.instances = 3, .executions = 0, .events = 0, .findings = 0}));
}

TEST_P(Paging, ProgressCanStopTheCheck) {
  start_many(5);
  options.page_size = 2;
  options.progress = [](const HistoryCheckProgress& progress) { return progress.executions < 3; };
  const auto result = check(code("Gate", paged_gate), options);
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(result.counts.executions, 3U);
  EXPECT_EQ(std::count(store->watched.calls.begin(), store->watched.calls.end(), "list 2"), 2);
}

TEST_P(Paging, ProgressCanStopTheCheckInTheMidstOfAnInstance) {
  const Registry eternal = code("Eternal", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<int>("next");
    co_return ctx.continue_as_new();
  });
  start("e", "Eternal");
  run(eternal);
  for (int i = 0; i < 4; ++i) {
    cluster.client().raise_event("e", "next", 0);
    run(eternal);
  }
  ASSERT_EQ(info("e").execution_id, 5U);
  options.live_only = false;
  options.progress = [](const HistoryCheckProgress& progress) { return progress.executions < 2; };
  const auto result = check(eternal, options);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.counts.executions, 2U);
}

TEST_P(Paging, WhatProgressThrowsReachesTheCaller) {
  start_many(1);
  options.progress = [](const HistoryCheckProgress&) -> bool { throw std::runtime_error("mine"); };
  EXPECT_THROW(static_cast<void>(check(code("Gate", paged_gate), options)), std::runtime_error);
}

// ---- the other limits ----------------------------------------------------------------------------------------------

TEST_P(Paging, TheCheckStopsWhenItHasFoundEnough) {
  start_many(5);
  options.max_findings = 2;
  auto result = check(code("Gate", other_gate), options);
  EXPECT_THAT(result.findings, SizeIs(2));
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.counts, (HistoryCheckProgress{.instances = 2, .executions = 2, .events = 4, .findings = 2}));
  options.max_findings = 6;
  result = check(code("Gate", other_gate), options);
  EXPECT_THAT(result.findings, SizeIs(5));
  EXPECT_TRUE(result.complete);
}

TEST_P(Paging, NewestInstancesComeFirst) {
  start("old", "Gate");
  run(code("Gate", paged_gate));
  start("new", "Gate");
  run(code("Gate", paged_gate));
  EXPECT_THAT(check(code("Gate", other_gate)).findings,
              ElementsAre(IsFinding(Kind::kDiverges, "new", 1), IsFinding(Kind::kDiverges, "old", 1)));
}

TEST_P(Paging, AFilterSaysWhichInstances) {
  start_many(5);
  options.filter.ids = std::vector<std::string>{"i1", "i3"};
  EXPECT_EQ(check(code("Gate", paged_gate), options).counts.instances, 2U);
  options.filter = {};
  options.filter.name = "Other";
  EXPECT_EQ(check(code("Gate", paged_gate), options).counts.instances, 0U);
  options.filter = {};
  options.filter.statuses = {ExecutionStatus::kRunning};
  EXPECT_EQ(check(code("Gate", paged_gate), options).counts.instances, 5U);
  options.filter.statuses = {ExecutionStatus::kCompleted};
  options.live_only = false;
  EXPECT_EQ(check(code("Gate", paged_gate), options).counts.instances, 0U);
}

TEST_P(Paging, OptionsThatCannotWorkAreRefused) {
  options.page_size = 0;
  EXPECT_EQ(refusal(), "page_size is 0; set it to 1 or more");
  options.page_size = 1;
  options.max_findings = 0;
  EXPECT_EQ(refusal(), "max_findings is 0; set it to 1 or more");
  options.max_findings = 1;
  options.filter.statuses = {ExecutionStatus::kRunning, ExecutionStatus::kFailed};
  EXPECT_THAT(refusal(), HasSubstr("set live_only to false"));
  EXPECT_THAT(store->watched.calls, IsEmpty());
}

TEST_P(Paging, AnEmptyStoreFits) {
  EXPECT_TRUE(check(code("Gate", paged_gate)).ok());
  EXPECT_TRUE(check_stored(code("Gate", paged_gate)).ok());
}

// A start that no turn has taken has no history.
TEST_P(Paging, QueuedStartsAreNotLookedAt) {
  start("i", "Gate");
  const auto result = check(Registry());
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.instances, 0U);
}

}  // namespace
}  // namespace perdure::test
