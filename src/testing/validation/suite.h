// The groups of the validation suite, one file each. suite.cpp puts them together.
#pragma once

#include <vector>

#include <perdure/testing/provider_validation.h>

namespace perdure::testing {

using ValidationTests = std::vector<ValidationTest>;

ValidationTests instance_creation_tests();
ValidationTests atomicity_tests();
ValidationTests error_tests();
ValidationTests instance_lock_tests();
ValidationTests lock_expiration_tests();
ValidationTests execution_tests();
ValidationTests queue_tests();
ValidationTests attempt_tests();
ValidationTests cancellation_tests();
ValidationTests capability_tests();
ValidationTests damage_tests();
ValidationTests batch_tests();
ValidationTests commit_id_tests();
ValidationTests wait_tests();
ValidationTests wait_stop_tests();
ValidationTests held_work_tests();
ValidationTests backoff_tests();
ValidationTests orphan_tests();
ValidationTests must_exist_tests();
ValidationTests clock_step_tests();
ValidationTests start_policy_tests();

ValidationTests session_tests();
ValidationTests session_upkeep_tests();
ValidationTests session_capacity_tests();
ValidationTests tag_tests();
ValidationTests activity_timeout_tests();
ValidationTests custom_status_tests();
ValidationTests key_value_tests();
ValidationTests key_value_delta_tests();
ValidationTests management_tests();
ValidationTests measurement_tests();
ValidationTests paging_tests();
ValidationTests queued_activity_tests();
ValidationTests queued_start_tests();
ValidationTests instance_queue_tests();
ValidationTests child_start_tests();
ValidationTests deletion_tests();
ValidationTests bulk_deletion_tests();
ValidationTests prune_tests();
ValidationTests fast_path_tests();
ValidationTests fast_path_claim_tests();
ValidationTests fast_path_lock_tests();
ValidationTests node_tests();

}  // namespace perdure::testing
