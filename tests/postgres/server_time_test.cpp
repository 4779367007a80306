// The time of the store as a node knows it, without a server.
#include "providers/postgres/server_time.h"

#include <chrono>

#include <gtest/gtest.h>

namespace perdure::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNoon{Milliseconds{1'700'000'000'000}};

TEST(ServerTimes, FollowTheServer) {
  ServerTime time(1s);
  EXPECT_EQ(time.latest(), std::nullopt);
  EXPECT_EQ(time.report(kNoon, 5s), kNoon);
  EXPECT_EQ(time.recent(5s + 999ms), kNoon + 999ms);
  EXPECT_EQ(time.recent(6s), std::nullopt);
  EXPECT_EQ(time.estimate(8s), kNoon + 3s);
  EXPECT_EQ(time.report(kNoon + 3s - 500ms, 8s), kNoon + 3s) << "responses overtake each other by a little";
  EXPECT_EQ(time.proposal(8s), std::nullopt);
}

TEST(ServerTimes, ProposeNineTenthsWhileTheServerIsBehind) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  EXPECT_EQ(time.report(kNoon - 60s, 10s), kNoon + 9s);
  EXPECT_EQ(time.proposal(10s), kNoon + 9s);
  EXPECT_EQ(time.proposal(10s), std::nullopt) << "not again at once";
  EXPECT_EQ(time.report(kNoon + 9s, 10s), kNoon + 9s);
  EXPECT_EQ(time.proposal(20s), kNoon + 18s);
  EXPECT_EQ(time.recent(20s), std::nullopt);
  EXPECT_EQ(time.estimate(20s), kNoon + 18s);
}

TEST(ServerTimes, StopProposingWhenTheServerHasCaughtUp) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  static_cast<void>(time.report(kNoon - 10s, 0s));
  EXPECT_EQ(time.proposal(50s), kNoon + 45s);
  EXPECT_EQ(time.report(kNoon + 45s, 50s), kNoon + 45s);
  EXPECT_EQ(time.proposal(110s), kNoon + 99s);
  EXPECT_EQ(time.report(kNoon + 100s, 110s), kNoon + 100s);
  EXPECT_EQ(time.proposal(120s), std::nullopt);
  EXPECT_EQ(time.estimate(111s), kNoon + 101s);
}

TEST(ServerTimes, FollowAServerThatIsSetForward) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  EXPECT_EQ(time.report(kNoon + 1h, 1s), kNoon + 1h);
  EXPECT_EQ(time.proposal(1s), std::nullopt);
}

// A server that is ahead for a second and set right again: the store's time goes on from there.
TEST(ServerTimes, SurviveAShortExcursion) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  static_cast<void>(time.report(kNoon + 31s, 1s));
  EXPECT_EQ(time.report(kNoon + 2s, 2s), kNoon + 31s + 900ms);
  EXPECT_EQ(time.proposal(12s), kNoon + 31s + 9'900ms) << "time does not stand still for half a minute";
}

}  // namespace
}  // namespace perdure::postgres
