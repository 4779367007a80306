// The time of the store as a node knows it, without a server.
#include "providers/postgres/server_time.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace perdure::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNoon{Milliseconds{1'700'000'000'000}};

TEST(ServerTimes, FollowTheServer) {
  ServerTime time(1s);
  EXPECT_EQ(time.latest(), std::nullopt);
  EXPECT_EQ(time.recent(0s), std::nullopt) << "the steady clock has just begun";
  EXPECT_EQ(time.report(kNoon, 5s).time, kNoon);
  EXPECT_EQ(time.recent(5s + 999ms), kNoon + 999ms);
  EXPECT_EQ(time.recent(6s), std::nullopt);
  EXPECT_EQ(time.estimate(8s), kNoon + 3s);
  EXPECT_EQ(time.report(kNoon + 3s - 500ms, 8s).time, kNoon + 3s) << "responses overtake each other by a little";
  EXPECT_EQ(time.proposal(8s), std::nullopt);
}

TEST(ServerTimes, ProposeAfterAStepBackByLessThanTheTolerance) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  EXPECT_EQ(time.report(kNoon + 100ms - 900ms, 100ms, kNoon).time, kNoon + 90ms);
  EXPECT_EQ(time.proposal(100ms), kNoon + 90ms);
  time.proposal_stored(false);
  EXPECT_EQ(time.report(kNoon + 90ms, 100ms, kNoon + 90ms).jump, 0ms);
  EXPECT_EQ(time.proposal(1'100ms), kNoon + 990ms);
}

// Its call began when the time that it is compared with was not known.
TEST(ServerTimes, ProposeNothingAfterAResponseThatWasOvertaken) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  static_cast<void>(time.report(kNoon + 900ms, 900ms, kNoon));
  EXPECT_EQ(time.report(kNoon + 1ms, 900ms, kNoon).time, kNoon + 900ms);
  EXPECT_EQ(time.report(kNoon + 890ms, 900ms, kNoon + 900ms).time, kNoon + 900ms)
      << "the known time may be an estimate";
  EXPECT_EQ(time.proposal(900ms), std::nullopt);
}

TEST(ServerTimes, ProposeNineTenthsWhileTheServerIsBehind) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  EXPECT_EQ(time.report(kNoon - 60s, 10s).time, kNoon + 9s);
  EXPECT_EQ(time.proposal(10s), kNoon + 9s);
  EXPECT_EQ(time.proposal(10s), kNoon + 9s) << "another call, which begins before the store has the first proposal";
  time.proposal_stored(false);
  EXPECT_EQ(time.proposal(10s), std::nullopt) << "not again at once";
  time.proposal_refused();
  EXPECT_EQ(time.proposal(10s), kNoon + 9s);
  time.proposal_stored(false);
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
  time.proposal_stored(true);
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

// ---- several nodes ----

// A server whose clock can be set, with the times that nodes have proposed, as the schema has them.
class Server {
 public:
  void pass(Milliseconds by) { steady_ += by; }
  void step(Milliseconds by) { offset_ += by; }
  [[nodiscard]] Timestamp clock() const { return kNoon + steady_ + offset_; }
  [[nodiscard]] Timestamp store_time() const { return std::max(clock(), proposed_); }
  [[nodiscard]] Milliseconds steady() const { return steady_; }
  // Returns whether its own clock has reached the time.
  bool reach(Timestamp time) {
    if (clock() >= time) return true;
    proposed_ = std::max(proposed_, time);
    return false;
  }

 private:
  Milliseconds steady_{0};
  Milliseconds offset_{0};
  Timestamp proposed_{};
};

void call(ServerTime& node, Server& server) {
  const std::optional<Timestamp> known = node.latest();
  if (const auto proposed = node.proposal(server.steady())) node.proposal_stored(server.reach(*proposed));
  static_cast<void>(node.report(server.store_time(), server.steady(), known));
}

// The longest time for which store time stood still, and by how much it advanced.
struct Advance {
  Milliseconds longest_stop{0};
  Milliseconds total{0};
};

