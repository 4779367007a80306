#include "testing/cluster/torture.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <iterator>
#include <list>
#include <set>
#include <thread>
#include <utility>

#include <sys/wait.h>

#include "testing/cluster/child_process.h"
#include "testing/cluster/ledger.h"
#include "testing/cluster/torture_check.h"
#include "testing/cluster/worker_options.h"
#include "testing/cluster/workload.h"
#include "testing/dice.h"

namespace perdure::testing::cluster {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr Milliseconds kPause{4};          // between two rounds of the driver
constexpr Milliseconds kLookInterval{80};  // between two looks at all workflows that are under way
constexpr std::size_t kMostEntriesBetweenStrikes = 160;
constexpr std::size_t kMostMicrosecondsBeforeStrike = 12'000;
constexpr std::size_t kSpareAttempts = 100;  // beyond those that deaths may cost
constexpr Milliseconds kStopPatience{60'000};
constexpr std::size_t kLastLogBytes = 2'000;

std::string end_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > kLastLogBytes ? text.substr(text.size() - kLastLogBytes) : text;
}

struct TorturedWorker {
  TorturedWorker(const std::string& its_name, const std::string& its_log, std::vector<std::string> command,
                 const std::vector<std::string>& environment)
      : name(its_name), log(its_log), process(std::move(command), log, environment) {}

  std::string name;
  std::string log;
  ChildProcess process;
};

class Torturer {
 public:
  Torturer(const std::shared_ptr<Provider>& store, const TortureOptions& options)
      : options_(options),
        store_(store),
        workload_(store),
        ledger_(options.folder + "/ledger"),
        dice_(options.seed),
        begin_(SteadyClock::now()),
        last_look_(begin_) {}

  TortureReport run() {
    try {
      work();
      if (failed()) {
        kill_all();
      } else {
        stop_all();
      }
      read_ledger();
      // What stopped in the midst of its work has books that nobody has closed.
      if (!failed()) report_.problems = check_books(*store_, ledger_, workload_.started());
    } catch (const std::exception& error) {
      problem("the driver cannot continue: " + std::string(error.what()));
    }
    kill_all();
    report_.seconds = std::chrono::duration<double>(SteadyClock::now() - begin_).count();
    return report_;
  }

 private:
  void work() {
    for (std::size_t i = 0; i < options_.workers; ++i) start_worker();
    draw_next_strike();
    while (!failed()) {
      const bool struck_enough = report_.counts.kills >= options_.kills;
      if (struck_enough && workload_.under_way() == 0) return;
      if (!struck_enough) start_workflows();
      read_ledger();
      if (!struck_enough && report_.counts.ledger_entries >= next_strike_) strike();
      look_at_workers();
      look_at_workflows();
      look_at_the_time();
      if (options_.progress) options_.progress(report_.counts);
      std::this_thread::sleep_for(kPause);
    }
  }

  void problem(std::string text) { report_.problems.push_back(std::move(text)); }
  [[nodiscard]] bool failed() {
    if (options_.wants_to_end && options_.wants_to_end()) report_.interrupted = true;
    return !report_.clean();
  }

  // ---- workers ----

  void start_worker() {
    WorkerOptions worker;
    worker.ledger = ledger_.path();
    worker.node = "w" + std::to_string(++report_.counts.workers);
    worker.lock_timeout = options_.lock_timeout;
    worker.max_attempts = static_cast<std::uint32_t>(options_.kills + kSpareAttempts);
    worker.planted = options_.planted;
    std::vector<std::string> command = options_.worker_command;
    const std::vector<std::string> arguments = worker.to_arguments();
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string log = options_.folder + "/" + worker.node + ".log";
    // Nobody waits until it is ready: one that is killed while it opens the store is as good as any other.
    workers_.emplace_back(worker.node, log, std::move(command), options_.worker_environment);
  }

  void look_at_workers() {
    for (TorturedWorker& worker : workers_) {
      if (worker.process.ended_within(Milliseconds(0))) ended_badly(worker, "ended by itself");
    }
  }

  void ended_badly(const TorturedWorker& worker, const std::string& how) {
    problem("worker " + worker.name + " " + how + ", with wait status " + std::to_string(worker.process.wait_status()) +
            "; the end of its log:\n" + end_of_file(worker.log));
  }

  void stop_all() {
    for (const TorturedWorker& worker : workers_) worker.process.send(SIGTERM);
    for (TorturedWorker& worker : workers_) {
      if (!worker.process.ended_within(kStopPatience)) {
        problem("worker " + worker.name + " does not stop when it is asked to");
      } else if (const int status = worker.process.wait_status(); !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ended_badly(worker, "was asked to stop and ended");
      }
    }
  }

