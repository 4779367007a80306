#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <perdure/testing/simulate.h>
#include "testing/dice.h"
#include "testing/simulation/simulation.h"
#include "testing/simulation/user_simulation_workload.h"

namespace perdure::testing {

namespace {

using simulation::Fault;
using simulation::ProblemKind;
using simulation::RunOptions;
using simulation::RunReport;
using simulation::UserWorkload;
using FindingKind = SimulationFindingKind;

// Of the order of things in the calm run and in those with a planned crash.
constexpr std::uint64_t kPlannedSeed = 1;
// For what a node does from time to time although nothing has changed: behind every time limit.
constexpr Milliseconds kNearlyNever = std::chrono::hours(24 * 3'650);
constexpr Milliseconds kLongestRun = std::chrono::hours(24 * 365 * 5);
constexpr std::size_t kMostNodes = 16;

simulation::FaultSet faults_of(const SimulationOptions& options) {
  simulation::FaultSet faults = simulation::parse_faults(options.faults);
  if (contains(faults, Fault::kDamage) && !faults.all()) {
    throw std::invalid_argument(
        "SimulationOptions::faults: 'damage' destroys stored events, which no workflow can survive; leave it out");
  }
  return faults.reset(static_cast<std::size_t>(Fault::kDamage));
}

void require(bool holds, const std::string& text) {
  if (!holds) throw std::invalid_argument(text);
}

void check_options(const SimulationOptions& options, const SeedRange& seeds) {
  require(seeds.empty() || seeds.first <= seeds.last, "SeedRange: the first seed, " + std::to_string(seeds.first) +
                                                          ", is greater than the last, " + std::to_string(seeds.last) +
                                                          "; SeedRange::none() has none");
  require(!options.nodes || (*options.nodes >= 1 && *options.nodes <= kMostNodes),
          "SimulationOptions::nodes must be 1 to " + std::to_string(kMostNodes));
  require(options.max_steps > 0, "SimulationOptions::max_steps must be at least 1");
  require(options.max_crash_points > 0,
          "SimulationOptions::max_crash_points must be at least 1; for none set crash_at_every_write to false");
  require(options.max_failing_runs > 0, "SimulationOptions::max_failing_runs must be at least 1");
  require(options.time_limit > Milliseconds(0) && options.time_limit <= kLongestRun,
          "SimulationOptions::time_limit must be more than 0 and at most five years of 365 days");
  if (options.tags && !options.tags->empty()) static_cast<void>(TagFilter::tags(*options.tags));  // throws
}

void check_workload(const Registry& registry, const SimulatedWorkload& workload) {
  require(!workload.actions().empty(), "the SimulatedWorkload is empty: give it something to do with start() or at()");
  for (const auto& action : workload.actions()) {
    if (action.instance.empty() || registry.has(action.orchestration)) continue;
    std::string known;
    for (const std::string& name : registry.names()) known += (known.empty() ? "'" : ", '") + name + "'";
    throw std::invalid_argument("the SimulatedWorkload starts instance '" + action.instance + "' of '" +
                                action.orchestration + "', which is not registered; the registry has " +
                                (known.empty() ? "nothing" : known));
  }
}

FindingKind finding_kind(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kHistory:
      return FindingKind::kNondeterminism;
    case ProblemKind::kClient:
    case ProblemKind::kException:
      return FindingKind::kException;
    case ProblemKind::kDelay:
      return FindingKind::kStuck;
    case ProblemKind::kOutcome:
      return FindingKind::kWrongEnd;
    case ProblemKind::kStore:
      break;
  }
  return FindingKind::kStoreInvariant;
}

class UserSimulation {
 public:
  UserSimulation(const Registry& registry, const SimulatedWorkload& workload, const SimulationOptions& options)
      : registry_(registry), workload_(workload), options_(options), faults_(faults_of(options)) {}

