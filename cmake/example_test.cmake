# Runs an example: it must end with 0, and print what the comment at its head says under "It prints:", in that order.
# There `...` stands for anything within a line; further lines in between are fine.
#   cmake -DPROGRAM=<program> -DSOURCE=<its source> -P example_test.cmake
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE printed ECHO_OUTPUT_VARIABLE
  ERROR_VARIABLE complaints ECHO_ERROR_VARIABLE TIMEOUT 100)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}, not with 0")
endif()

file(READ ${SOURCE} source)
string(REGEX MATCH "\n// It prints:\n(//   [^\n]*\n)+" comment "${source}")
string(REGEX REPLACE "^\n// It prints:\n" "" comment "${comment}")
set(rest "\n${printed}")
while(comment MATCHES "^//   ([^\n]*)\n(.*)$")
  set(line "${CMAKE_MATCH_1}")
  set(comment "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" pattern "${line}")
  string(REPLACE "\\.\\.\\." "[^\n]*" pattern "${pattern}")
  string(REGEX MATCH "\n${pattern}\n" found "${rest}")
  if(found STREQUAL "")
    message(FATAL_ERROR "${PROGRAM} did not print this, or not at its place, as the head of ${SOURCE} says:\n${line}")
  endif()
  string(FIND "${rest}" "${found}" at)
  string(LENGTH "${found}" length)
  math(EXPR at "${at} + ${length} - 1")  # the end of this line is the beginning of the next
  string(SUBSTRING "${rest}" ${at} -1 rest)
endwhile()
