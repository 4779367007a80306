#include "testing/simulation/simulation.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <perdure/client_error.h>
#include <perdure/clock.h>
#include "testing/dice.h"
#include "testing/simulation/audited_store.h"
#include "testing/simulation/cluster.h"
#include "testing/simulation/end_checks.h"
#include "testing/simulation/pending_actions.h"
#include "testing/simulation/rest_watch.h"
#include "testing/simulation/scenery.h"
#include "testing/simulation/simulated_store.h"
#include "testing/simulation/waitless_store.h"
#include "testing/survive.h"

namespace perdure::testing::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Behind the first of January 2030: far from every limit of a clock.
constexpr Timestamp kStart{milliseconds{1'893'456'000'000}};
constexpr Milliseconds kLongestJump = std::chrono::minutes(3);
// Longer than a wrong clock of a node, and what it has planned by it, outlasts the fault.
constexpr Milliseconds kFaultsAreOver = seconds(200);
// How long a node is away after a planned crash.
constexpr Milliseconds kPlannedAbsence = seconds(1);

class Simulation {
 public:
  Simulation(std::uint64_t seed, const RunOptions& options, Workload& workload)
      : options_(options),
        workload_(workload),
        scenery_(seed, options),
        schedule_(Dice(seed ^ 0x5C4ED).next()),
        chance_(Dice(seed ^ 0xFA017).next()),
        updates_(Dice(seed ^ 0x0BDA7E).next()),
        log_(options.log, kStart),
        clock_(std::make_shared<ManualClock>(kStart)),
        real_store_(std::make_shared<WaitlessStore>(make_simulated_store(scenery_.store, clock_))),
        store_(std::make_shared<AuditedStore>(real_store_, log_)),
        line_(std::make_shared<NodeStore>(store_)),
        client_(line_),
        cluster_(scenery_.nodes, scenery_.first_generation, store_,
                 {.registry = [this](int generation) { return workload_.registry(generation); },
                  .options = [this](std::size_t place, int generation) { return node_options(place, generation); },
                  .ended = [this](const std::string& node) { workload_.node_ended(node); },
                  .witness = {.failed = [this](const LockToken& token) { store_->failed(token); },
                              .problem = [this](std::string text) { store_->report(std::move(text)); }}},
                 seed, log_) {
    report_.seed = seed;
    report_.nodes = scenery_.nodes;
    report_.store = scenery_.store;
    report_.fast_path = scenery_.fast_path;
    faults_left_ = scenery_.faults;
    fault_rate_ = options.faults_per_1000_steps.value_or(scenery_.faults_per_1000_steps);
    store_->set_session_idle(node_options(0, scenery_.first_generation).session_idle_timeout);
    store_->set_excuse([this](const std::string& node, Timestamp since) { return cluster_.was_hindered(node, since); });
  }

  RunReport run() {
    actions_ = PendingActions(workload_.actions(kStart));
    const auto run_to_the_end = [this] {
      go();
      cluster_.end();
      if (report_.problems.empty()) check_end();
    };
    survive(run_to_the_end, [this](const std::string& text) { problem(ProblemKind::kException, text); });
    report_.commits = store_->audit().commits();
    report_.virtual_time = store_time() - kStart;
    report_.log = log_.lines();
    return std::move(report_);
  }

 private:
  void problem(ProblemKind kind, std::string text) {
    report_.problems.push_back(std::move(text));
    report_.kinds.push_back(kind);
  }

