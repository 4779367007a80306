#include "cli/mutation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/seed_range.h"
#include "model/planted_fault.h"
#include "testing/simulation/trial.h"

namespace perdure::cli {

namespace {

namespace simulation = testing::simulation;

constexpr std::uint64_t kSeedsWithoutFault = 200;
constexpr std::size_t kLongestProblem = 110;

// The first seed that fails, and why.
struct Finding {
  std::uint64_t seed = 0;
  std::string problem;
};

std::optional<Finding> first_failure(const SeedRange& seeds, const simulation::Trial& like, std::size_t jobs) {
  std::map<std::uint64_t, std::string> problems;
  const auto seen = [&](const simulation::RunReport& report, const simulation::Campaign&) {
    if (!report.ok()) problems[report.seed] = report.problems.front();
    return report.ok();
  };
  (void)simulation::run_seeds(seeds.first, seeds.last, like, jobs, seen);
  if (problems.empty()) return std::nullopt;
  return Finding{.seed = problems.begin()->first, .problem = problems.begin()->second};
}

// A seed that fails with nothing planted as well has found nothing.
std::optional<Finding> first_finding(PlantedFault fault, SeedRange seeds, const simulation::Trial& like,
                                     std::size_t jobs) {
  while (seeds.first <= seeds.last) {
    plant(fault);
    auto found = first_failure(seeds, like, jobs);
    plant(std::nullopt);
    if (!found) return found;
    simulation::Trial healthy = like;
    healthy.seed = found->seed;
    if (run_trial(healthy).ok()) return found;
    seeds.first = found->seed + 1;
  }
  return std::nullopt;
}

// One line that fits into a table.
std::string shortened(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::replace(text.begin(), text.end(), '|', '/');
  if (text.size() > kLongestProblem) text = text.substr(0, kLongestProblem) + "...";
  return text;
}

struct Outcome {
  PlantedFaultInfo fault;
  std::optional<Finding> found;
};

void print_table(std::ostream& out, const SeedRange& seeds, const std::vector<Outcome>& outcomes) {
  out << "\n| planted fault | effect | seeds | finding of the simulator |\n|---|---|---|---|\n";
  for (const auto& [fault, found] : outcomes) {
    out << "| `" << fault.name << "` | " << fault.what << " | ";
    if (found) {
      out << found->seed - seeds.first + 1 << " | " << shortened(found->problem) << " |\n";
    } else {
      out << "not found | nothing |\n";
    }
  }
}

void print_json(std::ostream& out, const std::vector<Outcome>& outcomes) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [fault, found] : outcomes) {
    nlohmann::json entry{{"fault", fault.name}, {"what", fault.what}, {"found", found.has_value()}};
    if (found) {
      entry["seed"] = found->seed;
      entry["problem"] = found->problem;
    }
    list.push_back(std::move(entry));
  }
  out << list.dump(2) << '\n';
}

const PlantedFaultInfo& fault_named(const std::string& name) {
  const auto all = planted_faults();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& fault) { return fault.name == name; });
  if (found != all.end()) return *found;
  std::string names;
  for (const PlantedFaultInfo& fault : all) names += (names.empty() ? "" : ", ") + std::string(fault.name);
  throw std::invalid_argument("there is no planted fault '" + name + "'; there are " + names);
}

std::vector<PlantedFaultInfo> wanted_faults(const std::string& only) {
  if (!only.empty()) return {fault_named(only)};
  const auto all = planted_faults();
  return {all.begin(), all.end()};
}

}  // namespace

void plant_fault(const std::string& name) {
  plant(fault_named(name).fault);
}

int run(const MutationArguments& arguments, std::ostream& out, std::ostream& progress) {
  const SeedRange seeds = parse_seed_range(arguments.seeds);
  const std::vector<PlantedFaultInfo> faults = wanted_faults(arguments.only);
  const std::size_t jobs = arguments.jobs > 0 ? arguments.jobs : std::max(std::thread::hardware_concurrency(), 1U);
  simulation::Trial like;
  if (!arguments.fast_path.empty()) like.options.fast_path = arguments.fast_path == "on";

  // What fails anyway finds nothing.
  const SeedRange healthy{.first = seeds.first, .last = std::min(seeds.last, seeds.first + kSeedsWithoutFault - 1)};
  if (const auto failure = first_failure(healthy, like, jobs)) {
    throw std::runtime_error("seed " + std::to_string(failure->seed) +
                             " fails with nothing planted: " + failure->problem);
  }
  progress << "seeds " << healthy.first << " to " << healthy.last << " pass with nothing planted\n";

  std::vector<Outcome> outcomes;
  for (const PlantedFaultInfo& fault : faults) {
    outcomes.push_back({fault, first_finding(fault.fault, seeds, like, jobs)});
    const auto& found = outcomes.back().found;
    progress << fault.name << ": "
             << (found ? "seed " + std::to_string(found->seed) + ": " + shortened(found->problem) : "NOT FOUND") << '\n'
             << std::flush;  // somebody watches
  }
  if (arguments.json) {
    print_json(out, outcomes);
  } else {
    print_table(out, seeds, outcomes);
  }
  const auto missed =
      std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return !outcome.found; });
  progress << outcomes.size() - static_cast<std::size_t>(missed) << " of " << outcomes.size()
           << " planted faults were found\n";
  return missed == 0 ? 0 : 1;
}

}  // namespace perdure::cli
