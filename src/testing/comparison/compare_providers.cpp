// How often a comparison does what, and what it reports.
#include <array>
#include <exception>
#include <numeric>
#include <string>

#include <perdure/testing/provider_comparison.h>
#include "testing/comparison/operations.h"

namespace perdure::testing {

namespace {

using comparison::Run;

struct Operation {
  unsigned weight;
  void (*apply)(Run& run);
};

// Fetching and committing outweigh the rest, so that workflows get somewhere; deleting is rare for the same reason.
constexpr std::array kOperations{
    Operation{13, comparison::fetch_instances}, Operation{20, comparison::commit_turns},
    Operation{3, comparison::repeat_commit},    Operation{4, comparison::abandon_turns},
    Operation{3, comparison::renew_turns},      Operation{3, comparison::read_locked_history},
    Operation{8, comparison::enqueue_messages}, Operation{6, comparison::enqueue_start},
    Operation{12, comparison::fetch_work},      Operation{9, comparison::ack_work},
    Operation{4, comparison::abandon_work},     Operation{2, comparison::renew_work},
    Operation{3, comparison::heartbeat},        Operation{3, comparison::enqueue_activities},
    Operation{3, comparison::renew_sessions},   Operation{2, comparison::cleanup_sessions},
    Operation{5, comparison::read_as_client},   Operation{4, comparison::wait_for_work},
    Operation{3, comparison::wait_for_change},  Operation{2, comparison::change_nodes},
    Operation{12, comparison::move_time},       Operation{6, comparison::look},
    Operation{5, comparison::list_pages},       Operation{1, comparison::delete_instance},
    Operation{1, comparison::delete_several},   Operation{2, comparison::prune},
    Operation{1, comparison::append_history},   Operation{2, comparison::address_orphan},
    Operation{1, comparison::import_instances},
};

// The state as a whole is looked at this often, so that a difference in what was written shows near its cause.
constexpr std::size_t kLookEvery = 50;

const Operation& choose(Run& run) {
  static const unsigned kTotal = std::accumulate(kOperations.begin(), kOperations.end(), 0U,
                                                 [](unsigned sum, const Operation& one) { return sum + one.weight; });
  std::size_t ticket = run.dice().below(kTotal);
  for (const Operation& operation : kOperations) {
    if (ticket < operation.weight) return operation;
    ticket -= operation.weight;
  }
  return kOperations.front();
}

void apply_all(Run& run, std::size_t operations) {
  const bool with_damage = run.dice().chance(25);
  for (std::size_t done = 1; done <= operations; ++done) {
    run.begin_operation();
    choose(run).apply(run);
    if (with_damage && run.dice().chance(1)) comparison::damage_history(run);
    if (done % kLookEvery == 0) comparison::compare_visible_state(run);
  }
  run.begin_operation();
  comparison::compare_visible_state(run);
  comparison::compare_what_is_left(run);
  comparison::compare_visible_state(run);
}

}  // namespace

std::string ComparisonReport::to_string() const {
  const std::string run = "seed " + std::to_string(seed) + ", " + std::to_string(operations) + " operations, ";
  if (!difference) return run + "no difference";
  return run + "differs at " + std::to_string(difference->operation) + "\n  call:      " + difference->call +
         "\n  reference: " + difference->reference + "\n  candidate: " + difference->candidate;
}

ComparisonReport compare_providers(ProviderFactory& reference, ProviderFactory& candidate, std::uint64_t seed,
                                   std::size_t operations) {
  ComparisonReport report{.seed = seed, .operations = operations, .difference = {}};
  Run run(reference, candidate, seed);
  try {
    apply_all(run, operations);
  } catch (const comparison::DifferenceFound& found) {
    report.difference = found.difference;
  }
  return report;
}

}  // namespace perdure::testing