// Each node calls the server at its own interval.
Advance run(Server& server, std::vector<std::pair<ServerTime*, Milliseconds>> nodes, Milliseconds time) {
  Advance advance;
  const Timestamp begin = server.store_time();
  Timestamp last = begin;
  Milliseconds changed_at = server.steady();
  for (const Milliseconds end = server.steady() + time; server.steady() < end; server.pass(1ms)) {
    for (auto& [node, interval] : nodes) {
      if (server.steady().count() % interval.count() == 0) call(*node, server);
    }
    if (server.store_time() > last) changed_at = server.steady();
    last = server.store_time();
    advance.longest_stop = std::max(advance.longest_stop, server.steady() - changed_at);
  }
  advance.total = last - begin;
  return advance;
}

TEST(ServerTimes, AdvanceWhenANodeWithALaterTimeDies) {
  for (const Milliseconds head_start : {1ms, 10ms, 200ms, 900ms, 5'000ms}) {
    Server server;
    ServerTime surviving(1s);
    ServerTime dying(1s);
    call(surviving, server);
    server.pass(head_start);
    call(dying, server);
    server.step(-10min);
    static_cast<void>(run(server, {{&surviving, 20ms}, {&dying, 30ms}}, 5s));
    const Advance advance = run(server, {{&surviving, 200ms}}, 60s);
    EXPECT_LE(advance.longest_stop, 2s) << "head start " << head_start.count();
    EXPECT_GE(advance.total, 52s) << "head start " << head_start.count();
  }
}

TEST(ServerTimes, AdvanceAfterAProposalOfAClientThatHasGone) {
  Server server;
  ServerTime node(1s);
  call(node, server);
  server.step(30s);
  {
    ServerTime client(1s);
    call(client, server);
    server.step(-30s);
    server.pass(100ms);
    call(client, server);
    call(client, server);
  }
  const Advance advance = run(server, {{&node, 200ms}}, 20s);
  EXPECT_LE(advance.longest_stop, 2s);
  EXPECT_GE(advance.total, 16s);
}

TEST(ServerTimes, FollowTheServerAfterItHasCaughtUp) {
  Server server;
  ServerTime first(1s);
  ServerTime second(1s);
  static_cast<void>(run(server, {{&first, 20ms}, {&second, 30ms}}, 1s));
  server.step(-10s);
  const Timestamp before = server.store_time();
  static_cast<void>(run(server, {{&first, 20ms}, {&second, 30ms}}, 110s));
  EXPECT_EQ(server.store_time(), server.clock());
  EXPECT_GE(server.store_time(), before);
  EXPECT_EQ(first.proposal(server.steady()), std::nullopt);
  EXPECT_EQ(second.proposal(server.steady()), std::nullopt);
}

// A node that asks the server only if recent() does not know. Its own calls report a time every 100 ms.
TEST(ServerTimes, StayRecentWhileTheServerIsBehind) {
  Server server;
  ServerTime node(1s);
  ServerTime other(1s);
  call(node, server);
  call(other, server);
  server.step(-10min);
  for (int i = 0; i < 20; ++i) {  // until a report and a proposal have shown the state
    call(node, server);
    server.pass(10ms);
  }
  Timestamp last{};
  for (const Milliseconds end = server.steady() + 5min; server.steady() < end; server.pass(10ms)) {
    if (server.steady().count() % 100 == 0) {
      call(node, server);
      call(other, server);
    }
    for (ServerTime* const each : {&node, &other}) {
      const auto recent = each->recent(server.steady());
      ASSERT_TRUE(recent.has_value()) << "after " << server.steady().count() << " ms";
      EXPECT_GE(*recent, server.store_time());
      EXPECT_LE(*recent, server.store_time() + 200ms);
    }
    const Timestamp now = *node.recent(server.steady());
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ServerTimes, AreNotRecentByAReportThatIsTooEarly) {
  ServerTime time(1s);
  static_cast<void>(time.report(kNoon, 0s));
  static_cast<void>(time.report(kNoon - 60s, 900ms));
  EXPECT_EQ(time.recent(1s), std::nullopt);
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
    if (proposed && delay == 0ms) {
      time_.proposal_stored(clock >= *proposed);
      proposed_ = std::max(proposed_, *proposed);
    }
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