  void problems(ProblemKind kind, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) problem(kind, text);
  }

  [[nodiscard]] RuntimeOptions node_options(std::size_t place, int generation) const {
    RuntimeOptions options = scenery_.node_options(place, generation, {workload_.tags(), workload_.tags_all()});
    if (place == 0 && workload_.needs_unknown_names()) options.fetch_only_registered = false;
    if (options_.adjust_node) options_.adjust_node(options);
    return options;
  }

  void go() {
    while (report_.problems.empty()) {
      cut_short_ = workload_.is_done(*real_store_);
      if (cut_short_ || !step()) break;
      if (++steps_ > options_.max_steps)
        never_ends(Workload::Delay::kBusy,
                   "the cluster has not come to rest after " + std::to_string(steps_) + " steps");
      if (steps_ == scenery_.latest_upgrade) begin_upgrade();
      begin_store_outages();
      set_clock();
      problems(ProblemKind::kStore, store_->audit().problems());
    }
    log_.begin("");
    log_.add(store_time(), "the run is over");
  }

  void never_ends(Workload::Delay delay, const std::string& text) {
    problem(ProblemKind::kDelay, text + actions_.describe());
    problems(ProblemKind::kDelay, workload_.explain(delay, *real_store_));
  }

  // One thing, or one jump of time. False: all is done.
  bool step() {
    const Timestamp now = store_time();
    cluster_.wake(now);
    strike(now);
    const auto choices = cluster_.choices();
    const std::size_t due = actions_.due(now);
    if (choices.empty() && due == 0) return pass_time(now);
    if (schedule_.chance(25)) clock_->advance(milliseconds(schedule_.between(1, 12)));
    const std::size_t chosen = schedule_.below(choices.size() + due);
    if (chosen >= choices.size()) {
      act(chosen - choices.size());
    } else {
      move(choices[chosen]);
    }
    return true;
  }

  void move(const Cluster::Choice& choice) {
    SteppedNode& node = cluster_.node(choice.place);
    log_.begin(cluster_.name(choice.place));
    if (log_.on()) log_.add(store_time(), node.describe(choice.choice));
    if (scenery_.holds_updates) node.hold_updates(updates_.chance(node.holds_updates() ? 98 : 15));
    const bool calls = node.calls_store(choice.choice);
    ++report_.requests;
    if (node.writes(choice.choice) && ++report_.writes == (options_.crash ? options_.crash->write : 0)) {
      return crash_as_planned(choice);
    }
    if (calls && pending_fault_) return move_with_fault(choice, *std::exchange(pending_fault_, std::nullopt));
    // Half of the answers take their time.
    if (calls && schedule_.chance(50)) return node.step_without_answer(choice.choice);
    const bool is_client = node.runs_activity(choice.choice);  // or may be one
    node.step(choice.choice);
    if (is_client) store_->notice_deletions();
  }

  void crash_as_planned(const Cluster::Choice& choice) {
    count(Fault::kCrash);
    if (options_.crash->stored) cluster_.node(choice.place).step_without_answer(choice.choice);
    log_.add(store_time(), options_.crash->stored ? "*** dies: the store has it, the answer reaches nobody"
                                                  : "*** dies before the store hears of it");
    cluster_.crash(choice.place, store_time() + kPlannedAbsence);
  }

  void move_with_fault(const Cluster::Choice& choice, Fault fault) {
    SteppedNode& node = cluster_.node(choice.place);
    count(fault);
    switch (fault) {
      case Fault::kCrashInCall:
        node.step_without_answer(choice.choice);
        log_.add(store_time(), "dies before it hears the answer");
        return cluster_.crash(choice.place, store_time() + random_delay());
      case Fault::kSlowCall:
        node.step_without_answer(choice.choice);
        log_.add(store_time(), "waits long for the answer");
        return jump(random_jump());
      case Fault::kLostAnswer:
        return step_with(choice, Mishap::kAnswerLost);
      case Fault::kRepeated:
        return step_with(choice, Mishap::kCarriedOutTwice);
      default:
        return step_with(choice, chance_.chance(75) ? Mishap::kUnavailable : Mishap::kFailed);
    }
  }

  void step_with(const Cluster::Choice& choice, Mishap mishap) {
    log_.add(store_time(), std::string(describe(mishap)));
    cluster_.line(choice.place).set_mishap(mishap);
    cluster_.node(choice.place).step(choice.choice);
    cluster_.line(choice.place).set_mishap(Mishap::kNone);
  }

  // ---- the client ----

  void act(std::size_t index) {
    const Timestamp now = store_time();
    const ClientAction& action = actions_.due_action(index, now);
    log_.begin("client");
    log_.add(now, action.what);
    ++report_.requests;
    if (pending_fault_ && strikes_clients(*pending_fault_)) {
      const Fault fault = *std::exchange(pending_fault_, std::nullopt);
      count(fault);
      line_->set_mishap(mishap_of_client(fault));
    }
    store_->check_orphans();
    const bool done = carry_out(action);
    line_->set_mishap(Mishap::kNone);
    store_->notice_deletions();
    actions_.settle(index, now, done);
  }

  bool carry_out(const ClientAction& action) {
    const auto failed = [&](const std::string& text) {
      problem(ProblemKind::kClient, "client: " + action.what + ": " + text);
      return false;
    };
    const auto call = [&] {
      try {
        return action.act(client_);
      } catch (const ClientError& error) {
        log_.add(store_time(), std::string("fails: ") + error.what());
        return error.retryable() ? false : failed(error.what());
      }
    };
    return survive(call, failed);
  }

  // ---- time ----

  // Not the clock's: that may have been set back.
  [[nodiscard]] Timestamp store_time() const { return real_store_->now(); }

  void jump(Milliseconds by) {
    clock_->advance(by);
    cluster_.hinder_all(store_time());
  }

  // No activity is left in the store, so nobody wants what one might still do.
  bool check_stopped() {
    for (const std::string& activity : cluster_.running_activities(Timestamp::max()))
      problem(ProblemKind::kStore, activity + " continues although its outcome is no longer needed");
    return false;
  }

  // A cancellation reaches a node soon, and not only when the node renews its locks.
  void check_stopped_soon(Timestamp now) {
    if (!rest_.cancellations_have_arrived(now)) return;
    for (const std::string& activity : cluster_.running_activities(*rest_.since() - kFaultsAreOver))
      problem(ProblemKind::kStore, activity + " received no cancellation within seconds");
  }

  // A child that nobody knows of any more runs for ever, and what clients want of its tree, such as a deletion, cannot
  // be done.
  [[nodiscard]] bool is_vain_to_go_on(Timestamp now) const {
    return actions_.all_in_vain() && cluster_.is_whole() && store_->audit().at_rest(now) &&
           !store_->lost_children().empty();
  }

  bool pass_time(Timestamp now) {
    store_->check_sessions();
    if (is_vain_to_go_on(now)) actions_.clear();
    const bool rests = actions_.empty() && cluster_.is_whole() && store_->audit().at_rest(now);
    rest_.note(rests, now);
    check_stopped_soon(now);
    if (rest_.is_over(now)) return check_stopped();
    Timestamp next = std::min({cluster_.next_moment(), actions_.next_moment(), rest_.next_moment()});
    if (const auto moment = store_->audit().next_moment(now)) next = std::min(next, *moment);
    if (next == Timestamp::max()) {
      never_ends(Workload::Delay::kIdle, "nothing can happen any more, but not all is done");
      return false;
    }
    if (!rests && options_.time_limit && next - kStart > *options_.time_limit) {
      // A timer that lost its race stays queued until it is due, although its instance has ended.
      const bool all_is_done = actions_.empty() && cluster_.is_whole() && store_->audit().only_ended_are_left(now);
      if (all_is_done) {
        late_timers_left_ = true;
        return check_stopped();
      }
      never_ends(Workload::Delay::kIdle, "nothing more happens before the time limit");
      return false;
    }
    next = std::max(next, now + milliseconds(1));
    if (schedule_.chance(20)) next += milliseconds(schedule_.below(3'000));
    clock_->advance(next - now);
    return true;
  }

  // ---- faults ----

  [[nodiscard]] Milliseconds random_delay() {
    return chance_.chance(50) ? milliseconds(chance_.below(2'000)) : milliseconds(chance_.between(2'000, 90'000));
  }

  // Half of them end exactly when something else does: a lock, a delay, a wait.
  [[nodiscard]] Milliseconds random_jump() {
    const Milliseconds by = random_delay() * 2;
    const Timestamp now = store_time();
    const auto moment = store_->audit().next_moment(now + by / 8);
    return chance_.chance(50) && moment && *moment - now <= kLongestJump ? *moment - now : by;
  }

  void count(Fault fault) { ++report_.faults[static_cast<std::size_t>(fault)]; }

  // Throws the dice for a fault. Kinds that are switched off take their turn without effect, so that a run without
  // them stays like the run with them for as long as it can.
  void strike(Timestamp now) {
    if (faults_left_ == 0 || pending_fault_ || chance_.below(1'000) >= fault_rate_) return;
    const auto fault = static_cast<Fault>(chance_.below(kThrownFaults));
    const std::size_t place = chance_.below(cluster_.size());
    --faults_left_;
    if (contains(options_.faults, fault)) strike(fault, place, now);
  }

  void strike(Fault fault, std::size_t place, Timestamp now) {
    switch (fault) {
      case Fault::kCrashInCall:
      case Fault::kLostAnswer:
      case Fault::kStoreError:
      case Fault::kRepeated:
      case Fault::kSlowCall:
        pending_fault_ = fault;  // for the next call of the store
        return;
      case Fault::kTimeJump: {
        const Milliseconds by = random_jump();
        say("", now, fault, std::to_string(by.count()) + " ms");
        return jump(by);
      }
      case Fault::kDamage:
        if (const auto event = store_->damage_one(chance_)) say("", now, Fault::kDamage, *event);
        return;
      default:
        break;
    }
    if (!cluster_.is_working(place)) return;
    const std::string& name = cluster_.name(place);
    const Milliseconds delay = random_delay();
    switch (fault) {
      case Fault::kCrash:
        say(name, now, fault, "");
        return cluster_.crash(place, now + delay);
      case Fault::kPause:
        say(name, now, fault, "for " + std::to_string(delay.count()) + " ms");
        return cluster_.pause(place, now + delay);
      case Fault::kOutage:
        say(name, now, fault, "for " + std::to_string(delay.count()) + " ms");
        return cluster_.cut_off(place, now + delay);
      case Fault::kClockOffset: {
        const Milliseconds offset = random_delay() * (chance_.chance(50) ? 1 : -1);
        say(name, now, fault, std::to_string(offset.count()) + " ms for " + std::to_string(delay.count()) + " ms");
        return cluster_.set_clock(place, offset, now + delay);
      }
      default:
        if (cluster_.generation(place) == kLatestGeneration) return;
        say(name, now, fault, "");
        return cluster_.upgrade(place, chance_.chance(50), now);
    }
  }

  void say(const std::string& actor, Timestamp now, Fault fault, const std::string& details) {
    count(fault);
    log_.begin(actor);
    log_.add(now, "*** " + std::string(to_string(fault)) + (details.empty() ? "" : ": " + details));
  }

  // The roll-out begins at some time, whether or not the dice say so: what needs the new code waits for it.
  void begin_upgrade() {
    if (cluster_.latest_generation() != kLatestGeneration) cluster_.upgrade(0, false, store_time());
  }

  void begin_store_outages() {
    for (const Scenery::StoreOutage& outage : scenery_.store_outages) {
      if (outage.step != steps_) continue;
      say("", store_time(), Fault::kStoreOutage, outage.describe());
      cluster_.refuse(outage.refusal, store_time() + outage.length);
    }
  }

  void set_clock() {
    for (const Scenery::ClockStep& step : scenery_.clock_steps) {
      if (step.step != steps_) continue;
      const Timestamp before = store_time();
      say("", before, Fault::kClockStep, "the clock is set by about " + std::to_string(step.by.count()) + " ms");
      const Milliseconds jump = set_clock_of(*real_store_, *clock_, step.by);
      if (jump.count() == 0) continue;
      if (scenery_.store == StoreKind::kSqlite) store_->extend_locks(before, jump);
      cluster_.hinder_all(store_time());
    }
  }

  // ---- the end ----

  void check_end() {
    RunFacts facts;
    facts.damaged.assign(store_->read_damage().begin(), store_->read_damage().end());
    facts.lost_children = store_->lost_children();
    facts.fetched_in_vain = store_->audit().fetched_in_vain();
    if (!cut_short_) {
      problems(ProblemKind::kStore, check_queues(*real_store_));
      if (!late_timers_left_) {
        problems(ProblemKind::kStore, check_messages_taken(*real_store_, store_->audit()));
      }
    }
    problems(
        ProblemKind::kStore,
        check_histories_kept(*real_store_, store_->audit(), store_->read_damage(), [this](const std::string& instance) {
          return options_.clients_prune || workload_.may_be_pruned(instance);
        }));
    report_.histories = check_rebuilding(*real_store_, workload_.registry(kLatestGeneration), store_->read_damage(),
                                         workload_.needs_unknown_names());
    std::erase_if(report_.histories, [this](const auto& finding) { return workload_.allows(finding); });
    if (!cut_short_ && facts.lost_children.empty()) problems(ProblemKind::kStore, check_stuck(*real_store_));
    for (const HistoryFinding& finding : report_.histories) problem(ProblemKind::kHistory, finding.to_string());
    problems(ProblemKind::kOutcome, workload_.check(*real_store_, facts));
  }

  static constexpr int kLatestGeneration = 1;

  RunOptions options_;
  Workload& workload_;
  Scenery scenery_;
  Dice schedule_;
  Dice chance_;
  Dice updates_;
  RunLog log_;
  RunReport report_;
  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<Provider> real_store_;
  std::shared_ptr<AuditedStore> store_;
  std::shared_ptr<NodeStore> line_;  // of the client
  Client client_;
  PendingActions actions_;
  std::size_t steps_ = 0;
  bool cut_short_ = false;         // the workload was done before everything had come to rest
  bool late_timers_left_ = false;  // of instances that have ended: due after the time limit
  std::size_t faults_left_ = 0;
  std::size_t fault_rate_ = 0;  // in 1000 steps
  RestWatch rest_;
  std::optional<Fault> pending_fault_;
  Cluster cluster_;
};

}  // namespace

RunReport run_seed(std::uint64_t seed, const RunOptions& options, Workload& workload) {
  return Simulation(seed, options, workload).run();
}

}  // namespace perdure::testing::simulation
