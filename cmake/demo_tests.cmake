# The demonstration must fail when what it shows does not hold. (That it holds is example.order_demo.)

# `expected` must be in what it prints, with its exit status as the last line.
function(perdure_add_demo_test name expected)
  add_test(NAME demo.${name}
    COMMAND sh -c "\"$0\" \"$@\" 2>&1; echo \"exit status $?\"" $<TARGET_FILE:order_demo> ${ARGN})
  set_tests_properties(demo.${name} PROPERTIES LABELS example TIMEOUT 180 PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

perdure_add_demo_test(notices_a_repeated_step
  "FAIL +ChargeCard, committed before the kill, did not run again: started 2, completed 2 times.*exit status 1\n" --fast --break repeat)
perdure_add_demo_test(notices_a_lost_history
  "FAIL +ReserveStock, committed .*FAIL +ChargeCard, committed .*FAIL +the events from before .*exit status 1\n" --fast --break lose)
perdure_add_demo_test(notices_a_worker_that_lives_on
  "FAIL +the program killed itself with SIGKILL: ended with status 0\n.*exit status 1\n" --fast --break survive)
perdure_add_demo_test(does_not_guess_at_arguments "usage: order_demo .*exit status 2\n" --break everything)

# On a terminal it draws its display again and again, here without colours.
add_test(NAME demo.on_a_terminal
  COMMAND script --quiet --return --command "$<TARGET_FILE:order_demo> --fast" /dev/null)
set_tests_properties(demo.on_a_terminal PROPERTIES LABELS example TIMEOUT 180 ENVIRONMENT "TERM=xterm;NO_COLOR=1"
  PASS_REGULAR_EXPRESSION "0 of 5 committed.*\\[[0-9]A.*5 of 5 committed.*All checks passed" FAIL_REGULAR_EXPRESSION "\\[[0-9]+m")