  SimulationResult run(const SeedRange& seeds) {
    if (!options_.only.empty()) {
      carry_out(SimulatedRun::parse(options_.only));
      return std::move(result_);
    }
    planned_ = 1;
    carry_out({});
    if (!result_.findings.empty()) {
      result_.stopped = "the run without faults is wrong already; put that right first";
      return std::move(result_);
    }
    const std::vector<std::uint64_t> points = crash_points();
    planned_ += 2 * points.size() + (seeds.empty() ? 0 : seeds.last - seeds.first + 1);
    for (const std::uint64_t point : points) {
      carry_out({SimulatedRunKind::kCrashBefore, point});
      carry_out({SimulatedRunKind::kCrashAfter, point});
    }
    for (std::uint64_t seed = seeds.first; seed <= seeds.last && result_.stopped.empty(); ++seed) {
      carry_out({SimulatedRunKind::kSeed, seed});
      if (seed == seeds.last) break;  // which may be the greatest number there is
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> crash_points() const {
    std::vector<std::uint64_t> points;
    if (!options_.crash_at_every_write) return points;
    const std::size_t count = std::min(result_.crash_points, options_.max_crash_points);
    for (std::size_t i = 0; i < count; ++i) points.push_back(1 + i * result_.crash_points / count);
    return points;
  }

  void carry_out(const SimulatedRun& run) {
    if (!result_.stopped.empty()) return;
    if (workload_.preparation()) workload_.preparation()();
    UserWorkload workload(registry_, workload_, options_);
    const std::uint64_t seed = run.kind == SimulatedRunKind::kSeed ? run.number : kPlannedSeed;
    const RunReport report = run_seed(seed, run_options(run), workload);
    ++result_.runs;
    if (run.kind == SimulatedRunKind::kSeed) ++result_.seeds;
    if (run.kind == SimulatedRunKind::kCalm) result_.crash_points = report.writes;
    result_.requests += report.requests;
    result_.faults += report.fault_count();
    in_this_run_.clear();
    take_findings(run, report, workload);
    take_repetitions(run, report, workload);
    if (!in_this_run_.empty() && ++failing_runs_ == options_.max_failing_runs) {
      result_.stopped = std::to_string(failing_runs_) + " runs have failed (SimulationOptions::max_failing_runs)";
    }
    if (options_.progress &&
        !options_.progress({result_.runs, std::max(planned_, result_.runs), result_.findings.size()})) {
      result_.stopped = "the progress callback said so";
    }
  }

  [[nodiscard]] RunOptions run_options(const SimulatedRun& run) const {
    RunOptions options;
    options.nodes = options_.nodes;
    options.max_steps = options_.max_steps;
    options.time_limit = options_.time_limit;
    options.log = options_.log_lines > 0;
    options.clients_prune = true;
    const bool is_planned = run.kind != SimulatedRunKind::kSeed;
    options.adjust_node = [all_tags = !options_.tags, is_planned](RuntimeOptions& node) {
      if (all_tags) node.worker_tag_filter = TagFilter::any();
      node.session_cleanup_interval = kNearlyNever;
      // Kept in memory, so that only the crash makes the code run again.
      if (is_planned) node.cached_executions = RuntimeOptions().cached_executions;
    };
    options.faults = faults_;
    options.max_faults = options_.max_faults;
    // Most workloads of users are short, so that faults must come thick to come at all.
    options.faults_per_1000_steps = Dice(run.number).one_of<std::size_t>({20, 60, 150, 300});
    if (!is_planned) return options;
    options.nodes = options_.nodes.value_or(1);
    options.faults.reset();
    options.max_faults = 0;
    options.store = simulation::StoreKind::kMemory;
    options.fast_path = RuntimeOptions().fast_path;
    if (run.kind != SimulatedRunKind::kCalm) {
      options.crash = {.write = run.number, .stored = run.kind == SimulatedRunKind::kCrashAfter};
    }
    return options;
  }

  void take_findings(const SimulatedRun& run, const RunReport& report, const UserWorkload& workload) {
    // A run that does not come to rest is told of with the instances that keep it.
    std::string delay;
    bool delay_is_told = false;
    std::set<std::string> known;
    for (const auto& finding : workload.findings()) known.insert(finding.text);
    std::size_t history = 0;
    std::vector<UserWorkload::Finding> others;
    for (std::size_t i = 0; i < report.problems.size(); ++i) {
      const ProblemKind kind = report.kinds.at(i);
      const std::string& text = report.problems[i];
      if (known.contains(text)) continue;
      if (kind == ProblemKind::kHistory) {
        take_history(report.histories.at(history++), others);
      } else if (kind == ProblemKind::kDelay) {
        delay = text;
      } else {
        // What clients meet is told apart by its text; broken books are one matter, with ever other figures.
        const bool is_store = kind == ProblemKind::kStore;
        others.push_back({finding_kind(kind), {}, text, is_store ? std::string() : text});
      }
    }
    for (UserWorkload::Finding finding : workload.findings()) {
      if (finding.kind == FindingKind::kStuck && !delay.empty()) {
        finding.text = delay + "\n" + finding.text;
        delay_is_told = true;
      }
      add(run, report, finding);
    }
    for (const UserWorkload::Finding& finding : others) add(run, report, finding);
    if (!delay.empty() && !delay_is_told) add(run, report, {FindingKind::kStuck, {}, delay, {}});
  }

  static void take_history(const HistoryFinding& finding, std::vector<UserWorkload::Finding>& findings) {
    if (finding.kind == HistoryFindingKind::kCannotTell) return;
    const bool by_code = finding.kind == HistoryFindingKind::kDiverges;
    findings.push_back({by_code ? FindingKind::kNondeterminism : FindingKind::kStoreInvariant,
                        finding.instance,
                        "when its history was replayed after the run: " + finding.to_string(),
                        {}});
  }

  void take_repetitions(const SimulatedRun& run, const RunReport& report, const UserWorkload& workload) {
    for (const auto& [identity, runs] : workload.activities()) {
      if (runs.times < 2) continue;
      const auto [place, is_new] = repeated_.emplace(identity, result_.repeated_activities.size());
      if (is_new) {
        RepeatedActivity activity;
        activity.name = runs.name;
        activity.instance = identity.instance;
        activity.execution = identity.execution;
        activity.activity_id = identity.activity_id;
        result_.repeated_activities.push_back(std::move(activity));
      }
      RepeatedActivity& activity = result_.repeated_activities[place->second];
      ++activity.runs;
      if (runs.times > activity.times) {
        activity.times = runs.times;
        activity.run = run;
      }
      if (!options_.report_repeated_activities) continue;
      const std::string id = std::to_string(identity.activity_id);
      add(run, report,
          {FindingKind::kRepeatedActivity, identity.instance,
           "activity '" + runs.name + "' (" + id + ") ran " + std::to_string(runs.times) + " times for one schedule",
           std::to_string(identity.execution) + "/" + id});
    }
  }

  void add(const SimulatedRun& run, const RunReport& report, const UserWorkload::Finding& finding) {
    const Topic topic(finding.kind, finding.instance, finding.topic);
    if (!in_this_run_.insert(topic).second) return;
    const auto [place, is_new] = found_.emplace(topic, result_.findings.size());
    if (!is_new) {
      ++result_.findings[place->second].runs;
      return;
    }
    SimulationFinding told;
    told.kind = finding.kind;
    told.instance = finding.instance;
    told.text = finding.text;
    told.run = run;
    const std::size_t lines = std::min(options_.log_lines, report.log.size());
    told.log.assign(report.log.end() - static_cast<std::ptrdiff_t>(lines), report.log.end());
    result_.findings.push_back(std::move(told));
  }

  using Topic = std::tuple<FindingKind, std::string, std::string>;

  const Registry& registry_;
  const SimulatedWorkload& workload_;
  const SimulationOptions& options_;
  simulation::FaultSet faults_;
  SimulationResult result_;
  std::size_t planned_ = 0;
  std::size_t failing_runs_ = 0;
  std::set<Topic> in_this_run_;
  std::map<Topic, std::size_t> found_;                // where it is in the result
  std::map<ActivityIdentity, std::size_t> repeated_;  // where it is in the result
};

}  // namespace

SimulationResult simulate(const Registry& registry, const SimulatedWorkload& workload, SeedRange seeds,
                          const SimulationOptions& options) {
  registry.check();
  check_options(options, seeds);
  check_workload(registry, workload);
  return UserSimulation(registry, workload, options).run(seeds);
}

}  // namespace perdure::testing
