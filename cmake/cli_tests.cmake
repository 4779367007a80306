# The program `perdure` as its users run it.

# One seed is one whole run of a cluster. A sanitized run is some ten times slower.
set(perdure_seeds 1..2000)
if("thread" IN_LIST PERDURE_SANITIZE)
  set(perdure_seeds 1..50)
elseif(PERDURE_SANITIZE)
  set(perdure_seeds 1..200)
endif()
add_test(NAME simulation.seeds COMMAND perdure_cli simulate --seeds ${perdure_seeds})
set_tests_properties(simulation.seeds PROPERTIES TIMEOUT 900 PROCESSORS 2 COST 10000 LABELS threads)
add_dependencies(perdure_threaded_tests perdure_cli)

# `expected` must be in what it prints.
function(perdure_add_cli_test name expected)
  add_test(NAME cli.${name} COMMAND perdure_cli ${ARGN})
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 120 PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

perdure_add_cli_test(simulate_tells_what_it_did "3 seeds, 0 failed; .* faults a seed" simulate --seeds 1..3)
perdure_add_cli_test(simulate_as_json "\"failed\": \\[\\]" simulate --seeds 1..3 --json)
perdure_add_cli_test(simulate_prints_the_log "node 0: fetch instances" simulate --seeds 4 --log)
perdure_add_cli_test(seeds_that_are_no_numbers "'one' is not a number; write 1..1000" simulate --seeds one..two)
perdure_add_cli_test(seeds_in_the_wrong_order "the first seed is greater than the last" simulate --seeds 9..3)
perdure_add_cli_test(an_unknown_fault "there is no fault 'flood': use all, none, or some of crash" simulate --seeds 1 --faults flood)
perdure_add_cli_test(no_command "A subcommand is required" "")

if(TARGET perdure_session_worker_child)
  add_test(NAME cli.session COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/session.sh
    $<TARGET_FILE:perdure_cli> $<TARGET_FILE:perdure_session_worker_child>)
  set_tests_properties(cli.session PROPERTIES TIMEOUT 300)
endif()
include(${PROJECT_SOURCE_DIR}/cmake/torture_tests.cmake)
