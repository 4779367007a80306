# `perdure torture` on SQLite, as its users run it; tests/cluster has it on PostgreSQL. Sanitized processes take several
# times as long and miss each other's deadlines.
if(PERDURE_SANITIZE)
  return()
endif()

# perdure_add_torture_test(<name> <exit status> <what it must print> <argument>...): on a fresh file.
function(perdure_add_torture_test name status expected)
  add_test(NAME torture.${name} COMMAND ${CMAKE_COMMAND}
    -DPROGRAM=$<TARGET_FILE:perdure_cli> -DSTORE=${CMAKE_CURRENT_BINARY_DIR}/torture_${name}.db
    -DSTATUS=${status} -DEXPECTED=${expected} "-DARGUMENTS=${ARGN}" -P ${PROJECT_SOURCE_DIR}/cmake/torture_test.cmake)
  set_tests_properties(torture.${name} PROPERTIES TIMEOUT 300 PROCESSORS 4)
endfunction()

perdure_add_torture_test(clean 0 "10 kills, .*clean: nothing lost" --kills 10)
# That it can fail: workers that do something wrong.
perdure_add_torture_test(finds_what_was_lost 1 "it is completed in its history, but it never ran"
  --kills 2 --plant drop-line)
perdure_add_torture_test(finds_what_was_repeated 1 "it ran twice without a reason" --kills 2 --plant repeat)
perdure_add_torture_test(finds_a_wrong_result 1 "came to .* instead of" --kills 2 --plant wrong-result)
# The limit is no shorter than workers may take to start and to schedule an activity on a busy machine.
perdure_add_torture_test(finds_what_is_stuck 1 "no workflow has ended for 10 s.*its last events:.*ActivityScheduled"
  --kills 1 --plant hang --stall-seconds 10)
