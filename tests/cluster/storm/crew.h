// Crew: the nodes of a storm. Each has a process that is replaced when it has gone, until all are asked to end.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "counts.h"
#include "excuses.h"
#include "testing/cluster/child_process.h"
#include "testing/cluster/worker_options.h"
#include "testing/dice.h"

namespace perdure::test::storm {

class Crew {
 public:
  using SteadyClock = std::chrono::steady_clock;

  // `command` runs a worker; its options are appended. `folder` is for logs. `node` says everything but the name.
  Crew(std::vector<std::string> command, std::string folder, testing::cluster::WorkerOptions node, std::size_t size,
       Excuses& excuses, Counts& counts);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { kill_all(); }

  // Often: replaces processes that have gone, and continues those whose time has come.
  void update(SteadyClock::time_point now);

  // Each takes a node that runs, if there is one.
  void kill_one(testing::Dice& dice);
  void stop_one(testing::Dice& dice, SteadyClock::time_point until);
  void ask_one_to_end(testing::Dice& dice, SteadyClock::time_point now);

  // Whether all run and have opened the store.
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] std::size_t standing_still() const;
  // Asks all to end. They must do so in time.
  void end_all();
  void kill_all();
  // A line for each process that did not end as it should. Later calls return only what is new.
  [[nodiscard]] std::vector<std::string> take_problems();

 private:
  enum class State { kAbsent, kStarting, kRunning, kStandingStill, kEnding };
  struct Member {
    State state = State::kAbsent;
    SteadyClock::time_point until{};  // absent: of its start; standing still or ending: of that
    std::string name{};
    std::string log{};
    std::unique_ptr<testing::cluster::ChildProcess> process{};
  };

  void start(Member& member);
  void update_member(Member& member, SteadyClock::time_point now);
  void update_start(Member& member, SteadyClock::time_point now);
  void continue_process(Member& member, SteadyClock::time_point now);
  void check_end(Member& member);
  [[nodiscard]] Member* draw(testing::Dice& dice);
  void problem(const Member& member, const std::string& what);

  std::vector<std::string> command_;
  std::string folder_;
  testing::cluster::WorkerOptions node_;
  std::vector<Member> members_;
  Excuses& excuses_;
  Counts& counts_;
  std::vector<std::string> problems_;
};

}  // namespace perdure::test::storm
