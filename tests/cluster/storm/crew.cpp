#include "crew.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>

#include <sys/wait.h>

namespace perdure::test::storm {

using testing::cluster::kDeath;
using testing::cluster::kStandstill;

namespace {

constexpr std::chrono::seconds kEndPatience{90};    // of a node that was asked to end
constexpr std::chrono::seconds kStartPatience{90};  // its store may be silent
constexpr std::chrono::milliseconds kStartPause{500};
constexpr std::size_t kLastLogBytes = 3'000;

std::string end_of(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > kLastLogBytes ? text.substr(text.size() - kLastLogBytes) : text;
}

}  // namespace

Crew::Crew(std::vector<std::string> command, std::string folder, testing::cluster::WorkerOptions node, std::size_t size,
           Excuses& excuses, Counts& counts)
    : command_(std::move(command)),
      folder_(std::move(folder)),
      node_(std::move(node)),
      members_(size),
      excuses_(excuses),
      counts_(counts) {}

void Crew::start(Member& member) {
  testing::cluster::WorkerOptions options = node_;
  options.node = member.name = "n" + std::to_string(++counts_.nodes);
  member.log = folder_ + "/" + member.name + ".log";
  std::vector<std::string> command = command_;
  const std::vector<std::string> arguments = options.to_arguments();
  command.insert(command.end(), arguments.begin(), arguments.end());
  member.process = std::make_unique<testing::cluster::ChildProcess>(std::move(command), member.log);
  member.state = State::kStarting;
  member.until = SteadyClock::now() + kStartPatience;
}

void Crew::update(SteadyClock::time_point now) {
  for (Member& member : members_) update_member(member, now);
}

void Crew::update_member(Member& member, SteadyClock::time_point now) {
  switch (member.state) {
    case State::kAbsent:
      if (now >= member.until) start(member);
      break;
    case State::kStarting:
      update_start(member, now);
      break;
    case State::kRunning:
      if (member.process->ended_within(Milliseconds(0))) {
        problem(member, "ended by itself");
        member.state = State::kAbsent;
        member.until = now + kStartPause;
      }
      break;
    case State::kStandingStill:
      if (now >= member.until) continue_process(member, now);
      break;
    case State::kEnding:
      if (member.process->ended_within(Milliseconds(0))) {
        check_end(member);
        member.state = State::kAbsent;
        member.until = now;
      } else if (now >= member.until) {
        problem(member, "does not end");
        member.process->kill();
        member.state = State::kAbsent;
        member.until = now;
      }
      break;
  }
}

// A node that cannot open the store ends with an error, and whatever supervises it tries again.
void Crew::update_start(Member& member, SteadyClock::time_point now) {
  constexpr int kNoStore = 1;
  if (member.process->has_line() && member.process->answer() == "ready") {
    member.state = State::kRunning;
  } else if (member.process->ended_within(Milliseconds(0))) {
    const int status = member.process->wait_status();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != kNoStore) problem(member, "ended while it started");
    ++counts_.failed_starts;
    member.state = State::kAbsent;
    member.until = now + kStartPause;
  } else if (now >= member.until) {
    problem(member, "does not start");
    member.process->kill();
    member.state = State::kAbsent;
    member.until = now + kStartPause;
  }
}

void Crew::continue_process(Member& member, SteadyClock::time_point now) {
  member.process->send(SIGCONT);
  excuses_.end(member.name, kStandstill, now);
  member.state = State::kRunning;
}

void Crew::check_end(Member& member) {
  const int status = member.process->wait_status();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) problem(member, "was asked to end and ended");
}

// ---- faults --------------------------------------------------------------------------------------------------------

Crew::Member* Crew::draw(testing::Dice& dice) {
  std::vector<Member*> running;
  for (Member& member : members_) {
    if (member.state == State::kRunning) running.push_back(&member);
  }
  return running.empty() ? nullptr : dice.one_of(running);
}

void Crew::kill_one(testing::Dice& dice) {
  Member* const victim = draw(dice);
  if (victim == nullptr) return;
  excuses_.begin(victim->name, kDeath);
  victim->process->kill();
  const auto now = SteadyClock::now();
  excuses_.end(victim->name, kDeath, now);
  const int status = victim->process->wait_status();
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) problem(*victim, "ended by itself");
  ++counts_.kills;
  victim->state = State::kAbsent;
  victim->until = now + std::chrono::milliseconds(dice.below(3'000));
}

void Crew::stop_one(testing::Dice& dice, SteadyClock::time_point until) {
  Member* const victim = draw(dice);
  if (victim == nullptr) return;
  excuses_.begin(victim->name, kStandstill);
  victim->process->send(SIGSTOP);
  ++counts_.standstills;
  victim->state = State::kStandingStill;
  victim->until = until;
}

void Crew::ask_one_to_end(testing::Dice& dice, SteadyClock::time_point now) {
  Member* const victim = draw(dice);
  if (victim == nullptr) return;
  victim->process->send(SIGTERM);
  ++counts_.restarts;
  victim->state = State::kEnding;
  victim->until = now + kEndPatience;
}

// ---- the end -------------------------------------------------------------------------------------------------------

bool Crew::is_complete() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.state == State::kRunning; });
}

std::size_t Crew::standing_still() const {
  return static_cast<std::size_t>(std::count_if(
      members_.begin(), members_.end(), [](const Member& member) { return member.state == State::kStandingStill; }));
}

void Crew::end_all() {
  for (Member& member : members_) {
    if (member.state == State::kRunning) member.process->send(SIGTERM);
  }
  for (Member& member : members_) {
    if (member.state != State::kRunning) {
      problem(member, "does not run at the end");
    } else if (member.process->ended_within(kEndPatience)) {
      check_end(member);
    } else {
      problem(member, "does not end");
    }
  }
  kill_all();
}

void Crew::kill_all() {
  for (Member& member : members_) {
    if (member.process) member.process->kill();
    member.state = State::kAbsent;
  }
}

void Crew::problem(const Member& member, const std::string& what) {
  const std::string status = member.process ? std::to_string(member.process->wait_status()) : "none";
  problems_.push_back("node " + member.name + " " + what + ", wait status " + status + "; the end of its log:\n" +
                      end_of(member.log));
}

std::vector<std::string> Crew::take_problems() {
  return std::exchange(problems_, {});
}

}  // namespace perdure::test::storm
