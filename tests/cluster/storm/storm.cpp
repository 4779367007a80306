#include "storm.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

#include <poll.h>

#include "client_thread.h"
#include "cluster/store_address.h"
#include "crew.h"
#include "excuses.h"
#include "support/temporary_folder.h"
#include "testing/cluster/ledger.h"
#include "testing/cluster/ledger_check.h"
#include "testing/cluster/torture_check.h"
#include "weather.h"
#include "world.h"

namespace perdure::test::storm {

namespace {

using SteadyClock = std::chrono::steady_clock;

// Locks that a busy machine does not lose by itself, and that expire in every long fault.
constexpr Milliseconds kLockTimeout{5'000};
// What a node got from the store before a fault ended begins by then, or never.
constexpr Milliseconds kGrace{6'000};
constexpr int kPause = 10;  // milliseconds between two rounds of the driver
constexpr std::chrono::seconds kProgressInterval{30};

testing::cluster::WorkerOptions worker_options(const Options& options, const World& world, const std::string& ledger) {
  testing::cluster::WorkerOptions worker;
  worker.store = world.address();
  worker.ledger = ledger;
  worker.lock_timeout = kLockTimeout;
  worker.planted = options.planted;
  return worker;
}

class Storm {
 public:
  Storm(const Options& options, const std::vector<std::string>& worker, const std::atomic<bool>& wants_to_end)
      : options_(options),
        wants_to_end_(wants_to_end),
        world_(options.volume, kLockTimeout),
        ledger_(folder_.file("ledger")),
        excuses_(ledger_, kGrace),
        crew_(worker, folder_.path(), worker_options(options, world_, ledger_.path()), options.nodes, excuses_,
              report_.counts),
        weather_(options, world_, crew_, excuses_, report_.counts),
        client_(options, world_.address()) {}

  Report run() {
    const bool finished = blow_for_the_whole_time() && await_the_end();
    client_.stop();
    if (finished) crew_.end_all();
    crew_.kill_all();
    collect_problems();
    count();
    if (!report_.interrupted) check(finished);
    report_.seconds = seconds_since(begin_);
    return std::move(report_);
  }

 private:
  [[nodiscard]] static double seconds_since(SteadyClock::time_point then) {
    return std::chrono::duration<double>(SteadyClock::now() - then).count();
  }

  // One step of everything. False: it was interrupted, or it makes no sense to go on.
  bool go_on(bool faults_may_begin) {
    const auto now = SteadyClock::now();
    weather_.blow(now, faults_may_begin);
    crew_.update(now);
    excuses_.close_old(now);
    show_progress(now);
    ::poll(nullptr, 0, kPause);
    report_.interrupted = wants_to_end_;
    return !report_.interrupted;
  }

  // Rounds: a calm, in which no repetition has an excuse once those of the faults before have ended; then faults begin,
  // and those that have begun end.
  bool blow_for_the_whole_time() {
    while (!crew_.is_complete()) {
      if (!go_on(false)) return false;
    }
    const auto end = SteadyClock::now() + std::chrono::seconds(options_.seconds);
    while (SteadyClock::now() < end) {
      const auto calm_end = std::min(end, SteadyClock::now() + std::chrono::seconds(options_.calm));
      while (SteadyClock::now() < calm_end) {
        if (!go_on(false)) return false;
      }
      const auto round_end = std::min(end, SteadyClock::now() + std::chrono::seconds(options_.round));
      while (SteadyClock::now() < round_end || !weather_.is_calm()) {
        if (!go_on(SteadyClock::now() < round_end)) return false;
      }
    }
    return true;
  }

  bool await_the_end() {
    client_.start_no_more();
    const auto begin = SteadyClock::now();
    const auto deadline = begin + std::chrono::seconds(options_.bound);
    while (!client_.progress().all_done || !crew_.is_complete()) {
      if (!go_on(false)) return false;
      if (SteadyClock::now() < deadline) continue;
      problem("not everything has completed " + std::to_string(options_.bound) + " s after the last fault");
      return false;
    }
    report_.recovery_seconds = seconds_since(begin);
    while (SteadyClock::now() < begin + kGrace + std::chrono::seconds(1)) {  // every excuse has ended
      if (!go_on(false)) return false;
    }
    return true;
  }

  void show_progress(SteadyClock::time_point now) {
    if (now - last_progress_ < kProgressInterval) return;
    last_progress_ = now;
    const ClientThread::Progress progress = client_.progress();
    const Counts& counts = report_.counts;
    std::fprintf(stderr, "%4.0f s: %zu of %zu workflows done, %zu ledger lines, %zu silences, %zu kills, %zu MB\n",
                 seconds_since(begin_), progress.done, progress.workflows, ledger_.size(), counts.silences,
                 counts.kills, world_.volume().mebibytes_in_use());
  }

  void problem(std::string text) { report_.problems.push_back(std::move(text)); }
  void add_problems(std::vector<std::string> lines) {
    report_.problems.insert(report_.problems.end(), std::make_move_iterator(lines.begin()),
                            std::make_move_iterator(lines.end()));
  }

  void collect_problems() {
    const ClientThread::Progress progress = client_.progress();
    report_.workflows = progress.workflows;
    report_.workflows_done = progress.done;
    report_.failed_calls = progress.failed_calls;
    add_problems(crew_.take_problems());
    add_problems(client_.problems());
  }

  void count() {
    report_.mebibytes = world_.volume().mebibytes_in_use();
    report_.refused_for_space = world_.refused_for_space();
    report_.counts.cuts = world_.front().cuts() + world_.back().cuts();
    report_.counts.lost_answers = world_.front().lost_answers() + world_.back().lost_answers();
    const auto entries = ledger_.read();
    report_.ledger_entries = entries.size();
    report_.repetitions = testing::cluster::count_repetitions(entries);
  }

  // The ledger of a run that stopped before its end is not complete.
  void check(bool finished) {
    try {
      const std::shared_ptr<Provider> store = open_store(world_.direct_address());
      if (finished) {
        add_problems(testing::cluster::check_books(*store, ledger_, client_.started()));
      } else {
        add_problems(testing::cluster::describe_stuck(store, client_.under_way()));
      }
      add_problems(world_.locks_granted_twice());
    } catch (const std::exception& error) {
      problem("what was done cannot be checked: " + std::string(error.what()));
    }
  }

  const Options& options_;
  const std::atomic<bool>& wants_to_end_;
  SteadyClock::time_point begin_ = SteadyClock::now();
  SteadyClock::time_point last_progress_ = begin_;
  Report report_;
  TemporaryFolder folder_;  // of the ledger and the logs
  World world_;
  testing::cluster::Ledger ledger_;
  Excuses excuses_;
  Crew crew_;
  Weather weather_;
  ClientThread client_;
};

}  // namespace

Report run(const Options& options, const std::vector<std::string>& worker, const std::atomic<bool>& wants_to_end) {
  hide_mounts_of_this_process();
  return Storm(options, worker, wants_to_end).run();
}

}  // namespace perdure::test::storm
