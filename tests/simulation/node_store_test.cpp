// What the line of a node reports of calls that an audit cannot observe: turns that the store did not take, and nodes
// that fetch many items from a failing store.
#include "testing/simulation/node_store.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/clock.h>
#include <perdure/memory_provider.h>
#include "testing/validation/scene.h"

namespace perdure::testing::simulation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Line : public ::testing::Test {
 protected:
  Line() {
    line.set_witness({.failed = [this](const LockToken& token) { failed.push_back(token.value); },
                      .problem = [this](std::string text) { problems.push_back(std::move(text)); }});
  }
  static std::shared_ptr<Provider> store_with(const std::shared_ptr<Clock>& clock) {
    MemoryProviderOptions options;
    options.clock = clock;
    return make_memory_provider(options);
  }
  void commit() {
    TurnCommit commit;
    commit.token = {"t1"};
    (void)line.ack_orchestration_items({&commit, 1});
  }
  void fetch(std::size_t limit) {
    OrchestrationFetch fetch;
    fetch.limit = limit;
    (void)line.fetch_orchestration_items(fetch);
  }
  // An empty fetch shows a node that the store works, so there is an instance to be fetched.
  void start() { ASSERT_TRUE(line.enqueue_start(start_message("a"), StartPolicy::kIgnore)); }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(Timestamp(Milliseconds(1'000'000)));
  NodeStore line{store_with(clock)};
  std::vector<std::string> failed;
  std::vector<std::string> problems;
};

TEST_F(Line, ReportsTurnsAndOutcomesThatTheStoreDidNotTake) {
  const WorkAck ack{.token = {"w1"}, .completion = {}};
  commit();
  (void)line.ack_work_items({&ack, 1});
  EXPECT_THAT(failed, IsEmpty()) << "a lock that is lost is no failure of the store";
  line.set_refusal(Refusal::kCommits);
  commit();
  line.set_refusal(Refusal::kNone);
  line.set_reachable(false);
  (void)line.ack_work_items({&ack, 1});
  EXPECT_THAT(failed, ElementsAre("t1", "w1"));
}

TEST_F(Line, ReportsANodeThatFetchesMuchFromAFailingStore) {
  start();
  line.set_refusal(Refusal::kCommits);
  commit();
  fetch(4);
  EXPECT_THAT(problems, IsEmpty()) << "the node may not know of the failure";
  clock->advance(Milliseconds(10'000));
  fetch(1);
  EXPECT_THAT(problems, IsEmpty()) << "a probe";
  fetch(4);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("a node asks for 4 items although the store has taken none of its turns "
                                              "for 10000 ms")));
}

TEST_F(Line, RefusesOneKindOfCallAlone) {
  const WorkAck ack{.token = {"w1"}, .completion = {}};
  const auto refused = [this, &ack](Refusal refusal) {
    line.set_refusal(refusal);
    failed.clear();
    commit();
    (void)line.ack_work_items({&ack, 1});
    if (line.read_history({"t1"}, 0).error().kind() == ProviderErrorKind::kStoreFailed) failed.emplace_back("read");
    return failed;
  };
  EXPECT_THAT(refused(Refusal::kTurns), ElementsAre("t1"));
  EXPECT_THAT(refused(Refusal::kOutcomes), ElementsAre("w1"));
  EXPECT_THAT(refused(Refusal::kReads), ElementsAre("read"));
  EXPECT_THAT(refused(Refusal::kCommits), ElementsAre("t1", "w1"));
}

TEST_F(Line, ReportsNoNodeThatMayNotKnowOfTheFailure) {
  line.set_refusal(Refusal::kCommits);
  commit();
  clock->advance(Milliseconds(10'000));
  line.hinder();
  fetch(4);
  EXPECT_THAT(problems, IsEmpty());
}

}  // namespace
}  // namespace perdure::testing::simulation