  void kill_all() {
    for (TorturedWorker& worker : workers_) worker.process.kill();
    workers_.clear();
  }

  // ---- strikes ----

  // After so many more lines of the ledger: workers are at work then, however fast the machine is.
  void draw_next_strike() {
    next_strike_ = report_.counts.ledger_entries + dice_.between(1, kMostEntriesBetweenStrikes);
  }

  // Mostly one, sometimes two at once, sometimes all.
  [[nodiscard]] std::list<TorturedWorker> draw_victims() {
    const std::size_t roll = dice_.below(10);
    const std::size_t wanted = roll < 7 ? 1 : roll < 9 ? 2 : workers_.size();
    const std::size_t allowed = std::min(workers_.size(), options_.kills - report_.counts.kills);
    std::list<TorturedWorker> victims;
    while (victims.size() < std::min(wanted, allowed)) {
      victims.splice(victims.end(), workers_,
                     std::next(workers_.begin(), static_cast<std::ptrdiff_t>(dice_.below(workers_.size()))));
    }
    return victims;
  }

  void strike() {
    // Off the beat of the ledger: the moment may be anywhere between two of its lines.
    std::this_thread::sleep_for(std::chrono::microseconds(dice_.below(kMostMicrosecondsBeforeStrike)));
    std::list<TorturedWorker> victims = draw_victims();
    for (const TorturedWorker& victim : victims) note_death(LedgerKind::kDisturbanceBegan, victim);
    for (TorturedWorker& victim : victims) {
      if (!victim.process.ended_within(Milliseconds(0))) victim.process.send(SIGKILL);
    }
    for (TorturedWorker& victim : victims) {
      victim.process.kill();
      note_death(LedgerKind::kDisturbanceEnded, victim);
      // A crash of its own just before is no kill of ours, and excuses nothing.
      const int status = victim.process.wait_status();
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) ended_badly(victim, "ended by itself");
      ++report_.counts.kills;
      start_worker();
    }
    read_ledger();
    draw_next_strike();
  }

  void note_death(LedgerKind kind, const TorturedWorker& worker) const {
    ledger_.append({.kind = kind, .node = worker.name, .step = {}, .attempt = 0, .what = kDeath});
  }

  void read_ledger() {
    for (const LedgerEntry& entry : ledger_.read(report_.counts.ledger_entries)) {
      ++report_.counts.ledger_entries;
      if (entry.kind != LedgerKind::kRunBegan) continue;
      if (!steps_.insert(entry.step).second) ++report_.counts.repetitions;
    }
  }

  // ---- workflows ----

  void start_workflows() {
    while (workload_.under_way() < options_.in_flight) {
      ++report_.counts.workflows;
      workload_.start_next();
    }
  }

  void look_at_workflows() {
    if (SteadyClock::now() - last_look_ < kLookInterval) return;
    workload_.update();
    report_.counts.workflows_done = workload_.done();
    for (std::string& line : workload_.take_problems()) problem(std::move(line));
    last_look_ = SteadyClock::now();
  }

  // ---- limits ----

  void look_at_the_time() {
    const auto now = SteadyClock::now();
    const bool stalled = now - workload_.last_end() > options_.stall_limit;
    const bool too_long = options_.time_limit.count() > 0 && now - begin_ > options_.time_limit;
    if (!stalled && !too_long) return;
    const auto seconds = [](Milliseconds limit) { return std::to_string(limit.count() / 1'000) + " s"; };
    problem(stalled ? "no workflow has ended for " + seconds(options_.stall_limit)
                    : "it is not done after " + seconds(options_.time_limit));
    for (std::string& line : describe_stuck(store_, workload_.names_under_way())) problem(std::move(line));
  }

  const TortureOptions& options_;
  std::shared_ptr<Provider> store_;
  Workload workload_;
  Ledger ledger_;
  Dice dice_;
  SteadyClock::time_point begin_;
  SteadyClock::time_point last_look_;  // at workflows
  std::size_t next_strike_ = 0;        // when the ledger has so many lines
  TortureReport report_;
  std::list<TorturedWorker> workers_;
  std::set<Step> steps_;  // that have run
};

}  // namespace

TortureReport torture(const std::shared_ptr<Provider>& store, const TortureOptions& options) {
  return Torturer(store, options).run();
}

}  // namespace perdure::testing::cluster
