// An instance that is started again uses the execution and activity ids of its predecessor. The worker distinguishes
// the activities of the two by their incarnations.
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

class ReusedActivityIds : public DispatchActivities {};

// The answer to the last commit of an instance may come after a client has started the instance again. Its cancelled
// activities have the ids of those that its successor runs.
TEST_F(ReusedActivityIds, AWithdrawalConcernsOneIncarnation) {
  fetch({of_incarnation(1, 8)});
  const RunId run = start();
  dispatcher().withdrawn({.instance = "i", .incarnation = 7, .execution = 1, .activity_id = 1}, now);
  EXPECT_EQ(count<worker::Stop>(), 0U);
  finish(run);
  EXPECT_EQ(ack().size(), 1U);
}

TEST_F(ReusedActivityIds, AWithdrawalDuringAFetchConcernsOneIncarnation) {
  const RequestId fetching = take<worker::Fetch>().first;
  dispatcher().withdrawn({.instance = "i", .incarnation = 7, .execution = 1, .activity_id = 1}, now);
  answer(fetching,
         ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {of_incarnation(1, 7), of_incarnation(1, 8)}}));
  const auto [id, body] = take<worker::Start>();
  EXPECT_EQ(body.about.incarnation, 8U);
  EXPECT_EQ(count<worker::Start>(), 0U) << "the other one was withdrawn";
}

TEST_F(ReusedActivityIds, AWithdrawalReachesTheEarlierIncarnationThatStillRuns) {
  fetch({of_incarnation(1, 7)});
  const RunId earlier = start();
  fetch({of_incarnation(1, 8)});
  const RunId current = start();
  dispatcher().withdrawn({.instance = "i", .incarnation = 7, .execution = 1, .activity_id = 1}, now);
  EXPECT_EQ(stopped(), earlier);
  finish(current);
  EXPECT_EQ(ack().size(), 1U);
}

}  // namespace
}  // namespace perdure::test
