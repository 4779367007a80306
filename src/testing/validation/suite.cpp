#include "testing/validation/suite.h"

#include <string>

#include "testing/survive.h"

namespace perdure::testing {

namespace {

using Group = ValidationTests (*)();

constexpr Group kGroups[] = {
    &instance_creation_tests,
    &atomicity_tests,
    &error_tests,
    &instance_lock_tests,
    &lock_expiration_tests,
    &execution_tests,
    &queue_tests,
    &attempt_tests,
    &cancellation_tests,
    &capability_tests,
    &damage_tests,
    &batch_tests,
    &commit_id_tests,
    &wait_tests,
    &wait_stop_tests,
    &held_work_tests,
    &backoff_tests,
    &orphan_tests,
    &must_exist_tests,
    &clock_step_tests,
    &start_policy_tests,
    &session_tests,
    &session_upkeep_tests,
    &session_capacity_tests,
    &tag_tests,
    &activity_timeout_tests,
    &custom_status_tests,
    &key_value_tests,
    &key_value_delta_tests,
    &management_tests,
    &measurement_tests,
    &paging_tests,
    &queued_activity_tests,
    &queued_start_tests,
    &instance_queue_tests,
    &child_start_tests,
    &deletion_tests,
    &bulk_deletion_tests,
    &prune_tests,
    &fast_path_tests,
    &fast_path_claim_tests,
    &fast_path_lock_tests,
    &node_tests,
};

ValidationTests all_tests() {
  ValidationTests all;
  for (const Group group : kGroups) {
    const ValidationTests tests = group();
    all.insert(all.end(), tests.begin(), tests.end());
  }
  return all;
}

}  // namespace

std::span<const ValidationTest> provider_validation_tests() {
  static const ValidationTests tests = all_tests();
  return tests;
}

ValidationReport run_provider_validation(const ProviderFactoryMaker& make_factory, std::string_view prefix) {
  ValidationReport report;
  for (const ValidationTest& test : provider_validation_tests()) {
    std::string full_name = std::string(test.group) + "." + std::string(test.name);
    if (!full_name.starts_with(prefix)) continue;
    ++report.run;
    const auto run = [&] {
      const std::unique_ptr<ProviderFactory> factory = make_factory();
      test.run(*factory);
    };
    survive(run, [&](const std::string& text) { report.failures.push_back({.test = full_name, .what = text}); });
  }
  return report;
}

}  // namespace perdure::testing
