// The time of the store as a node knows it, without a server.
#include "providers/postgres/server_time.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace perdure::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNoon{Milliseconds{1'700'000'000'000}};

TEST(ServerTimes, FollowTheServer) {
  ServerTime time(1s);
  EXPECT_EQ(time.latest(), std::nullopt);
  EXPECT_EQ(time.report(kNoon, 5s).time, kNoon);
  EXPECT_EQ(time.recent(5s + 999ms), kNoon + 999ms);
  EXPECT_EQ(time.recent(6s), std::nullopt);
  EXPECT_EQ(time.estimate(8s), kNoon + 3s);
  EXPECT_EQ(time.report(kNoon + 3s - 500ms, 8s).time, kNoon + 3s) << "responses overtake each other by a little";
  EXPECT_EQ(time.proposal(8s), std::nullopt);
}

TEST(ServerTimes, ProposeNineTenthsWhileTheServerIsBehind) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  EXPECT_EQ(time.report(kNoon - 60s, 10s).time, kNoon + 9s);
  EXPECT_EQ(time.proposal(10s), kNoon + 9s);
  EXPECT_EQ(time.proposal(10s), std::nullopt) << "not again at once";
  EXPECT_EQ(time.report(kNoon + 9s, 10s).time, kNoon + 9s);
  EXPECT_EQ(time.proposal(20s), kNoon + 18s);
  EXPECT_EQ(time.recent(20s), std::nullopt);
  EXPECT_EQ(time.estimate(20s), kNoon + 18s);
}

TEST(ServerTimes, StopProposingWhenTheServerHasCaughtUp) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  static_cast<void>(time.report(kNoon - 10s, 0s));
  EXPECT_EQ(time.proposal(50s), kNoon + 45s);
  EXPECT_EQ(time.report(kNoon + 45s, 50s).time, kNoon + 45s);
  EXPECT_EQ(time.proposal(110s), kNoon + 99s);
  EXPECT_EQ(time.report(kNoon + 100s, 110s).time, kNoon + 100s);
  EXPECT_EQ(time.proposal(120s), std::nullopt);
  EXPECT_EQ(time.estimate(111s), kNoon + 101s);
}

TEST(ServerTimes, FollowAServerThatIsSetForward) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  EXPECT_EQ(time.report(kNoon + 1h, 1s).time, kNoon + 1h);
  EXPECT_EQ(time.proposal(1s), std::nullopt);
}

// A server that is ahead for a second and set right again: the store's time goes on from there.
TEST(ServerTimes, SurviveAShortExcursion) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  static_cast<void>(time.report(kNoon + 31s, 1s));
  EXPECT_EQ(time.report(kNoon + 2s, 2s).time, kNoon + 31s + 900ms);
  EXPECT_EQ(time.proposal(12s), kNoon + 31s + 9'900ms) << "time does not stand still for half a minute";
}

// ---- jumps ----

// What a node sees of a server: it proposes times while the server is behind.
class SeenServer {
 public:
  // A call each second. Returns the jumps that are noticed, each followed by a blank.
  std::string pass(int seconds) {
    std::string jumps;
    for (int i = 0; i < seconds; ++i) {
      idle(1s);
      jumps += call();
    }
    return jumps;
  }
  void idle(Milliseconds by) { steady_ += by; }
  void step(Milliseconds by) { offset_ += by; }
  // The response was computed so long ago.
  std::string call(Milliseconds delay = 0ms) {
    const Timestamp clock = kNoon + steady_ - delay + offset_;
    const auto proposed = time_.proposal(steady_);
    if (proposed && clock < *proposed && delay == 0ms) proposed_ = *proposed;
    const Milliseconds jump = time_.report(std::max(clock, proposed_), steady_).jump;
    return jump == 0ms ? "" : std::to_string(jump.count()) + " ";
  }

 private:
  ServerTime time_{1s};
  Milliseconds steady_{0};
  Milliseconds offset_{0};
  Timestamp proposed_{};  // as the schema has it
};

TEST(ServerTimes, NoticeEachJumpOnceWithItsSize) {
  SeenServer server;
  EXPECT_EQ(server.pass(60), "");
  server.step(1h);
  EXPECT_EQ(server.pass(60), "3600000 ");
  server.step(-60s);
  EXPECT_EQ(server.pass(5'000), "-60000 ") << "it catches up, which is no jump";
  server.step(3s);
  EXPECT_EQ(server.pass(60), "3000 ");
}

TEST(ServerTimes, TakeNoLateResponseForAJump) {
  SeenServer server;
  std::string jumps = server.pass(60);
  for (int i = 0; i < 50; ++i) {
    jumps += server.call(30s);
    jumps += server.pass(9);
    jumps += server.call(5s);
    jumps += server.pass(1);
  }
  server.idle(1h);
  jumps += server.call(59min);
  jumps += server.pass(60);
  EXPECT_EQ(jumps, "");
}

TEST(ServerTimes, TakeNoDisciplinedClockForOneThatIsSet) {
  SeenServer server;
  std::string jumps;
  for (int i = 0; i < 20'000; ++i) {
    server.step(i < 10'000 ? 1ms : -1ms);
    jumps += server.pass(1);
  }
  EXPECT_EQ(jumps, "");
  server.step(5s);
  EXPECT_EQ(server.pass(1), "5000 ");
}

TEST(ServerTimes, NoticeAJumpBackOfAnIdleNode) {
  SeenServer server;
  static_cast<void>(server.pass(60));
  server.step(-1h);
  EXPECT_EQ(server.call(), "");
  server.idle(20h);
  EXPECT_EQ(server.call(), "-3600000 ");
  EXPECT_EQ(server.pass(60), "");
}

}  // namespace
}  // namespace perdure::postgres
